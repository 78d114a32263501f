"""Say how far a mean of few rounds can be trusted: Student's bounds on log rates.

Pure statistics of numbers; which config they belong to and what follows from them is
for `search.standings` to say.

The bounds are those of Student's t on the mean of logarithms: a ratio and its inverse
are judged alike, and what slows a whole round down cancels in the ratio of two configs
of that round. Percentile bootstraps were tried and left, for their bounds are too tight
when rounds are few. Share of 20,000 simulated cases in which a one-sided bound with a
stated error of 5 % was wrong about the ratio of two equal configs:

    rounds                       6                   12                  24
    noise of a reading  (a)   (b)   (c)     (a)   (b)   (c)     (a)   (b)   (c)
    percentile          9.8  10.1  10.1     7.4   7.8   8.2     6.0   6.7   7.8 %
    x sqrt(n/(n-1))     8.1   8.2   7.8     6.7   6.9   7.1     5.6   6.4   7.3 %
    Student's t         4.8   4.2   3.4     5.1   4.8   3.9     4.8   5.2   4.7 %

(a) normal, 5 %; (b) heavy-tailed: Student's t with 3 degrees of freedom, scaled to
5 %; (c) as (a), and each tenth reading slower by a quarter on average. Where noise
only ever slows down, the mean that is bounded includes the slow readings: nothing is
dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from statistics import median as _middle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ASSUMED_SPREAD = 0.05
"""Least scatter of log rates that two rounds are taken to have, even where they agree:
the noise of single readings on shared machines."""

_LARGEST_LOG = 700.0  # exp of more overflows a float
_BISECTIONS = 64  # halves pi/2 down to the resolution of a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A median with a two-sided interval, for people to read."""

    median: float
    """Middle of the readings themselves."""
    low: float | None
    """Lower end; None where one reading shows no scatter."""
    high: float | None
    """Upper end; None where one reading shows no scatter."""

    @classmethod
    def of(cls, values: Sequence[float], *, error: float) -> Interval:
        """Return the interval of positive values.

        Its ends are bounds of the geometric mean, moved out where needed so that the
        median lies between them.

        Args:
            values: rates, or ratios of rates, at least one.
            error: share of cases in which it may miss, both sides together.
        """
        middle = _middle(values)
        logs = [math.log(value) for value in values]
        low, high = lower_bound(logs, error / 2), upper_bound(logs, error / 2)
        return cls(
            median=middle,
            low=None if low is None else min(bounded_exp(low), middle),
            high=None if high is None else max(bounded_exp(high), middle),
        )

    def to_dict(self) -> dict[str, float | None]:
        """Return the fields by name."""
        return {"median": self.median, "low": self.low, "high": self.high}


def median(values: Sequence[float]) -> float:
    """Return the middle of one or more values, or the mean of the two in the middle."""
    return _middle(values)


def median_of_known(values: Iterable[float | None]) -> float | None:
    """Return the median of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return _middle(known) if known else None


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the value below which `share` of them lie, between two neighbours.

    Args:
        ascending: one or more values, the smallest first.
        share: 0-1.
    """
    place = share * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])


def lower_bound(values: Sequence[float], error: float) -> float | None:
    """Return what the true mean is above, but for `error` of cases.

    Args:
        values: one log rate or log ratio a round, independent of each other.
        error: share of cases in which the bound may be wrong, 0-0.5.

    Returns:
        The bound; None for fewer than two values, which show no scatter. Of two values
        the scatter is taken to be at least `ASSUMED_SPREAD`.
    """
    margin = _margin(values, error)
    return None if margin is None else fmean(values) - margin


def upper_bound(values: Sequence[float], error: float) -> float | None:
    """Return what the true mean is below, but for `error` of cases.

    Arguments and the case None are those of `lower_bound`.
    """
    margin = _margin(values, error)
    return None if margin is None else fmean(values) + margin


def log_ratios(
    rates: Sequence[float | None], others: Sequence[float | None]
) -> list[float]:
    """Return the log ratio of each round in which both were read.

    Args:
        rates: rate of one config in each round; None where it was not read.
        others: rate of the other config in the same rounds.
    """
    return [
        math.log(rate) - math.log(other)
        for rate, other in zip(rates, others, strict=True)
        if rate is not None and other is not None
    ]


def unpaired_ratio(
    rates: Sequence[float], others: Sequence[float], *, error: float
) -> Interval:
    """Return how many times as fast as others rates are that were read apart from them.

    By Welch's interval of the difference of two mean logarithms, each with a scatter of
    its own. What slowed one of the two down as a whole is in the ratio: rates that were
    read in the same rounds are compared by `log_ratios`.

    Args:
        rates: at least one, above 0.
        others: at least one, above 0.
        error: share of cases in which it may miss, both sides together.
    """
    middle = _middle(rates) / _middle(others)
    parts = [
        _mean_and_variance([math.log(rate) for rate in group])
        for group in (rates, others)
    ]
    (mean, own), (other_mean, other) = parts
    if own is None or other is None:
        return Interval(median=middle, low=None, high=None)
    variance = own + other
    margin = 0.0
    if variance:
        freedom = variance**2 / (
            own**2 / (len(rates) - 1) + other**2 / (len(others) - 1)
        )
        quantile = t_quantile(1 - error / 2, max(1, int(freedom)))
        margin = quantile * math.sqrt(variance)
    difference = mean - other_mean
    return Interval(
        median=middle,
        low=min(bounded_exp(difference - margin), middle),
        high=max(bounded_exp(difference + margin), middle),
    )


def bounded_exp(value: float) -> float:
    """Return `exp(value)`, held within what a float can be."""
    return math.exp(max(-_LARGEST_LOG, min(value, _LARGEST_LOG)))


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t.

    Args:
        probability: between 0 and 1, both excluded.
        freedom: degrees of freedom, 1 or more.
    """
    low, high = -math.pi / 2, math.pi / 2
    for _ in range(_BISECTIONS):
        angle = (low + high) / 2
        if _t_probability(angle, freedom) < probability:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _mean_and_variance(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its variance, which a single value does not show."""
    spread = _spread(values)
    return fmean(values), None if spread is None else spread**2 / len(values)


def _margin(values: Sequence[float], error: float) -> float | None:
    spread, count = _spread(values), len(values)
    if spread is None:
        return None
    return t_quantile(1 - error, count - 1) * spread / math.sqrt(count)


def _spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation; None for fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    mean = fmean(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return max(spread, ASSUMED_SPREAD) if count == 2 else spread


def _t_probability(angle: float, freedom: int) -> float:
    """Return P(T < sqrt(freedom) * tan(angle)).

    The finite sums of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3
    (odd degrees of freedom) and 26.7.4 (even ones).
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (step - 1) / step
        total += term
    between = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + between) / 2
