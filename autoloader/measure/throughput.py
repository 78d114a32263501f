"""Rates and waits of one timed pass, worked out of the arrivals of its batches.

Of several ranks, rates add up and gaps are those of all; what a rank waits for once,
its first batch or the end, is that of the slowest. Pure functions of a `Reading`: no
clock and no process belongs here, and nothing that compares one reading with another
(`measure.intervals`, `search`).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from autoloader.measure.intervals import quantile
from autoloader.values.ranks import share_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoloader.values.outcome import Reading

CLOCK_TICK_S = 1e-9
"""Least duration: `perf_counter` counts nanoseconds, so a shorter one reads as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Gaps between arrivals in the steady window, in seconds."""

    p50_s: float
    """Half of the gaps are no longer."""
    p99_s: float
    """99 of 100 gaps are no longer."""
    max_s: float
    """Longest gap."""

    def to_dict(self) -> dict[str, float]:
        """Return the fields by name."""
        return {"p50_s": self.p50_s, "p99_s": self.p99_s, "max_s": self.max_s}


def ranks_of(reading: Reading) -> tuple[Reading, ...]:
    """Return the pass as each rank read it; the reading itself where there is one."""
    if not reading.others:
        return (reading,)
    return (replace(reading, others=()), *reading.others)


def steady_rate(reading: Reading) -> float:
    """Return the examples a second of the steady window.

    It runs from the arrival of the last warm batch to that of the last steady one. Of
    whole epochs, each has a window of its own, where it is long enough for one. A pass
    that ended before its window was full is judged by the whole waves it has; one that
    ended within the warm-up by all its batches from the start, which is too low rather
    than too high. Without a batch the rate is 0.
    """
    if reading.others:
        return sum(map(steady_rate, ranks_of(reading)))
    windows = _steady_windows(reading)
    examples = sum(sum(reading.counts[part.start : part.stop]) for part in windows)
    if not examples:
        return 0.0
    return examples / max(steady_window_s(reading), CLOCK_TICK_S)


def steady_window_s(reading: Reading) -> float:
    """Return the seconds of the steady window, or of all of them; 0 without a batch.

    Of several ranks, those of the first.
    """
    return sum(
        reading.arrivals_s[part.stop - 1] - part.begin_s
        for part in _steady_windows(reading)
    )


def has_steady_window(reading: Reading) -> bool:
    """Whether the pass went on beyond its warm-up, so that it has a steady rate."""
    return any(part.is_steady for part in _steady_windows(reading))


def epoch_rate(reading: Reading, epoch_examples: int | None = None) -> float:
    """Return the examples a second over a whole epoch, start and end included.

    With N examples an epoch, `N / (t_warm + (N - n_warm) / steady + t_end)`: t_warm is
    the arrival of the last warm batch, n_warm are the examples up to there, t_end is
    the time from the last arrival to the end, workers shut down. A reading of whole
    epochs, or of exactly N examples: N / total, and no model. An epoch no longer than
    the warm-up ends where its last example arrived in this reading (interpolated
    within a batch), plus t_end: it never meets the steady rate. Where the length of an
    epoch is not known, the steady rate is all that can be stated.

    Args:
        reading: a timed pass.
        epoch_examples: N; None takes the length that the reading names.
    """
    if reading.others:
        ranks = ranks_of(reading)
        each = None if epoch_examples is None else share_of(epoch_examples, len(ranks))
        return sum(epoch_rate(item, each) for item in ranks)
    wanted = reading.epoch_examples if epoch_examples is None else epoch_examples
    if wanted is None:
        return steady_rate(reading)
    if not reading.counts or wanted <= 0:
        return 0.0
    delivered = sum(reading.counts)
    if reading.epoch_ends_s and wanted == reading.epoch_examples:
        return delivered / max(reading.total_s, CLOCK_TICK_S)
    if delivered != wanted and not steady_rate(reading):
        return 0.0  # nothing came after the warm-up: an epoch would never end
    seconds = reading.total_s if delivered == wanted else _epoch_s(reading, wanted)
    return wanted / max(seconds, CLOCK_TICK_S)


def first_batch_s(reading: Reading) -> float | None:
    """Return the seconds from `iter(loader)` to the first batch; None without one."""
    if reading.others:
        return _longest(map(first_batch_s, ranks_of(reading)))
    return reading.arrivals_s[0] if reading.arrivals_s else None


def warm_s(reading: Reading) -> float | None:
    """Return the seconds from `iter(loader)` to the end of the warm-up.

    None where the pass ended before.
    """
    if reading.others:
        return _longest(map(warm_s, ranks_of(reading)))
    last = reading.warm_batches - 1
    if not 0 <= last < len(reading.arrivals_s):
        return None
    return reading.arrivals_s[last]


def end_s(reading: Reading) -> float | None:
    """Return the seconds from the last batch to the end, workers shut down.

    The mean over whole epochs, where such were read. None without a batch.
    """
    if reading.others:
        return _longest(map(end_s, ranks_of(reading)))
    found = [
        epoch.end_s - reading.arrivals_s[epoch.stop - 1]
        for epoch in _epochs(reading)
        if epoch.stop > epoch.start
    ]
    return max(sum(found) / len(found), 0.0) if found else None


def gaps_s(reading: Reading) -> tuple[float, ...]:
    """Return the gaps between the arrivals of the steady window, the shortest first.

    The loop of a timed pass does nothing but wait, so a gap is a wait. They come in
    waves: W workers make one long gap and W - 1 short ones. Epochs too short for a
    steady window are taken whole, the wait for the first batch included.
    """
    gaps: list[float] = []
    for item in ranks_of(reading):
        for part in _steady_windows(item):
            arrivals = (part.begin_s, *item.arrivals_s[part.start : part.stop])
            gaps += [after - before for before, after in pairwise(arrivals)]
    return tuple(sorted(gaps))


def wait_percentiles(reading: Reading) -> Waits | None:
    """Return quantiles of the gaps in the steady window; None without a batch."""
    return pooled_waits([reading])


def pooled_waits(readings: Iterable[Reading]) -> Waits | None:
    """Return quantiles of the waits of several readings together; None: no batch."""
    gaps = sorted(gap for reading in readings for gap in gaps_s(reading))
    if not gaps:
        return None
    return Waits(p50_s=quantile(gaps, 0.50), p99_s=quantile(gaps, 0.99), max_s=gaps[-1])


def _longest(found: Iterable[float | None]) -> float | None:
    """Return the longest of all; None where one of them is not known."""
    known = list(found)
    return None if None in known else max(item for item in known if item is not None)


@dataclass(frozen=True, slots=True)
class _Epoch:
    """The batches of one epoch of a reading."""

    begin_s: float
    start: int
    stop: int
    end_s: float


@dataclass(frozen=True, slots=True)
class _Window:
    """Batches that a rate is worked out of, and when the first was asked for."""

    begin_s: float
    start: int
    stop: int
    is_steady: bool


def _epochs(reading: Reading) -> list[_Epoch]:
    """Return the epochs that were read whole; one where it was one pass."""
    ends = reading.epoch_ends_s or (reading.total_s,)
    found: list[_Epoch] = []
    begin_s, start = 0.0, 0
    for number, end_s in enumerate(ends, start=1):
        is_last = number == len(ends)
        arrived = len(reading.arrivals_s)
        stop = arrived if is_last else bisect_right(reading.arrivals_s, end_s)
        found.append(_Epoch(begin_s, start, stop, end_s))
        begin_s, start = end_s, stop
    return found


def _steady_windows(reading: Reading) -> list[_Window]:
    """Return the steady window of each epoch; of short ones all batches, from start."""
    if not reading.epoch_ends_s:
        epochs = _epochs(reading)
        return [found for epoch in epochs if (found := _first_window(reading, epoch))]
    wave = max(reading.num_workers, 1)
    windows: list[_Window] = []
    for epoch in _epochs(reading):
        start = epoch.start + reading.warm_batches
        left = epoch.stop - start - reading.num_workers
        if left >= wave:
            begin_s = reading.arrivals_s[start - 1]
            windows.append(_Window(begin_s, start, start + left // wave * wave, True))
    if windows:
        return windows
    return [
        _Window(epoch.begin_s, epoch.start, epoch.stop, False)
        for epoch in _epochs(reading)
        if epoch.stop > epoch.start
    ]


def _first_window(reading: Reading, epoch: _Epoch) -> _Window | None:
    """Return the window of a pass in one go; None without a batch."""
    start, arrived = reading.warm_batches, epoch.stop
    if arrived <= start:
        return _Window(0.0, 0, arrived, False) if arrived else None
    wave = max(reading.num_workers, 1)
    if arrived - start >= reading.steady_batches > 0:
        stop = start + reading.steady_batches
    else:
        stop = start + ((arrived - start) // wave * wave or arrived - start)
    return _Window(reading.arrivals_s[start - 1] if start else 0.0, start, stop, True)


def _epoch_s(reading: Reading, wanted: int) -> float:
    """Return the modelled seconds of an epoch of `wanted` examples."""
    warm = reading.warm_batches
    warmed = len(reading.arrivals_s) > warm
    warm_examples = sum(reading.counts[:warm]) if warmed else 0
    ending_s = end_s(reading) or 0.0
    if wanted <= warm_examples:
        return _arrival_s(reading, wanted) + ending_s
    warming_s = (warm_s(reading) or 0.0) if warmed else 0.0
    return warming_s + (wanted - warm_examples) / steady_rate(reading) + ending_s


def _arrival_s(reading: Reading, examples: int) -> float:
    """Return when the reading had delivered `examples`, which it did.

    An epoch within the first batch takes as long as that batch: how much of it was
    start-up cannot be told.
    """
    delivered = list(accumulate(reading.counts))
    last = next(place for place, count in enumerate(delivered) if count >= examples)
    if last == 0:
        return reading.arrivals_s[0]
    before_s, after_s = reading.arrivals_s[last - 1 : last + 1]
    share = (examples - delivered[last - 1]) / reading.counts[last]
    return before_s + share * (after_s - before_s)
