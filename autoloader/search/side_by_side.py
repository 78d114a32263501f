"""Read given configs side by side, in interleaved rounds, until they can be told apart.

Says who runs in a round and when enough is known; rounds are run by `search.rounds`,
judged by `search.comparison`. Nothing is chosen here.

Each round reads every config once, every second round in reverse order, so that what
drifts on the machine reaches all of them alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.search.comparison import LOOKS, Comparison
from autoloader.search.rounds import Rounds, run_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from autoloader.search.comparison import NamedRound


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """What was read of configs that go by their names, and what it says."""

    names: tuple[str, ...]
    """Who entered, the baseline first."""
    rounds: Rounds[str]
    """Rates by name, round by round."""
    is_fixed: bool
    """Whether the number of rounds was given, so that the only look is at their end."""

    @property
    def left(self) -> tuple[str, ...]:
        """Who had no failed pass."""
        return tuple(name for name in self.names if name not in self.rounds.dropped)

    def comparison(self) -> Comparison:
        """Return the comparison at the last look; who was dropped is in no pair."""
        ended = self.rounds.stopped_because
        return Comparison.of(
            self.rounds.rates,
            self.left,
            entered=len(self.names),
            looks_made=max(len(self.rounds.looks) - 1, 0),
            is_last=self.is_fixed or ended != "settled",
        )


def read_side_by_side(
    read: Callable[[str], float | None],
    names: Sequence[str],
    *,
    rounds: int | None,
    deadline: float,
    clock: Callable[[], float],
    on_round: Callable[[int, NamedRound], None] | None = None,
) -> SideBySide:
    """Read the configs in rounds until every pair is settled or time is up.

    Ends as well as soon as fewer than two are left.

    Args:
        read: one timed pass of the config of that name: its epoch rate, or None where
            it failed; the config then leaves.
        names: who runs in each round, the baseline first.
        rounds: how many there are to be; None: until a look settles it.
        deadline: time of `clock` that no round is expected to pass.
        clock: seconds, monotonic.
        on_round: called after each round with its number, from 1, and its rates.
    """

    def line_up(number: int, dropped: Collection[str]) -> list[str]:
        left = [name for name in names if name not in dropped]
        if len(left) < 2:
            return []
        return left[::-1] if number % 2 else left

    def so_far(found: Rounds[str]) -> SideBySide:
        return SideBySide(names=tuple(names), rounds=found, is_fixed=rounds is not None)

    return so_far(
        run_rounds(
            read,
            line_up,
            looks=LOOKS if rounds is None else (rounds,),
            deadline=deadline,
            clock=clock,
            is_settled=lambda found: so_far(found).comparison().is_settled,
            on_round=on_round,
        )
    )
