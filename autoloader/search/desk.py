"""Who tries what: all trials are this machine's, or they are handed out to a fleet.

The seam between a search and what shares it. What a fleet hands out, and how, is
`search.fleet_desk`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How far a study has come, on all machines that share it."""

    outcomes: tuple[Outcome, ...]
    """What came of trials: one of each config."""
    done: int
    """Trials of the study that came to an end, which a cap counts."""
    trying: frozenset[LoaderConfig] = frozenset()
    """What other machines are trying."""
    again: tuple[tuple[LoaderConfig, str], ...] = ()
    """What was begun and not brought to an end, with who proposed it."""
    given_up: frozenset[LoaderConfig] = frozenset()
    """What is tried no more, since too many machines died of it."""
    owed: int = 0
    """Most trials that this machine makes after the search, of what others tried."""

    @property
    def tried(self) -> frozenset[LoaderConfig]:
        """Configs whose fate is known."""
        return frozenset(item.config for item in self.outcomes)

    @property
    def taken(self) -> frozenset[LoaderConfig]:
        """Configs that need no trial of this machine's now."""
        return self.tried | self.trying | self.given_up

    @property
    def begun(self) -> int:
        """Trials that count towards a cap, those under way and lost ones too."""
        return self.done + len(self.trying) + len(self.again)


class Desk(Protocol):
    """Hands out trials, and is told what came of them."""

    def look(self) -> Seen:
        """Return how far the study has come by now."""
        ...

    def begin(self, config: LoaderConfig, source: str) -> bool:
        """Ask for the trial of a config; whether it is this machine's now."""
        ...

    def end(self, outcome: Outcome) -> None:
        """Hand in what came of the trial that was begun."""
        ...

    def give_back(self) -> None:
        """Say that the trial that was begun comes to no end; raises nothing."""
        ...

    def wait(self, until: float) -> bool:
        """Wait for what others are trying.

        Args:
            until: reading of the search's clock.

        Returns:
            Whether another look is worth it; else nobody is trying anything, or it is
            too late.
        """
        ...


class Outcomes(Protocol):
    """What keeps the outcomes of a study."""

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """All outcomes in order of their numbers."""
        ...


class Alone:
    """Hands each trial to this machine.

    Args:
        record: its outcomes.
    """

    def __init__(self, record: Outcomes) -> None:
        self._record = record

    def look(self) -> Seen:
        """Return what is recorded."""
        outcomes = tuple(self._record.outcomes)
        return Seen(outcomes=outcomes, done=len(outcomes))

    def begin(self, config: LoaderConfig, source: str) -> bool:
        """Nobody else wants it."""
        del config, source
        return True

    def end(self, outcome: Outcome) -> None:
        """It is recorded already."""

    def give_back(self) -> None:
        """Nobody else wants it."""

    def wait(self, until: float) -> bool:
        """There is nobody to wait for."""
        del until
        return False
