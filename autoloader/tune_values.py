"""What a tune is asked for, and what came of it: values alone.

Made by `commands` and `tuning`, read by `opening` and `report`; how a tune goes on is
told in `tuning`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autoloader.search.space import SpaceRequest
from autoloader.values.gate import GatePolicy
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from autoloader.export.recommendation import Recommendation
    from autoloader.search.exploration import Stop
    from autoloader.search.finale import Result
    from autoloader.search.passed_over import PassedOver
    from autoloader.trial.hosting import Isolation
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fleet import Storage
    from autoloader.values.job import Reference
    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target

State = Literal["met", "not_met", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest:
    """What the user asked for."""

    source: SourceSpec
    target: Target
    out: Path | None
    """File that the recommendation goes to; None: nothing is written."""
    step: str | None = None
    """SPEC of the training step; None: rates are of loaders alone."""
    scope: ScopeRequest = field(default_factory=ScopeRequest)
    space: SpaceRequest = field(default_factory=SpaceRequest)
    budget_s: float = 180.0
    most_trials: int | None = None
    """Of all machines together, where a fleet shares the search."""
    is_exhaustive: bool = False
    """Whether every config of the space is tried, however long that takes."""
    verify: int | None = None
    """Examples of the whole verification; None: by the budget."""
    isolation: Isolation = "auto"
    ranks: int = 1
    """Training processes on this machine that share it and the target."""
    is_fresh: bool = False
    """Whether an interrupted study is put aside instead of gone on with."""
    is_best_effort: bool = False
    """Whether the best config is written where none meets the target."""
    is_memory_asked: bool = True
    """Whether the memory of the target was asked for: another one is another study's.
    Else it is what the machine leaves now, and a study that goes on takes the least of
    what its runs had."""
    policy: GatePolicy = field(default_factory=GatePolicy)
    """What refuses a config."""
    first: tuple[LoaderConfig, ...] = ()
    """Configs that are tried first, beside PyTorch's default and the user's own."""
    section: dict[str, Any] | None = None
    """What asks for the same study again, as the file keeps it; None: nothing does."""
    storage: Storage | None = None
    """Where a fleet keeps the study that this machine shares; None: it works alone."""
    folder: Path = Path(".autoloader")
    """Where studies are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What came of a tune."""

    state: State
    recommendation: Recommendation | None
    """What was found; None where nothing was measured."""
    written: Path | None
    """Where it was written; None where an existing file was left alone."""
    result: Result
    outcomes: tuple[Outcome, ...]
    reference: Reference
    stopped_search: Stop
    study: Path
    seconds: float
    budget_s: float
    """Wall time that the user allowed."""
    is_exhaustive: bool = False
    """Whether every config was to be tried, whatever time that took."""
    passed_over: tuple[PassedOver, ...] = ()
    """Configs that were not tried because of what came of others, by reason."""
