"""Compare configs pair by pair: how many times as fast, and whether that is known.

Pure: rounds of rates in, ratios and verdicts out. Configs go by a name, not by their
settings, so that equal ones can be compared with each other.

The ratio of two configs is judged by the rounds that both ran, on logarithms: by
Student's t (`measure.intervals`) while they are few, then by ranks (`measure.ranks`).
One error is shared by all looks and all pairs: of runs whose configs are all equally
fast, a share of `RUN_ERROR` at most says of any pair that it differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

from autoloader.measure.intervals import Interval, bounded_exp, log_ratios, median
from autoloader.measure.ranks import signed_rank_interval
from autoloader.values.target import INDIFFERENCE

RUN_ERROR = 0.02
"""Share of runs in which any interval of any pair may miss, all looks together."""

LOOKS = (6, 12, 24, 48, 96)
"""Rounds after which the pairs are looked at, and no others. On a machine whose
neighbouring readings differ by 16 % (`scripts/known_answers/recorded`), a difference of
10 % was found in a third of races of 24 rounds."""

LEAST_RANKED = 12
"""Rounds from which on ratios are judged by ranks: fewer cannot give so small an error;
large differences are seen by Student's t before."""

NamedRound = Mapping[str, float | None]
"""Epoch rate of each config of a round by its name; None: its pass failed."""


class PairVerdict(StrEnum):
    """What is known of the speeds of two configs."""

    DIFFERENT = "different"
    EQUAL = "equal"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two configs and how many times as fast the first one is."""

    a: str
    """Name of the first config."""
    b: str
    """Name of the second one."""
    ratio: Interval | None
    """Rate of a divided by that of b; None where no round had both."""
    rounds: int
    """Rounds that both ran."""

    @property
    def verdict(self) -> PairVerdict:
        """What the whole interval says.

        Equal where it lies within the indifference zone, 1 inside it or not: what is
        1 % faster for sure is not worth another setting.
        """
        if self.ratio is None or self.ratio.low is None or self.ratio.high is None:
            return PairVerdict.UNDECIDED
        low, high = self.ratio.low, self.ratio.high
        if low >= 1 - INDIFFERENCE and high <= 1 + INDIFFERENCE:
            return PairVerdict.EQUAL
        if low > 1 or high < 1:
            return PairVerdict.DIFFERENT
        return PairVerdict.UNDECIDED

    def rounds_to_tell(self) -> int | None:
        """Return about how many rounds would settle it; None where too few were run.

        As if the readings went on to scatter as they did: an interval shrinks with the
        root of the rounds, to what lies between the ratio and the nearer of two ends:
        that of the indifference zone, or 1.
        """
        ratio = self.ratio
        if ratio is None or ratio.low is None or ratio.high is None or self.rounds < 3:
            return None
        low, high = math.log(ratio.low), math.log(ratio.high)
        away = abs(low + high) / 2
        room = max(away, math.log1p(INDIFFERENCE) - away)
        return math.ceil(self.rounds * ((high - low) / 2 / room) ** 2)

    def turned(self) -> Pair:
        """Return the same from b's side."""
        if self.ratio is None:
            return replace(self, a=self.b, b=self.a)
        low, high = self.ratio.low, self.ratio.high
        ratio = Interval(
            median=1 / self.ratio.median,
            low=None if high is None else 1 / high,
            high=None if low is None else 1 / low,
        )
        return replace(self, a=self.b, b=self.a, ratio=ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, and the verdict."""
        return {
            "a": self.a,
            "b": self.b,
            "ratio": None if self.ratio is None else self.ratio.to_dict(),
            "rounds": self.rounds,
            "verdict": self.verdict.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every pair of configs at one look."""

    names: tuple[str, ...]
    """The configs that are left, the baseline first."""
    by_speed: tuple[str, ...]
    """The same, the fastest first: by the mean of what was read, certain or not."""
    pairs: tuple[Pair, ...]
    """Every two of them, in the order of the names."""
    error: float
    """Share of cases in which one pair's interval may miss."""

    @classmethod
    def of(
        cls,
        rounds: Sequence[NamedRound],
        names: Sequence[str],
        *,
        entered: int,
        looks_made: int = 0,
        is_last: bool = True,
    ) -> Comparison:
        """Return the comparison after these rounds.

        Args:
            rounds: rates by name, above zero; who did not run is absent or None.
            names: the configs that are left, the baseline first.
            entered: configs that there were at first: their pairs share the error.
            looks_made: looks before this one.
            is_last: whether no look follows; it takes the error that is left.
        """
        error = pair_error(entered, looks_made, is_last=is_last)
        rates = {name: [round_.get(name) for round_ in rounds] for name in names}
        return cls(
            names=tuple(names),
            by_speed=tuple(sorted(names, key=lambda name: -_mean_log(rates[name]))),
            pairs=tuple(
                _pair(a, b, log_ratios(rates[a], rates[b]), error)
                for a, b in combinations(names, 2)
            ),
            error=error,
        )

    @property
    def is_settled(self) -> bool:
        """Whether each pair is known to differ, or to be equal."""
        return all(pair.verdict is not PairVerdict.UNDECIDED for pair in self.pairs)

    def rounds_to_tell(self) -> int | None:
        """Return about how many rounds would settle every pair; None: not known."""
        needed = [
            pair.rounds_to_tell()
            for pair in self.pairs
            if pair.verdict is PairVerdict.UNDECIDED
        ]
        known = [count for count in needed if count is not None]
        return max(known) if known and len(known) == len(needed) else None

    def between(self, a: str, b: str) -> Pair:
        """Return the pair as seen from `a`; KeyError where it is none of them."""
        for pair in self.pairs:
            if (pair.a, pair.b) == (a, b):
                return pair
            if (pair.a, pair.b) == (b, a):
                return pair.turned()
        raise KeyError(a, b)

    def told(self) -> tuple[Pair, ...]:
        """Return the pairs that people are told, the faster one first in each.

        Each config against the baseline, and against the next one in order of speed;
        where all of these are settled, the others that are not.
        """
        place = {name: number for number, name in enumerate(self.by_speed)}
        wanted = [(self.names[0], name) for name in self.by_speed if self.names[1:]]
        wanted += list(pairwise(self.by_speed))
        found = dict.fromkeys(
            tuple(sorted(pair, key=lambda name: place[name]))
            for pair in wanted
            if pair[0] != pair[1]
        )
        pairs = [self.between(faster, slower) for faster, slower in found]
        if all(pair.verdict is not PairVerdict.UNDECIDED for pair in pairs):
            pairs += [
                pair for pair in self.pairs if pair.verdict is PairVerdict.UNDECIDED
            ]
        return tuple(
            pair.turned() if pair.ratio is not None and pair.ratio.median < 1 else pair
            for pair in pairs
        )


def pair_error(entered: int, looks_made: int, *, is_last: bool) -> float:
    """Return the error that one pair's interval may use up at the next look.

    The error is spent as the rounds are: a look has as much as the rounds since the one
    before, so that early looks, which see large differences anyway, leave it to late
    ones; the last look takes all that is left.

    Args:
        entered: configs that there were at first.
        looks_made: looks before it.
        is_last: whether no look follows.
    """
    pairs = max(math.comb(entered, 2), 1)
    spent = LOOKS[looks_made - 1] if looks_made else 0
    until = LOOKS[-1] if is_last else LOOKS[looks_made]
    return RUN_ERROR * (until - spent) / LOOKS[-1] / pairs


def _pair(a: str, b: str, ratios: Sequence[float], error: float) -> Pair:
    return Pair(a=a, b=b, ratio=_interval(ratios, error), rounds=len(ratios))


def _interval(ratios: Sequence[float], error: float) -> Interval | None:
    """Return the interval of log ratios as one of ratios; None where there are none."""
    if not ratios:
        return None
    multiples = [bounded_exp(ratio) for ratio in ratios]
    by_ranks = None
    if len(ratios) >= LEAST_RANKED:
        by_ranks = signed_rank_interval(ratios, error)
    if by_ranks is None:
        return Interval.of(multiples, error=error)
    middle = median(multiples)
    low, high = bounded_exp(by_ranks[0]), bounded_exp(by_ranks[1])
    return Interval(median=middle, low=min(low, middle), high=max(high, middle))


def _mean_log(rates: Sequence[float | None]) -> float:
    """Return the mean log rate; the least there is where nothing was read."""
    found = [math.log(rate) for rate in rates if rate is not None]
    return fmean(found) if found else -math.inf
