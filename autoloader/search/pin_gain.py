"""Decide whether pinned memory is kept: only where a gain was seen.

Pure: rates of rounds in, a decision out. Pinned batches arrive no sooner from a loader
alone, which is what the search reads: what they gain shows where batches are moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from autoloader.measure.intervals import Interval, log_ratios, lower_bound, upper_bound
from autoloader.values.target import CONFIDENCE, INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.transfer import PinReadings

LOOKS = (4, 8)
"""Rounds after which it may be settled; the last one ends them."""

ERROR = (1 - CONFIDENCE) / len(LOOKS)
"""Share of cases in which a bound of one look may be wrong."""

LEAST_GAIN = math.log1p(INDIFFERENCE)
"""Least gain that counts, as a logarithm: nothing finer is told elsewhere either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinGain:
    """How many times as fast a loop is with pinned batches."""

    ratio: Interval | None
    """Over the rounds that had both; None where none had."""
    is_seen: bool
    """Whether it gains, with confidence, and enough to count."""


def gain_of(readings: PinReadings) -> PinGain:
    """Return what rounds with and without pinning say.

    Where nothing arrived pinned, or a pass failed, no gain is one of pinning.
    """
    ratios = log_ratios(readings.pinned_rates, readings.plain_rates)
    if not ratios:
        return PinGain(ratio=None, is_seen=False)
    interval = Interval.of([math.exp(ratio) for ratio in ratios], error=2 * ERROR)
    arrived = readings.pinned is not None and readings.pinned.pinned > 0
    is_seen = readings.failed is None and arrived and _is_gain(ratios)
    return PinGain(ratio=interval, is_seen=is_seen)


def is_settled(ratios: Sequence[float]) -> bool:
    """Return whether more rounds would not change the decision.

    Args:
        ratios: log ratio, pinned to not, of each round.
    """
    high = upper_bound(ratios, ERROR)
    return _is_gain(ratios) or (high is not None and high < LEAST_GAIN)


def _is_gain(ratios: Sequence[float]) -> bool:
    low = lower_bound(ratios, ERROR)
    return low is not None and low > 0 and fmean(ratios) >= LEAST_GAIN
