"""Race the finalists: read them in interleaved rounds until the choice is settled.

Says who runs in a round and when the race is decided. Rounds are run by
`search.rounds`, judged by `search.standings`; what is chosen is `search.selection`'s.

Each round reads every finalist once, every second round in reverse order, so that what
drifts on the machine reaches all of them alike. The looks share the error between them
(`LOOK_SHARE`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.search.rounds import Rounds, run_rounds
from autoloader.search.rounds import StopReason as StopReason
from autoloader.search.selection import is_open, meets, simplicity
from autoloader.search.standings import Standings
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from autoloader.search.question import Chance
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

LOOKS = (4, 5, 6, 8, 10, 12, 15, 18, 21, 24)
"""Rounds after which the standings are looked at; a race has no more than the last.
Many looks that ask for much (`selection.LIKELY`) tell more than three (6, 12, 24) that
ask for less: of 1,248 replayed studies with 8 % of noise, as long, 0.5 % chose too slow
a config instead of 1.0 %. With those after 4 and 5 rounds as well, tunes of two cores
took a quarter fewer passes, and of 4,160 replayed studies as many were right."""

LOOK_SHARE = 0.2
"""Part of a bound's error that a look may use up. A look sees what the one before saw,
and some rounds more: with `LOOKS` and an error of 5 %, 4.7 % of 400,000 simulated
bounds were wrong at any of them (after Pocock, 1977)."""

LEAST_ROUNDS = 3
"""Rounds that each finalist runs in."""

BACKGROUND_ROUNDS = 8
"""Rounds after which background configs are known well enough."""

BACKGROUND_EVERY = 2
"""A background config runs in each round whose number this divides, from 0, and in the
first `LEAST_ROUNDS`: a night compares with PyTorch's default, and needs three."""


MATTERS = 0.1
"""Share of possible truths in which a finalist must be the choice, or what it is held
against, to run in each round; less, and it runs as a background config does."""

WORTH_WAITING = 0.3
"""Chance of a simpler config to be clearly enough for which a race goes on although
another one meets the target. One that lies close to what is wanted may take all rounds
to tell, and is hardly worth it: where no workers had 95 to 98 % of the fastest
(studies/stream), tunes took half of the passes of a whole grid, and now a fifth."""

NEARLY = 0.8
"""Chance of a simpler config to be enough for which a race goes on as well: few rounds
more will tell."""


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
    whole = 1 - confidence
    share = whole * LOOK_SHARE
    return max(share, whole - share * looks_made) if last else share


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a race is decided, and when it is over."""

    target: Target
    """What is wanted."""
    batch_sizes: Sequence[int | None]
    """Allowed batch sizes in order of preference."""
    deadline: float
    """Time of `clock` that no round is expected to pass."""
    clock: Callable[[], float]
    """Seconds, monotonic."""
    confidence: float = CONFIDENCE
    """One-sided confidence over all looks together."""


def run_race(
    read: Callable[[LoaderConfig], float | None],
    finalists: Sequence[LoaderConfig],
    rules: Rules,
    *,
    background: Sequence[LoaderConfig] = (),
    chances: Callable[[], Mapping[LoaderConfig, Chance]] = dict,
    on_round: Callable[[int, Round], None] | None = None,
) -> Race:
    """Read the configs in rounds until the choice is settled or time is up.

    Every raced config may be chosen and may be the best: leave out what does not fit
    the memory or has wrong data.

    Args:
        read: one timed pass: its epoch rate, or None where it failed; the config then
            leaves the race.
        finalists: what runs in each round.
        rules: when it is decided, and when it is over.
        background: what runs in every second round, such as PyTorch's default.
        chances: what all readings so far say of each config.
        on_round: called after each round with its number, from 1, and its rates.
    """
    field = _Field(finalists, background, chances)

    def race(found: Rounds[LoaderConfig]) -> Race:
        return Race(
            rounds=found.rates,
            stopped_because=found.stopped_because,
            looks=found.looks,
            dropped=found.dropped,
            confidence=rules.confidence,
        )

    return race(
        run_rounds(
            read,
            field.line_up,
            looks=LOOKS,
            deadline=rules.deadline,
            clock=rules.clock,
            is_settled=lambda found: is_settled(
                race(found).standings(rules.target), rules.batch_sizes, chances()
            ),
            on_round=on_round,
        )
    )


def is_settled(
    standings: Standings,
    batch_sizes: Sequence[int | None],
    chances: Mapping[LoaderConfig, Chance] | None = None,
) -> bool:
    """Return whether more rounds would hardly change the choice.

    That is: going from simple to complex, one that meets the target comes before any
    that is worth waiting for; or each of them fails.
    """
    known = chances or {}
    likely = {config: chance.meets for config, chance in known.items()}
    ascending = sorted(
        standings.table, key=lambda standing: simplicity(standing.config, batch_sizes)
    )
    passed_by = False
    for standing in ascending:
        if meets(standing, likely):
            return True
        if is_open(standing, likely):
            if _is_worth_waiting(known.get(standing.config)):
                return False
            passed_by = True
    return not passed_by


def _is_worth_waiting(chance: Chance | None) -> bool:
    """Whether rounds are spent on a simpler config than one that meets the target."""
    return chance is None or chance.clearly >= WORTH_WAITING or chance.meets >= NEARLY


class _Field:
    """Who is in the race, and in which order they run."""

    def __init__(
        self,
        finalists: Sequence[LoaderConfig],
        background: Sequence[LoaderConfig],
        chances: Callable[[], Mapping[LoaderConfig, Chance]],
    ) -> None:
        self._finalists = list(dict.fromkeys(finalists))
        self._background = [
            config
            for config in dict.fromkeys(background)
            if config not in self._finalists
        ]
        self._chances = chances

    def line_up(
        self, number: int, dropped: Collection[LoaderConfig]
    ) -> list[LoaderConfig]:
        """Return who runs in round `number`, from 0, in the order of running.

        Background configs run by turns before and after the finalists, and a finalist
        that hardly matters any more runs with them; where the finalists are all gone,
        in every round.
        """
        finalists = [item for item in self._finalists if item not in dropped]
        background = [item for item in self._background if item not in dropped]
        if number >= LEAST_ROUNDS:
            known = self._chances()
            out = {
                item
                for item in finalists
                if item in known and known[item].matters < MATTERS
            }
            if len(out) < len(finalists):
                background = [*(item for item in finalists if item in out), *background]
                finalists = [item for item in finalists if item not in out]
        if number % BACKGROUND_EVERY and finalists:
            early = background if number < LEAST_ROUNDS else []
            return [*early, *finalists[::-1]]
        if number >= BACKGROUND_ROUNDS and finalists:
            return finalists
        if number // BACKGROUND_EVERY % 2:
            return [*background, *finalists]
        return [*finalists, *background]
