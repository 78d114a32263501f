"""What race, verification and ceilings need of a study's record: a seam for replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome, Reading


class RaceStore(Protocol):
    """Keeps outcomes, and what the race and the verification add to them."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes in order of their numbers, later readings included."""
        ...

    def of_config(self, config: LoaderConfig) -> Outcome | None:
        """Return the outcome of a config, None where it was not tried."""
        ...

    def __getitem__(self, config: LoaderConfig) -> Outcome:
        """Return the outcome of a config; KeyError where it was not tried."""
        ...

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, in the place of an earlier one of its number."""
        ...

    def add_reading(self, number: int, reading: Reading) -> None:
        """Keep one more reading of a trial that was measured."""
        ...
