"""Wait, compute, rates and overlap of a training loop, worked out of its moments.

Pure functions of step readings, and of the same loader's seconds without the step: the
two answer different questions, and only the overlap asks both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from autoloader.measure.intervals import median
from autoloader.measure.throughput import CLOCK_TICK_S

if TYPE_CHECKING:
    from autoloader.values.step import StepReading

WAIT_SHARE = 0.05
"""Part of a loop that a step which is kept fed may wait."""

PARTS = 4
"""Parts into which a loop is cut, to see how its waits scatter."""

OVERLAP_SEEN = 0.2
"""Least part of what could overlap that counts as seen: passes that are read one after
the other differ by less than that, on a shared machine too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopShares:
    """What the steady part of a training loop went into."""

    steps_per_s: float
    examples_per_s: float
    wait_share: float
    """Part of the time that the loop stood waiting for a batch, 0-1."""
    wait_s: float
    """Median seconds of a wait."""
    compute_s: float
    """Median seconds of a step."""


def waits_s(reading: StepReading) -> tuple[float, ...]:
    """Return the wait for each batch, the first one from `iter(loader)` on."""
    asked = (0.0, *reading.done_s[:-1])
    return tuple(came - at for came, at in zip(reading.came_s, asked, strict=False))


def computes_s(reading: StepReading) -> tuple[float, ...]:
    """Return the seconds of each step."""
    moments = zip(reading.came_s, reading.done_s, strict=True)
    return tuple(done - came for came, done in moments)


def loop_shares(reading: StepReading) -> LoopShares | None:
    """Return what the steady part of a loop went into; None where it has none."""
    begin, end = steady_places(reading)
    if end <= begin:
        return None
    waits, computes = waits_s(reading)[begin:end], computes_s(reading)[begin:end]
    seconds = max(sum(waits) + sum(computes), CLOCK_TICK_S)
    return LoopShares(
        steps_per_s=(end - begin) / seconds,
        examples_per_s=sum(reading.counts[begin:end]) / seconds,
        wait_share=sum(waits) / seconds,
        wait_s=median(waits),
        compute_s=median(computes),
    )


def wait_shares(reading: StepReading) -> tuple[float, ...]:
    """Return the part of the time (0-1) that was waited in each part of a loop.

    The steady part is cut into as many as four parts of whole waves: workers deliver
    by waves, so that a cut one says too much or too little.
    """
    begin, end = steady_places(reading)
    wave = max(reading.num_workers or 1, 1)
    waves = (end - begin) // wave
    parts = min(PARTS, waves)
    cuts = [begin + wave * (waves * place // parts) for place in range(parts)]
    waits, computes = waits_s(reading), computes_s(reading)
    found = []
    for start, stop in pairwise([*cuts, end] if parts else []):
        waited_s = sum(waits[start:stop])
        whole_s = max(waited_s + sum(computes[start:stop]), CLOCK_TICK_S)
        found.append(waited_s / whole_s)
    return tuple(found)


def loop_rate(reading: StepReading) -> float | None:
    """Return the examples a second of a loop over a whole epoch, start and end with it.

    As `throughput.epoch_rate` has it for a loader alone: what lies beyond the warm-up
    goes on at the steady rate. An epoch that is shorter than the reading ends with its
    last step in it. Where the length of an epoch is not known, the steady rate. None
    where nothing came after the warm-up.
    """
    shares, wanted = loop_shares(reading), reading.epoch_examples
    if shares is None or wanted is None:
        return None if shares is None else shares.examples_per_s
    end_s = max(0.0, reading.total_s - reading.done_s[-1])
    delivered = 0
    for count, done_s in zip(reading.counts, reading.done_s, strict=True):
        delivered += count
        if delivered >= wanted:
            return wanted / max(done_s + end_s, CLOCK_TICK_S)
    begin, _end = steady_places(reading)
    warm_s = reading.done_s[begin - 1] if begin else 0.0
    left = wanted - sum(reading.counts[:begin])
    return wanted / (warm_s + left / shares.examples_per_s + end_s)


def steady_places(reading: StepReading) -> tuple[int, int]:
    """Return the places of the steady part: its first batch, and one after its last."""
    begin = min(reading.warm_batches, len(reading.came_s))
    return begin, min(begin + reading.steady_batches, len(reading.came_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How far loading goes on while the step computes."""

    share: float
    """Part of what could be hidden that was: 0, one after the other; 1, the longer of
    the two is all that is seen."""

    @property
    def is_seen(self) -> bool:
        """Whether loading and computing overlap."""
        return self.share >= OVERLAP_SEEN


def overlap(*, load_s: float, compute_s: float, loop_s: float) -> Overlap | None:
    """Return how far loading and computing overlap; None where one of them is nothing.

    Args:
        load_s: seconds an example of the loader alone.
        compute_s: seconds an example of the step alone, on batches that are ready.
        loop_s: seconds an example of both together.
    """
    shorter = min(load_s, compute_s)
    if shorter <= CLOCK_TICK_S:
        return None
    hidden = (load_s + compute_s - loop_s) / shorter
    return Overlap(share=min(1.0, max(0.0, hidden)))
