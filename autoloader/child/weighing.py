"""The memory pass: weigh host, trial, workers and queue; nothing is timed here."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage, StageBoard
from autoloader.measure.memory import MemoryMeter

if TYPE_CHECKING:
    from autoloader.child.context import TrialContext

SETTLE_S = 30.0
"""Longest wait for a queue to fill; a slower one is reported as not seen full."""


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
    most = context.most_batches()
    board.enter(Stage.STARTING_WORKERS)
    context.calls.begin(0)
    iterator = iter(loader)
    held = next(iterator, None)
    board.enter(Stage.FILLING_QUEUE)
    full = _wait_until_full(
        iterator, config.num_workers * (config.prefetch_factor or 0), board
    )
    weight = meter.weigh()
    queued = meter.unmapped_bytes
    ends: list[int] = []
    for number in range(epochs):
        board.enter(Stage.LOADING)
        if number:
            context.calls.begin(number)
            iterator = iter(loader)
        for place, held in enumerate(iterator):  # noqa: B007  # it holds one batch
            board.advance()
            if most is not None and place + 1 >= most:
                break
        board.enter(Stage.WEIGHING)
        ends.append(meter.weigh())
    del iterator, loader, held
    board.enter(Stage.SHUTTING_DOWN)
    return {
        "full_queue_bytes": weight,
        "epoch_end_bytes": ends,
        "queued_bytes": queued,
        "queue_was_full": full,
    }


def _wait_until_full(iterator: Any, capacity: int, board: StageBoard) -> bool:
    """Wait until all batches in flight lie in the queue; False where it was not seen.

    After one batch is taken, another is asked for at once, so `capacity` of them (or
    all that are left) are under way. Their arrival is read off the queue's own size.
    """
    queue = getattr(iterator, "_worker_result_queue", None)
    if capacity == 0 or queue is None:
        return capacity == 0
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        tasks = getattr(iterator, "_task_info", {})
        waiting = sum(1 for task in tasks.values() if len(task) > 1)
        outstanding = getattr(iterator, "_tasks_outstanding", capacity)
        try:
            arrived = queue.qsize() + waiting
        except NotImplementedError:
            return False
        if arrived >= outstanding:
            return True
        board.advance()
        time.sleep(0.01)
    return False
