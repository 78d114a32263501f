"""The passes of a trial: timed, memory, share. Each runs in a process of its own.

The gate's pass is `child.gate`.

The timed pass runs the user's loader with nothing of ours in it but a clock.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.gate import gate_pass
from autoloader.child.loader import ListSampler
from autoloader.child.recorder import count_of
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stream import StreamLimits, as_worker, ledger_of, read_pass
from autoloader.measure.load import LoadMeter
from autoloader.measure.memory import MemoryMeter
from autoloader.measure.throughput import wave_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.context import TrialContext

SETTLE_S = 30.0
"""Longest wait for a queue to fill; a slower one is reported as not seen full."""


def run_pass(context: TrialContext) -> dict[str, Any]:
    """Run the pass that was ordered and return its result as a message."""
    match context.order.kind:
        case "gate":
            return gate_pass(context)
        case "timed":
            return timed_pass(context)
        case "memory":
            return memory_pass(context)
        case "share":
            return share_pass(context)
        case other:
            msg = f"no pass is called {other!r}"
            raise ValueError(msg)


def timed_pass(context: TrialContext) -> dict[str, Any]:
    """Take one reading: the arrival of each batch since `iter(loader)`.

    Kept workers are read in their second epoch; a short first one starts them.
    """
    order, board = context.order, context.board
    config = order.config
    size = context.size
    plan = wave_plan(config.num_workers, order.waves)
    timed = context.cycled(plan.total)
    loader = context.loader(timed)
    context.calls.begin(0)
    if config.persistent_workers:
        board.enter(Stage.STARTING_WORKERS)
        _start_kept(context, loader)
        context.calls.begin(1)
    board.enter(Stage.LOADING)
    arrivals: list[float] = []
    counts: list[int] = []
    path = order.count_path
    load = LoadMeter()
    begun = time.perf_counter()
    for batch in loader:
        arrivals.append(time.perf_counter() - begun)
        counts.append(size if path is None else count_of(batch, path))
        board.advance()
        if timed is None and len(counts) == plan.total:
            break  # a stream; its end is not part of this reading
    was_cut = timed is None and len(counts) == plan.total
    total_s = arrivals[-1] if was_cut else time.perf_counter() - begun
    other = load.stop()
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    expected = None if timed is None else _expected(context, timed)
    if path is None and context.facts.batching == "lists" and timed is not None:
        counts = [len(batch) for batch in timed]
    return {
        "arrivals_s": [round(value, 7) for value in arrivals],
        "counts": counts,
        "expected": expected,
        "warm_batches": plan.warm_batches,
        "steady_batches": plan.steady_batches,
        "total_s": total_s,
        "foreign_cpu": other.foreign_cpu,
        "stolen_cpu": other.stolen_cpu,
        "kept": config.persistent_workers,
    }


def _expected(context: TrialContext, timed: Sequence[Any]) -> int:
    """Return how many examples a timed pass over these batches must bring."""
    if context.facts.batching == "lists":
        return sum(len(batch) for batch in timed)
    whole = len(timed) // context.size * context.size
    return whole if context.scope.drop_last else len(timed)


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


def share_pass(context: TrialContext) -> dict[str, Any]:
    """Read what one worker's share of a stream begins with, and write its ledger."""
    order = context.order
    torch.set_num_threads(1)
    context.board.enter(Stage.READING)
    most = (context.most_batches() or 0) * context.size
    limits = StreamLimits(
        examples=max(most, order.examples),
        seconds=None,
        by_rows=context.facts.by_rows,
    )
    dataset = context.parts.dataset
    begin = getattr(context.parts.loader, "worker_init_fn", None)
    workers, seed = order.config.num_workers, context.scope.seed
    context.calls.begin(order.share_epoch)
    with as_worker(dataset, order.share, workers, seed, begin):
        found = read_pass(dataset, limits, context.board, needs_worker=False)
    ledger_of(found, context.plan()).write(Path(order.logs))
    return {"examples": len(found)}


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
