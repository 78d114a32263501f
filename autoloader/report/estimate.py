"""The rate of the pass that runs, by the batches that were seen to arrive so far.

A timed pass tells nothing while it runs but a count in shared memory, which is looked
at a few times a second. What is estimated of it is for people to pass the time with:
stored and judged is the pass's own reading, which has the arrival of each batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from autoloader.measure.intervals import Interval
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.job import PassOrder

LEAST_BLOCKS = 3
"""Stretches of a pass of which its scatter is told."""


@dataclass(slots=True, kw_only=True)
class Estimate:
    """Batches of one timed pass, as they were seen to arrive."""

    warm_batches: int
    """Leading batches that no rate is worked out of: workers start meanwhile."""
    wave: int
    """Batches that arrive together, one of each worker."""
    batch_size: int | None
    """Examples a batch; None where the dataset makes batches: they are counted then."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    _seen: list[tuple[float, int]] = field(default_factory=list)
    """Ends of whole waves: when each was seen, and batches by then."""
    _latest: tuple[float, int] | None = None

    @classmethod
    def of(cls, order: PassOrder, clock: Callable[[], float]) -> Self | None:
        """Return the estimate of a pass that is timed; None: this one is not."""
        if order.kind != "timed" or order.plan is None:
            return None
        return cls(
            warm_batches=order.plan.warm_batches,
            wave=max(order.config.num_workers, 1),
            batch_size=order.config.batch_size,
            clock=clock,
        )

    @property
    def unit(self) -> str:
        """What its rate counts."""
        return "batches" if self.batch_size is None else "examples"

    def note(self, done: int) -> None:
        """Note that so many batches of the pass have arrived by now."""
        if done < max(self.warm_batches, 1):
            return
        now = (self.clock(), done)
        if self._latest is not None and done <= self._latest[1]:
            return
        if not self._seen or done - self._seen[-1][1] >= self.wave:
            self._seen.append(now)
        self._latest = now

    @property
    def rate(self) -> Interval | None:
        """What the pass delivers a second, with its interval; None: too early to tell.

        The interval is that of the waves, and has no ends while they are few.
        """
        if len(self._seen) < 2 or self._latest is None:
            return None
        begun, latest = self._seen[0], self._latest
        whole = self._rate_between(begun, latest)
        pairs = zip(self._seen, self._seen[1:], strict=False)
        parts = [self._rate_between(*pair) for pair in pairs]
        if len(parts) < LEAST_BLOCKS:
            return Interval(median=whole, low=None, high=None)
        found = Interval.of(parts, error=1 - CONFIDENCE)
        low = whole if found.low is None else min(found.low, whole)
        high = whole if found.high is None else max(found.high, whole)
        return Interval(median=whole, low=low, high=high)

    def _rate_between(self, one: tuple[float, int], other: tuple[float, int]) -> float:
        seconds = max(other[0] - one[0], 1e-9)
        return (other[1] - one[1]) * (self.batch_size or 1) / seconds
