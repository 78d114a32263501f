"""Who is told how a study goes on. Shown by `report`, or by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autoloader.search.budget import Budget
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome


class Watcher(Protocol):
    """Told what goes on; prints it, or not."""

    def on_phase(self, name: str, detail: str, budget: Budget) -> None:
        """A phase begins."""
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

    def on_caution(self, message: str, hint: str | None) -> None:
        """Something is worth knowing."""
        ...
