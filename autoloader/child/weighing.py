"""The memory pass: weigh host, trial, workers and queue; nothing is timed here."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.stages import Stage, StageBoard
from autoloader.measure.memory import MemoryMeter, Weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.context import TrialContext

SETTLE_S = 30.0
"""Longest wait for a queue to fill; a slower one is reported as not seen full."""

STEADY_S = 2.0
"""Longest wait for what a full queue takes to stop changing."""

STEADY_SHARE = 0.002
"""Change between two weighings that counts as none."""

PAUSE_S = 0.05
"""Time between two weighings of a full queue."""


def memory_pass(context: TrialContext) -> dict[str, Any]:
    """Weigh host, trial, workers and queue; nothing is timed here.

    The consumer takes one batch, then pauses until the queue is full: a loader that is
    drained shows a sixth of what it can hold. With `examples` above 0 it goes on to the
    end of two epochs, so that growth is seen.
    """
    order, board = context.order, context.board
    config = order.config
    meter = MemoryMeter(trial_pid=os.getpid(), host_pid=context.host_pid)
    if order.examples:
        loader = context.loader(context.entries())
        epochs = order.epochs
    else:
        in_flight = max(1, config.num_workers) * (config.prefetch_factor or 1)
        loader = context.loader(context.cycled(in_flight + 2))
        epochs = 0
    board.enter(Stage.STARTING_WORKERS)
    context.calls.begin(0)
    consumer = _Consumer(iter(loader), board, context.most_batches())
    consumer.take_one()
    board.enter(Stage.FILLING_QUEUE)
    is_full = wait_until_full(consumer.iterator, board)
    full = steady(meter.weigh, meter.is_at_rest)
    ends: list[int] = []
    for number in range(epochs):
        if number:
            board.enter(Stage.STARTING_WORKERS)
            context.calls.begin(number)
            consumer.iterator = iter(loader)
        ends.append(consumer.weigh_at_the_end(meter).total_bytes)
    del consumer, loader
    board.enter(Stage.SHUTTING_DOWN)
    return {
        "full_queue_bytes": full.total_bytes,
        "epoch_end_bytes": ends,
        "queued_bytes": full.queued_bytes,
        "queue_was_full": is_full,
        "resident_bytes": full.resident_bytes,
        "pinned_bytes": pinned_bytes(torch) if config.pin_memory else None,
        "accelerator_bytes": accelerator_bytes(torch),
    }


class _Consumer:
    """Takes batches as training does: the last one is held until the next is there.

    Args:
        iterator: of the loader.
        board: told of each batch.
        most: batches after which an epoch is cut; None: it has an end.
    """

    def __init__(self, iterator: Any, board: StageBoard, most: int | None) -> None:
        self.iterator = iterator
        self._board = board
        self._most = most
        self._held: Any = None

    def take_one(self) -> None:
        """Take one batch and hold it."""
        self._held = next(self.iterator, None)

    def weigh_at_the_end(self, meter: MemoryMeter) -> Weight:
        """Read an epoch and weigh with its last batch in hand, workers still there.

        Workers that are not kept end with the epoch, and with them what they gathered.
        """
        board, weight = self._board, None
        board.enter(Stage.LOADING)
        if is_last(self.iterator):
            weight = meter.weigh()
        for place, batch in enumerate(self.iterator):
            self._held = batch
            board.advance()
            if is_last(self.iterator):
                weight = meter.weigh()
            if self._most is not None and place + 1 >= self._most:
                break
        board.enter(Stage.WEIGHING)
        return meter.weigh() if weight is None else weight


def is_last(iterator: Any) -> bool:
    """Return whether the batch in hand is known to be the last of workers' batches.

    False for a loader without workers, and for one of another make.
    """
    tasks = getattr(iterator, "_task_info", None)
    return tasks is not None and not tasks


def wait_until_full(iterator: Any, board: StageBoard) -> bool:
    """Wait until all batches in flight lie in the queue; False where it was not seen.

    After one batch is taken, another is asked for at once, so that as many as the
    loader holds (or all that are left) are under way. Those that came out of turn were
    taken already; of the others the queue's own size tells, and that of the queue into
    which a thread puts them once they are pinned.
    """
    queue = getattr(iterator, "_worker_result_queue", None)
    if queue is None:
        return not getattr(iterator, "_num_workers", 0)
    pinned = getattr(iterator, "_data_queue", queue)
    deadline, most = time.monotonic() + SETTLE_S, -1
    while time.monotonic() < deadline:
        try:
            arrived = queue.qsize() + (0 if pinned is queue else pinned.qsize())
        except NotImplementedError:
            return False
        if arrived >= iterator._tasks_outstanding:
            return True
        if arrived > most:  # else nothing moves: it may hang
            most = arrived
            board.advance()
        time.sleep(0.01)
    return False


def steady(
    weigh: Callable[[], Weight],
    is_at_rest: Callable[[], bool],
    *,
    pause_s: float = PAUSE_S,
    clock: Callable[[], float] = time.monotonic,
) -> Weight:
    """Return what is weighed once nothing moves any more; in the end, the most of it.

    A worker counts a batch as queued before its thread has moved it to shared memory
    (or pickled it): for a moment, it is there twice. On a busy machine the moment is
    long, and it looks like rest to who weighs only.

    Args:
        weigh: takes a weight.
        is_at_rest: tells whether no worker computes.
        pause_s: seconds between two weighings.
        clock: tells seconds.
    """
    deadline = clock() + STEADY_S
    most = last = weigh()
    while clock() < deadline:
        time.sleep(pause_s)
        rested, now = is_at_rest(), weigh()
        change = abs(now.total_bytes - last.total_bytes)
        if rested and change <= STEADY_SHARE * max(1, last.total_bytes):
            return now
        last = now
        most = max(most, now, key=lambda weight: weight.total_bytes)
    return most


def pinned_bytes(library: Any) -> int | None:
    """Return the most page-locked memory so far, in blocks of powers of two.

    None where nothing was pinned, and where PyTorch does not tell.

    Args:
        library: the torch module.
    """
    tell = getattr(library.cuda, "host_memory_stats", None)  # since 2.7
    if tell is None or not library.cuda.is_available():
        return None
    most: int | None = tell().get("allocated_bytes.peak")
    return most or None


def accelerator_bytes(library: Any) -> int | None:
    """Return the most memory that PyTorch held on the accelerator.

    None without one, and where PyTorch keeps no account of it.

    Args:
        library: the torch module.
    """
    accelerator = getattr(library, "accelerator", None)
    tell = getattr(accelerator, "max_memory_allocated", None)  # since 2.9
    if accelerator is not None and tell is not None and accelerator.is_available():
        try:
            return int(tell())
        except RuntimeError:  # of a device whose allocator keeps no account
            return None
    if library.cuda.is_available():
        return int(library.cuda.max_memory_allocated())
    return None
