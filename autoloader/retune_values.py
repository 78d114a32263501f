"""What a retune is asked for, what it works with, and what came of it: values alone.

Made by `commands` and `retuning`, read by `report`; how a night goes on is told in
`retuning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoloader.export.recommendation import Recommendation
    from autoloader.search.baseline import Baseline
    from autoloader.search.night_race import NightReadings
    from autoloader.tune_values import TuneRequest, TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fingerprint import Fingerprint
    from autoloader.values.job import Reference
    from autoloader.values.night import Drift, Night

CHANGED_EXIT = 10
"""Exit code where a new recommendation was written, or is called for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetuneRequest:
    """What the user asked for, and what the file says."""

    file: Path
    """The recommendation; in a folder, where this hardware's own is or will be."""
    recommendation: Recommendation
    """What stands in it; where there is none of this hardware yet, in the nearest."""
    baseline: Baseline
    """What a night is held against."""
    tune: TuneRequest
    """What the file itself was asked for."""
    out: Path | None = None
    """Where a new recommendation goes; None: in the place of the old one."""
    is_verify_only: bool = False
    changed_exit: int = CHANGED_EXIT


class Workshop(Protocol):
    """Does a night's work, in the order of these methods: processes, or a table."""

    def reference(self) -> Reference:
        """Read the data as one process reads it."""
        ...

    def fingerprint(self, reference: Reference) -> Fingerprint:
        """Return what is here tonight."""
        ...

    def race(self, reference: Reference, past: Sequence[Night]) -> NightReadings:
        """Verify the stored config whole, and read it beside its rivals."""
        ...

    def tune(self, first: Sequence[LoaderConfig]) -> TuneResult:
        """Tune again, writing nothing; these configs are tried first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetuneResult:
    """What came of a night."""

    file: Path
    night: Night
    """What the history says of it."""
    drifts: tuple[Drift, ...]
    """What drifts over the nights of this recommendation, tonight among them."""
    tuned: TuneResult | None
    """What tuning again came to; None: it was not done."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes, without what a tune reports."""
        return {
            "file": str(self.file),
            **self.night.to_dict(),
            "drifts": [item.to_dict() for item in self.drifts],
        }
