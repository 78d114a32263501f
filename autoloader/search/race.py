"""Race the finalists: read them in interleaved rounds until the choice is settled.

Runs rounds and decides when to stop; what the rounds say is `search.standings`', what
is chosen `search.selection`'s. Starts no process: a pass is a callable handed in.

Each round reads every finalist once, every second round in reverse order, so that what
drifts on the machine reaches all of them alike. There are looks after fixed numbers of
rounds only, and they share the error between them: who looks after every round and
stops at the first difference calls equal configs different in a third of all races.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from autoloader.search.selection import simplicity
from autoloader.search.standings import Judgement, Standings
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

    StopReason = Literal["settled", "deadline", "all_rounds", "nothing_left"]

LOOKS = (6, 12, 24)
"""Rounds after which the standings are looked at; a race has no more than the last."""

BACKGROUND_EVERY = 2
"""A background config runs in each round whose number this divides, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What a race read and how it ended."""

    rounds: tuple[Round, ...]
    """Epoch rates by config, in the order they ran; None where the pass failed."""
    stopped_because: StopReason
    """`settled`: the choice is known; `deadline`: the next round would have passed it;
    `all_rounds`: the last look was made; `nothing_left`: each config failed."""
    looks: tuple[int, ...]
    """Rounds that had been run at each look."""
    dropped: tuple[LoaderConfig, ...]
    """Configs with a failed pass, in the order in which they left."""
    confidence: float
    """One-sided confidence of a config's bound over all looks together."""

    @property
    def error(self) -> float:
        """Error share of the last look."""
        last = self.stopped_because in {"deadline", "all_rounds"}
        return error_share(max(len(self.looks) - 1, 0), self.confidence, last=last)

    def standings(
        self, target: Target, *, excluded: Collection[LoaderConfig] = ()
    ) -> Standings:
        """Return the standings at the last look; who was dropped has none.

        Args:
            target: what is wanted.
            excluded: further configs to leave out, as candidates and as the best.
        """
        left_out = {*self.dropped, *excluded}
        return Standings.of(self.rounds, target, self.error, excluded=left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return the rounds as a table: one list of rates a config."""
        configs = dict.fromkeys(config for round_ in self.rounds for config in round_)
        return {
            "rates": [
                {
                    "config": config.to_dict(),
                    "examples_per_s": [round_.get(config) for round_ in self.rounds],
                }
                for config in configs
            ],
            "rounds": len(self.rounds),
            "stopped_because": self.stopped_because,
            "looks": list(self.looks),
            "dropped": [config.to_dict() for config in self.dropped],
            "confidence": self.confidence,
        }


def error_share(
    looks_made: int, confidence: float = CONFIDENCE, *, last: bool = False
) -> float:
    """Return the error that the next look may use up.

    Args:
        looks_made: looks before it.
        confidence: one-sided confidence over all looks together.
        last: whether no look follows; it takes all that the others left.
    """
    share = (1 - confidence) / len(LOOKS)
    return share * (len(LOOKS) - looks_made) if last else share


def run_race(
    read: Callable[[LoaderConfig], float | None],
    finalists: Sequence[LoaderConfig],
    *,
    target: Target,
    batch_sizes: Sequence[int | None],
    deadline: float,
    clock: Callable[[], float],
    background: Sequence[LoaderConfig] = (),
    confidence: float = CONFIDENCE,
    on_round: Callable[[int, Round], None] | None = None,
) -> Race:
    """Read the configs in rounds until the choice is settled or time is up.

    Every raced config may be chosen and may be the best: leave out what does not fit
    the memory or has wrong data.

    Args:
        read: one timed pass: its epoch rate, or None where it failed; the config then
            leaves the race.
        finalists: what runs in each round.
        target: what is wanted.
        batch_sizes: allowed batch sizes in order of preference.
        deadline: time of `clock` that no round is expected to pass.
        clock: seconds, monotonic.
        background: what runs in every second round, such as PyTorch's default.
        confidence: one-sided confidence over all looks together.
        on_round: called after each round with its number, from 1, and its rates.
    """
    field = _Field(finalists, background)
    timer = _Timer(read, deadline, clock)
    rounds: list[Round] = []
    looks: list[int] = []

    def race(reason: StopReason) -> Race:
        return Race(
            rounds=tuple(rounds),
            stopped_because=reason,
            looks=tuple(looks),
            dropped=tuple(field.dropped),
            confidence=confidence,
        )

    while field.left:
        line_up = field.line_up(len(rounds))
        complete = len(rounds) == LOOKS[-1]
        if complete or timer.would_pass_deadline(line_up):
            looks += [len(rounds)] if rounds else []
            return race("all_rounds" if complete else "deadline")
        if len(rounds) in LOOKS:
            looks.append(len(rounds))
            if is_settled(race("settled").standings(target), batch_sizes):
                return race("settled")
        rates = timer.run(line_up)
        rounds.append(rates)
        field.drop(config for config, rate in rates.items() if rate is None)
        if on_round is not None:
            on_round(len(rounds), rates)
    return race("nothing_left")


def is_settled(standings: Standings, batch_sizes: Sequence[int | None]) -> bool:
    """Return whether the simplest config that meets the target is known for sure.

    That is: going from simple to complex, one that meets it comes before any that is
    undecided; or each of them fails.
    """
    ascending = sorted(
        standings.table, key=lambda standing: simplicity(standing.config, batch_sizes)
    )
    for standing in ascending:
        if standing.judgement is not Judgement.FAILS:
            return standing.judgement is Judgement.MEETS
    return True


class _Field:
    """Who is still in the race, and in which order they run."""

    def __init__(
        self, finalists: Sequence[LoaderConfig], background: Sequence[LoaderConfig]
    ) -> None:
        self._finalists = list(dict.fromkeys(finalists))
        self._background = [
            config
            for config in dict.fromkeys(background)
            if config not in self._finalists
        ]
        self.dropped: list[LoaderConfig] = []

    @property
    def left(self) -> bool:
        """Whether anybody is."""
        return bool(self._finalists or self._background)

    def line_up(self, number: int) -> list[LoaderConfig]:
        """Return who runs in round `number`, from 0, in the order of running.

        Background configs run by turns before and after the finalists; where these
        are all gone, in every round.
        """
        if number % BACKGROUND_EVERY and self._finalists:
            return self._finalists[::-1]
        if number // BACKGROUND_EVERY % 2:
            return [*self._background, *self._finalists]
        return [*self._finalists, *self._background]

    def drop(self, configs: Iterable[LoaderConfig]) -> None:
        """Take configs out for the rest of the race."""
        for config in configs:
            self.dropped.append(config)
            for entered in (self._finalists, self._background):
                if config in entered:
                    entered.remove(config)


class _Timer:
    """Runs rounds, and tells from past ones how long the next will take."""

    def __init__(
        self,
        read: Callable[[LoaderConfig], float | None],
        deadline: float,
        clock: Callable[[], float],
    ) -> None:
        self._read = read
        self._deadline = deadline
        self._clock = clock
        self._seconds: dict[LoaderConfig, list[float]] = {}

    def would_pass_deadline(self, line_up: Sequence[LoaderConfig]) -> bool:
        """Return whether a round is expected to end after the deadline.

        Who has not run yet counts as taking no time, so that a first round starts
        whenever there is any time left.
        """
        known = [self._seconds[config] for config in line_up if config in self._seconds]
        expected_s = sum(fmean(seconds) for seconds in known)
        now = self._clock()
        return now >= self._deadline or now + expected_s > self._deadline

    def run(self, line_up: Sequence[LoaderConfig]) -> dict[LoaderConfig, float | None]:
        """Return the rates of a round, cut short where the deadline passes in it."""
        rates: dict[LoaderConfig, float | None] = {}
        for config in line_up:
            began = self._clock()
            if rates and began >= self._deadline:
                break
            rate = self._read(config)
            rates[config] = rate if rate is not None and rate > 0 else None
            self._seconds.setdefault(config, []).append(self._clock() - began)
        return rates
