"""Who is told how a study goes on. Shown by `report`, or by nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autoloader.search.budget import Budget
    from autoloader.search.comparison import NamedRound
    from autoloader.search.contenders import Contender
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder
    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """All that a search tries, where no budget ends it."""

    configs: int
    """Configs that there are."""
    tried: int
    """Those of them that earlier runs of the study have tried."""


class Watcher(Protocol):
    """Told what goes on; prints it, or not."""

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """A phase begins; it has an extent where it goes on until all is tried."""
        ...

    def on_pass(self, order: PassOrder) -> None:
        """A pass of a trial begins; ticks are of it until the next one does."""
        ...

    def on_tick(self, stage: str, done: int) -> None:
        """The running pass stands at this stage with so many units done."""
        ...

    def on_trial(self, config: LoaderConfig) -> None:
        """A trial begins."""
        ...

    def on_outcome(self, outcome: Outcome) -> None:
        """A trial came to its end."""
        ...

    def on_skip(self, config: LoaderConfig, why: str) -> None:
        """A config is not tried, because of what came of others; there may be many."""
        ...

    def on_round(self, number: int, rates: Round) -> None:
        """A round of the race came to its end."""
        ...

    def on_target(self, target: Target) -> None:
        """It is known what is wanted: what keeps a step fed was timed."""
        ...

    def on_caution(self, message: str, hint: str | None) -> None:
        """Something is worth knowing."""
        ...


class MeasureWatcher(Protocol):
    """Told what goes on; prints it, or not."""

    def on_phase(self, name: str, detail: str) -> None:
        """A phase begins."""
        ...

    def on_tick(self, stage: str, done: int) -> None:
        """The running pass stands at this stage with so many units done."""
        ...

    def on_entered(self, contenders: tuple[Contender, ...]) -> None:
        """It is known who is compared."""
        ...

    def on_trial(self, contender: Contender) -> None:
        """A config is gated, weighed and read for the first time."""
        ...

    def on_outcome(self, contender: Contender, outcome: Outcome) -> None:
        """That came to its end."""
        ...

    def on_round(self, number: int, rates: NamedRound) -> None:
        """A round came to its end."""
        ...
