"""Rates and waits of one timed pass, worked out of the arrivals of its batches.

Pure functions of a `Reading`: no clock and no process belongs here, and nothing that
compares one reading with another (`measure.intervals`, `search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from autoloader.values.job import STEADY_BATCHES, STEADY_WAVES, WARM_WAVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import Reading

CLOCK_TICK_S = 1e-9
"""Least duration: `perf_counter` counts nanoseconds, so a shorter one reads as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WavePlan:
    """How many batches a timed pass reads, and which of them the steady rate uses."""

    warm_batches: int
    """Leading batches: workers start and the queue fills."""
    steady_batches: int
    """Batches of the steady window: whole waves."""
    tail_batches: int
    """Batches after it: workers that get no new task would speed up the others."""

    @property
    def total(self) -> int:
        """Batches of the whole pass."""
        return self.warm_batches + self.steady_batches + self.tail_batches


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


def wave_plan(num_workers: int, waves: int = STEADY_WAVES) -> WavePlan:
    """Return the batches of a pass whose steady window is made of whole waves.

    Batches arrive in waves of as many as there are workers; a window that cuts a wave
    is off by up to a wave. Without workers each batch is a wave of its own, and there
    is no tail because nothing runs ahead.

    Args:
        num_workers: workers of the loader, 0 or more.
        waves: least waves of the steady window; more where they hold too few batches.
    """
    wave = max(num_workers, 1)
    enough = -(-STEADY_BATCHES // wave)
    return WavePlan(
        warm_batches=WARM_WAVES * wave,
        steady_batches=max(waves, enough) * wave,
        tail_batches=num_workers,
    )


def steady_rate(reading: Reading) -> float:
    """Return the examples a second of the steady window.

    It runs from the arrival of the last warm batch to that of the last steady one. A
    pass that ended before its window was full is judged by the whole waves it has; one
    that ended within the warm-up by all its batches from the start, which is too low
    rather than too high. Without a batch the rate is 0.
    """
    start, stop = _steady_window(reading)
    if stop == 0:
        return 0.0
    begin_s = reading.arrivals_s[start - 1] if start else 0.0
    seconds = reading.arrivals_s[stop - 1] - begin_s
    return sum(reading.counts[start:stop]) / max(seconds, CLOCK_TICK_S)


def epoch_rate(reading: Reading, epoch_examples: int | None = None) -> float:
    """Return the examples a second over a whole epoch, start and end included.

    With N examples an epoch, `N / (t_warm + (N - n_warm) / steady + t_end)`: t_warm is
    the arrival of the last warm batch, n_warm are the examples up to there, t_end is
    the time from the last arrival to the end, workers shut down. A reading of exactly
    N examples was a whole epoch: N / total, and no model. An epoch that is no longer
    than the warm-up ends where its last example arrived in this reading (interpolated
    within a batch), plus t_end: it never meets the steady rate. Where the length of an
    epoch is not known, the steady rate is all that can be stated.

    Args:
        reading: a timed pass.
        epoch_examples: N; None takes the length that the reading names.
    """
    wanted = reading.epoch_examples if epoch_examples is None else epoch_examples
    if wanted is None:
        return steady_rate(reading)
    if not reading.counts or wanted <= 0:
        return 0.0
    if sum(reading.counts) == wanted:
        seconds = reading.total_s
    else:
        seconds = _epoch_s(reading, wanted)
    return wanted / max(seconds, CLOCK_TICK_S)


def first_batch_s(reading: Reading) -> float | None:
    """Return the seconds from `iter(loader)` to the first batch; None without one."""
    return reading.arrivals_s[0] if reading.arrivals_s else None


def wait_percentiles(reading: Reading) -> Waits | None:
    """Return the gaps between the arrivals of the steady window.

    The loop of a timed pass does nothing but wait, so a gap is a wait. They come in
    waves: W workers make one long gap and W - 1 short ones. None without a batch.
    """
    start, stop = _steady_window(reading)
    if stop == 0:
        return None
    begin_s = reading.arrivals_s[start - 1] if start else 0.0
    arrivals = (begin_s, *reading.arrivals_s[start:stop])
    gaps = sorted(after - before for before, after in pairwise(arrivals))
    return Waits(
        p50_s=_quantile(gaps, 0.50), p99_s=_quantile(gaps, 0.99), max_s=gaps[-1]
    )


def _steady_window(reading: Reading) -> tuple[int, int]:
    """Return the first batch of the steady window and the one after its last."""
    arrived = len(reading.arrivals_s)
    start = reading.warm_batches
    if arrived - start >= reading.steady_batches > 0:
        return start, start + reading.steady_batches
    if arrived <= start:
        return 0, arrived
    wave = max(reading.num_workers, 1)
    whole = (arrived - start) // wave * wave
    return start, start + (whole or arrived - start)


def _epoch_s(reading: Reading, wanted: int) -> float:
    """Return the modelled seconds of an epoch of `wanted` examples."""
    start, _ = _steady_window(reading)
    warm_examples = sum(reading.counts[:start])
    end_s = max(reading.total_s - reading.arrivals_s[-1], 0.0)
    if wanted <= warm_examples:
        return _arrival_s(reading, wanted) + end_s
    warm_s = reading.arrivals_s[start - 1] if start else 0.0
    return warm_s + (wanted - warm_examples) / steady_rate(reading) + end_s


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


def _quantile(ascending: Sequence[float], share: float) -> float:
    """Return the value below which `share` of them lie, between two neighbours."""
    place = share * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])
