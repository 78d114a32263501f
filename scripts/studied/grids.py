"""The grids of the studies: which configs an exhaustive table reads.

33 configs each, as a person who has an hour would lay them out: nine numbers of
workers, and with workers two depths of prefetch, kept or not. A study that waits needs
far more workers than CPUs, so its nine are further apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from autoloader.search.space import Space
from autoloader.values.decode import fields_of
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts

ROOT = Path(__file__).parents[2]

STUDIES = (
    "photos", "remote", "stream", "tokens", "tensors", "frames", "augment", "skewed",
)  # fmt: skip
"""In the order in which they are measured: those tuned live come first."""

LIVE = STUDIES[:3]
"""Studies that are tuned live, not by their tables alone."""

WORKERS = (0, 1, 2, 3, 4, 5, 6, 7, 8)
WORKERS_THAT_WAIT = (0, 1, 2, 4, 8, 12, 16, 24, 32)

PREFETCH_FACTORS = (2, 4)

GRID_CONFIGS = 33
GRID_READINGS = 5
"""What a tune's cost is held against: this many configs, each read this often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSpace(Space):
    """A space of which only some numbers of workers are read."""

    workers: tuple[int, ...]
    """Those numbers, ascending."""

    @classmethod
    def from_dict(cls, data: object) -> GridSpace:
        """Return the space that `to_dict` wrote."""
        found = fields_of(cls, data)
        return cls(**{name: tuple(value) for name, value in found.items()})

    def configs(self) -> tuple[LoaderConfig, ...]:
        """Return every config of the grid, the simplest first."""
        whole = Space.configs(self)  # slots leave no `super()` without arguments
        return tuple(item for item in whole if item.num_workers in self.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAsked:
    """A study as its `study.yaml` has it."""

    name: str
    source: SourceSpec
    scope: ScopeRequest
    batch_size: int | None
    """Examples a batch; None: what the study's DataLoader has."""

    @classmethod
    def read(cls, name: str, root: Path = ROOT / "studies") -> StudyAsked:
        """Return the study of that name."""
        file = root / name / "study.yaml"
        found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        return cls(
            name=name,
            source=SourceSpec(spec=str(file.parent / found["dataset"])),
            scope=ScopeRequest(
                id=found.get("id"), epoch_examples=found.get("epoch-examples")
            ),
            batch_size=found.get("batch-size"),
        )

    def grid(self, facts: DatasetFacts, workers: tuple[int, ...]) -> GridSpace:
        """Return what is read of it.

        Args:
            facts: whose DataLoader has the batch size that the study does not name.
            workers: numbers of workers, ascending.
        """
        own = (facts.baseline or {}).get("batch_size")
        return GridSpace(
            num_workers=(workers[0], workers[-1]),
            prefetch_factor=PREFETCH_FACTORS,
            pin_memory=(False,),
            persistent_workers=(False, True),
            batch_size=(self.batch_size or own,),
            workers=workers,
        )

    def limited(self, time_limit_s: float, examples: int | None) -> ScopeRequest:
        """Return the scope to be drawn, within a time or of so many examples."""
        return replace(self.scope, time_limit_s=time_limit_s, examples=examples)


def workers_of(name: str) -> tuple[int, ...]:
    """Return the numbers of workers in a study's grid."""
    return WORKERS_THAT_WAIT if name == "remote" else WORKERS
