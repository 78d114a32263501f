"""Tell a drift over many nights from nights that only scatter.

Kendall's rank correlation with time (Mann, 1945; Kendall, Rank Correlation Methods,
1975): of n values in the order of the nights, how many pairs ascend and how many
descend. For values that are independent of each other and have no trend, each order is
as likely as any other, whatever the noise: the probability is exact up to `EXACT`
values, by the number of permutations with so many inversions, and normal beyond. How
large a drift is, is the middle of the slopes of all pairs (Theil, 1950; Sen, 1968).

Looked for after 8, 16, 32, ... nights only: who looks after each finds a drift in
anything some day. The k-th look may use up 1/2, 1/4, 1/8, ... of the error: all looks
together, however many there will be, use up no more than all of it.

Nights that are alike for days, such as those of a neighbour who stays for a week, are
not independent, and are taken for a drift more often than the error says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from statistics import NormalDist, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_LOOK = 8
"""Values at the first look; each further one is at twice as many."""

EXACT = 64
"""Values up to which the probability is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """An order in time that is no accident."""

    per_step: float
    """Share by which a value differs from the one before; below 0: it falls."""
    steps: int
    """Values that it was seen in."""
    probability: float
    """Of as clear an order, either way, where there is no trend."""


def trend_of(values: Sequence[float], *, error: float) -> Trend | None:
    """Return the trend of positive values, or None where there may well be none.

    Args:
        values: one a night, in their order, independent of each other.
        error: share of series without a trend of which any look may say that they have
            one.
    """
    seen, look = FIRST_LOOK, 1
    if len(values) < seen:
        return None
    while 2 * seen <= len(values):
        seen, look = 2 * seen, look + 1
    logs = [math.log(value) for value in values[:seen]]
    chance = order_probability(logs)
    if chance > error / 2**look:
        return None
    slopes = [
        (logs[later] - logs[earlier]) / (later - earlier)
        for earlier, later in combinations(range(seen), 2)
    ]
    return Trend(per_step=math.expm1(median(slopes)), steps=seen, probability=chance)


def order_probability(values: Sequence[float]) -> float:
    """Return how likely as clear an order is, either way, where there is no trend.

    Equal values say nothing of the order.
    """
    count = len(values)
    ascending = sum((b > a) - (b < a) for a, b in combinations(values, 2))
    pairs = count * (count - 1) // 2
    if count > EXACT:
        scatter = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
        beyond = max(abs(ascending) - 1, 0) / scatter
        return 2 * NormalDist().cdf(-beyond)
    inversions = -((abs(ascending) - pairs) // 2)
    ways = _permutations_by_inversions(count)
    return min(1.0, 2 * sum(ways[: inversions + 1]) / math.factorial(count))


@cache
def _permutations_by_inversions(count: int) -> tuple[int, ...]:
    """Return for each number of inversions how many orders of values have it."""
    ways = [1]
    for size in range(2, count + 1):
        longer = len(ways) + size - 1
        running, found = 0, []
        for total in range(longer):
            running += ways[total] if total < len(ways) else 0
            running -= ways[total - size] if total >= size else 0
            found.append(running)
        ways = found
    return tuple(ways)
