"""Watch a training: how long it waits for batches, and what it consumes.

Batches go through untouched. What is added to each is a look at the clock before it and
one after it, and at the size of one of its fields: no thread, no process, no file, and
no call that waits for an accelerator. torch is not imported.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from autoloader.measure.batch_sizes import BatchCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from autoloader.measure.consumption import Consumption

Batch = TypeVar("Batch")

FIRST_BATCHES = 3
"""Batches that are left out once more follow: workers start, kernels are compiled."""


@dataclass(slots=True)
class _Tally:
    """Sums over batches."""

    batches: int = 0
    examples: int = 0
    wait_s: float = 0.0
    compute_s: float = 0.0

    def add(self, examples: int, wait_s: float, compute_s: float) -> None:
        """Add a batch that was worked on."""
        self.batches += 1
        self.examples += examples
        self.wait_s += wait_s
        self.compute_s += compute_s

    def plus(self, other: _Tally) -> _Tally:
        """Return the sums of both."""
        return _Tally(
            self.batches + other.batches,
            self.examples + other.examples,
            self.wait_s + other.wait_s,
            self.compute_s + other.compute_s,
        )


class Watched(Generic[Batch]):
    """A loader that is watched: iterated in its place, it gives the same batches.

    What else is asked of it, its length included, the loader answers.

    Args:
        loader: a DataLoader, or anything that gives batches.
        quiet: whether nothing is told before `report` is called.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        loader: Iterable[Batch],
        *,
        quiet: bool = False,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.loader = loader
        """The loader itself."""
        self._quiet = quiet
        self._clock = clock
        size = getattr(loader, "batch_size", None)
        self._counter = BatchCounter(size if isinstance(size, int) else None)
        self._first, self._rest = _Tally(), _Tally()
        self._epochs = 0

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        clock, count, tally = self._clock, self._counter.count, self._tally
        self._epochs += 1
        asked_s = clock()  # an epoch's first wait has the start of its workers in it
        try:
            for batch in self.loader:
                examples = count(batch)
                held = [batch]
                del batch  # it lives no longer than the training keeps it
                came_s = clock()
                yield held.pop()
                now_s = clock()
                tally().add(examples, came_s - asked_s, now_s - came_s)
                asked_s = now_s
        finally:
            self._end_epoch()

    def __len__(self) -> int:
        """Return the loader's length."""
        sized: Any = self.loader
        return len(sized)

    def __getattr__(self, name: str) -> Any:
        """Return what the loader has under a name."""
        if name == "loader":  # while it is copied or unpickled
            raise AttributeError(name)
        return getattr(self.loader, name)

    @property
    def consumption(self) -> Consumption | None:
        """What is known so far; None before a batch was worked on."""
        from autoloader.measure.consumption import Consumption

        found = self._rest
        if found.batches < FIRST_BATCHES:
            found = self._first.plus(self._rest)
        if not found.batches:
            return None
        return Consumption(
            epochs=self._epochs,
            batches=found.batches,
            examples=found.examples if self._counter.is_known else None,
            wait_s=found.wait_s,
            compute_s=found.compute_s,
            is_estimated=self._counter.is_estimated,
            ranks=_number("LOCAL_WORLD_SIZE", 1),
        )

    def report(self) -> None:
        """Tell on stderr what the training consumes, and how long it waited for it."""
        from autoloader.report.console import print_lines
        from autoloader.report.consumption import lines_of

        found = self.consumption
        print_lines(
            ["autoloader: no batch was worked on yet"]
            if found is None
            else lines_of(found)
        )

    def _tally(self) -> _Tally:
        """Return the sums that the next batch belongs to."""
        return self._first if self._first.batches < FIRST_BATCHES else self._rest

    def _end_epoch(self) -> None:
        """Tell it after the 1st, 2nd, 4th ... epoch; of several ranks, one does."""
        if sys.is_finalizing():  # nothing can be imported any more
            return
        is_told = self._epochs & (self._epochs - 1) == 0  # a power of two
        is_first = _number("LOCAL_RANK", 0) == 0
        has_any = self._first.batches > 0
        if is_told and is_first and has_any and not self._quiet:
            self.report()


def watch(loader: Iterable[Batch], *, quiet: bool = False) -> Watched[Batch]:
    """Return the loader, watched: to be iterated in its place, epoch by epoch.

    At the end of the 1st, 2nd, 4th, 8th ... epoch, however it ends, it tells on stderr
    what part of the time was waited, and what the training consumes, as a `--target`.

    Args:
        loader: a DataLoader, or anything that gives batches.
        quiet: whether nothing is told before `report()` is called.
    """
    return Watched(loader, quiet=quiet)


def _number(name: str, otherwise: int) -> int:
    """Return a variable that launchers of several ranks set, where it is a number."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else otherwise
