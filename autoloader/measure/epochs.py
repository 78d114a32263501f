"""Epochs of a timed pass, told apart: the first batch, the later ones, the end.

Pure functions of a `Reading` of whole epochs.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from autoloader.values.diagnosis import EpochTimes

if TYPE_CHECKING:
    from autoloader.values.outcome import Reading


def epoch_times(reading: Reading) -> tuple[EpochTimes, ...]:
    """Return the times of each epoch that brought a batch, in their order."""
    found: list[EpochTimes] = []
    begin_s, first = 0.0, 0
    for end_s in reading.epoch_ends_s:
        stop = bisect_right(reading.arrivals_s, end_s)
        arrivals = reading.arrivals_s[first:stop]
        if arrivals:
            gaps = len(arrivals) - 1
            later_s = (arrivals[-1] - arrivals[0]) / gaps if gaps else None
            found.append(
                EpochTimes(
                    seconds=end_s - begin_s,
                    first_s=arrivals[0] - begin_s,
                    later_s=later_s,
                )
            )
        begin_s, first = end_s, stop
    return tuple(found)
