"""The timed pass: the user's loader with nothing of ours in it but a clock.

Between two batches no function of this package is called: the loop below calls the
clock, appends to lists, follows the way to a size and writes a counter that the parent
reads, all of it in C. What is not needed there stands before or after it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.child.cache import cool
from autoloader.child.counting import getters_of
from autoloader.child.loader import ListSampler
from autoloader.child.stages import Stage
from autoloader.errors import ProtocolError
from autoloader.measure.load import LoadMeter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.context import TrialContext
    from autoloader.values.job import PassPlan


def timed_pass(context: TrialContext) -> dict[str, Any]:
    """Take one reading: the arrival of each batch since `iter(loader)`.

    Kept workers are read in their second epoch; a short first one starts them.
    """
    order, board = context.order, context.board
    plan = order.plan
    if plan is None:
        msg = "a timed pass needs a plan"
        raise ProtocolError(msg)
    timed = context.epoch() if plan.epochs else context.cycled(plan.total)
    loader = context.loader(timed)
    begun_epochs = 0
    context.calls.begin(0)
    if order.config.persistent_workers:
        board.enter(Stage.STARTING_WORKERS)
        _start_kept(context, loader)
        begun_epochs = 1
        context.calls.begin(1)
    if context.scope.cache == "cold":
        board.enter(Stage.COOLING)
        cool(Path(order.reference))
    context.meeting.wait()
    board.enter(Stage.LOADING)  # which starts workers that are not kept
    watch = Watch(
        getters=() if order.count_path is None else getters_of(order.count_path),
        counts_rows=order.count_path is not None,
        progress=board.counter(),
    )
    load = LoadMeter()
    watch.begin()
    if plan.epochs:
        for number in range(begun_epochs, begun_epochs + plan.epochs):
            if number > begun_epochs:
                context.calls.begin(number)
                board.enter(Stage.LOADING)
            watch.read(loader, most=None)
    else:
        # a stream may have no end; its end is not part of this reading then
        watch.read(loader, most=plan.total if timed is None else None)
    other = load.stop()
    watch.end()
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    return {
        "arrivals_s": [round(value, 7) for value in watch.arrivals],
        "counts": _counts(context, watch, timed),
        "expected": _expected(context, timed, plan),
        "epoch_ends_s": [round(value, 7) for value in watch.ends]
        if plan.epochs
        else [],
        "total_s": watch.ends[-1],
        "kept": order.config.persistent_workers,
        "load": other.to_dict(),
    }


@dataclass(slots=True)
class Watch:
    """Reads epochs against the clock."""

    getters: tuple[Callable[[Any], Any], ...]
    """Way to the field whose first size is counted."""
    counts_rows: bool
    """Whether there is such a field."""
    progress: memoryview
    """Counter that the parent reads."""
    arrivals: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    _begun: float = 0.0

    def begin(self) -> None:
        """Start the clock."""
        self._begun = time.perf_counter()

    def read(self, loader: Iterable[Any], *, most: int | None) -> None:
        """Read to the end, or to the batch number `most`, which is then the end."""
        clock, begun = time.perf_counter, self._begun
        arrivals, counts, getters = self.arrivals, self.counts, self.getters
        counts_rows, progress = self.counts_rows, self.progress
        done = len(arrivals)
        for batch in loader:
            arrivals.append(clock() - begun)
            if counts_rows:
                found = batch
                for getter in getters:
                    found = getter(found)
                counts.append(found.shape[0])
            done += 1
            progress[0] = done
            if done == most:
                self.ends.append(arrivals[-1])
                return
        self.ends.append(clock() - begun)

    def end(self) -> None:
        """Let go of the counter."""
        self.progress.release()


def _counts(
    context: TrialContext, watch: Watch, timed: Sequence[Any] | None
) -> list[int]:
    """Return the examples of each batch."""
    if watch.counts_rows:
        return watch.counts
    arrived = len(watch.arrivals)
    if timed is None:
        return [context.size] * arrived
    sizes = _epoch_sizes(context, timed)
    return [sizes[place % len(sizes)] for place in range(arrived)]


def _epoch_sizes(context: TrialContext, timed: Sequence[Any]) -> list[int]:
    """Return the examples of each batch of an epoch, the last one's with them."""
    if context.facts.batching == "lists":
        return [len(batch) for batch in timed]
    full, rest = divmod(len(timed), context.size)
    is_cut = rest > 0 and not context.scope.drop_last
    return [context.size] * full + [rest] * is_cut


def _expected(
    context: TrialContext, timed: Sequence[Any] | None, plan: PassPlan
) -> int | None:
    """Return how many examples a timed pass must bring; None for a stream."""
    if timed is None:
        return None
    return sum(_epoch_sizes(context, timed)) * max(plan.epochs, 1)


def _start_kept(context: TrialContext, loader: DataLoader[Any]) -> None:
    """Start the workers that are kept, in a first epoch: a short one of a list."""
    is_list = context.facts.batching == "lists"
    sampler = loader.batch_sampler if is_list else loader.sampler
    if not isinstance(sampler, ListSampler):
        for place, _batch in enumerate(loader):
            context.board.advance()
            if place + 1 >= context.order.config.num_workers:
                break  # a stream may have no end
        return
    whole = sampler.indices
    first = context.order.config.num_workers * (1 if is_list else context.size)
    sampler.indices = whole[:first]
    for _batch in loader:
        context.board.advance()
    sampler.indices = whole
