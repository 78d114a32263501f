"""Run interleaved rounds until they tell enough: who reads when, and until when.

What a round reads is named by keys of the caller's choice. What the rates say is for
others to judge; no process is started here: a pass is a callable handed in.

There are looks after fixed numbers of rounds only: who looks after every round and
stops at the first difference calls equal configs different in a third of all runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

StopReason = Literal["settled", "deadline", "all_rounds", "nothing_left"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds(Generic[Key]):
    """What was read round by round, and why it ended."""

    rates: tuple[Mapping[Key, float | None], ...]
    """Epoch rates of each round, in the order they ran; None where the pass failed."""
    stopped_because: StopReason
    """`settled`: enough is known; `deadline`: the next round would have passed it;
    `all_rounds`: the last look was made; `nothing_left`: there is nobody to run."""
    looks: tuple[int, ...]
    """Rounds that had been run at each look."""
    dropped: tuple[Key, ...]
    """Who had a failed pass, in the order in which they left."""


def run_rounds(
    read: Callable[[Key], float | None],
    line_up: Callable[[int, Collection[Key]], Sequence[Key]],
    *,
    looks: Sequence[int],
    deadline: float,
    clock: Callable[[], float],
    is_settled: Callable[[Rounds[Key]], bool],
    on_round: Callable[[int, Mapping[Key, float | None]], None] | None = None,
) -> Rounds[Key]:
    """Read round after round until a look settles it or time is up.

    Args:
        read: one timed pass: its epoch rate, or None where it failed; who failed is
            dropped.
        line_up: given the number of a round, from 0, and who was dropped: who runs in
            it, in order; nobody ends the rounds.
        looks: rounds after which it may be settled; the last one ends it.
        deadline: time of `clock` that no round but the first is expected to pass: with
            none, nothing could be said.
        clock: seconds, monotonic.
        is_settled: whether the rounds so far, a look just made, tell enough.
        on_round: called after each round with its number, from 1, and its rates.
    """
    timer = _Timer(read, deadline, clock)
    rates: list[Mapping[Key, float | None]] = []
    looked: list[int] = []
    dropped: list[Key] = []

    def so_far(reason: StopReason) -> Rounds[Key]:
        return Rounds(
            rates=tuple(rates),
            stopped_because=reason,
            looks=tuple(looked),
            dropped=tuple(dropped),
        )

    while keys := line_up(len(rates), dropped):
        complete = len(rates) == looks[-1]
        if complete or (rates and timer.would_pass_deadline(keys)):
            looked += [len(rates)] if rates else []
            return so_far("all_rounds" if complete else "deadline")
        if len(rates) in looks:
            looked.append(len(rates))
            if is_settled(so_far("settled")):
                return so_far("settled")
        latest = timer.run(keys, must_end=not rates)
        rates.append(latest)
        dropped += [key for key, rate in latest.items() if rate is None]
        if on_round is not None:
            on_round(len(rates), latest)
    return so_far("nothing_left")


class _Timer(Generic[Key]):
    """Runs rounds, and tells from past ones how long the next will take."""

    def __init__(
        self,
        read: Callable[[Key], float | None],
        deadline: float,
        clock: Callable[[], float],
    ) -> None:
        self._read = read
        self._deadline = deadline
        self._clock = clock
        self._seconds: dict[Key, list[float]] = {}

    def would_pass_deadline(self, keys: Sequence[Key]) -> bool:
        """Return whether a round is expected to end after the deadline.

        Who has not run yet counts as taking no time.
        """
        known = [self._seconds[key] for key in keys if key in self._seconds]
        expected_s = sum(fmean(seconds) for seconds in known)
        now = self._clock()
        return now >= self._deadline or now + expected_s > self._deadline

    def run(self, keys: Sequence[Key], *, must_end: bool) -> dict[Key, float | None]:
        """Return the rates of a round, cut short where the deadline passes in it.

        Args:
            keys: who runs.
            must_end: whether it is run to its end all the same.
        """
        rates: dict[Key, float | None] = {}
        for key in keys:
            began = self._clock()
            if rates and not must_end and began >= self._deadline:
                break
            rate = self._read(key)
            rates[key] = rate if rate is not None and rate > 0 else None
            self._seconds.setdefault(key, []).append(self._clock() - began)
        return rates
