"""The three passes of a trial: gate, timed, memory. Each runs in a process of its own.

The timed pass runs the user's loader with nothing of ours in it but a clock.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.audit.ledger import LedgerWriter, ScopeList
from autoloader.child.digest import DigestPlan
from autoloader.child.loader import ListSampler, LoaderParts
from autoloader.child.recorder import Arrivals, count_of, record
from autoloader.child.stages import Stage, StageBoard
from autoloader.measure.load import LoadMeter
from autoloader.measure.memory import MemoryMeter
from autoloader.measure.proc import FileOffset, readable_offsets
from autoloader.measure.throughput import wave_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoloader.values.job import PassOrder
    from autoloader.values.scope import DatasetFacts, Scope

SETTLE_S = 30.0
"""Longest wait for a queue to fill; a slower one is reported as not seen full."""


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What a pass works on."""

    order: PassOrder
    parts: LoaderParts
    facts: DatasetFacts
    scope: Scope
    board: StageBoard
    host_pid: int | None
    """Process that shares its pages with the trial; None where it was not forked."""

    def entries(self) -> list[Any]:
        """Return the indices that one epoch of a gate or memory pass reads."""
        listed = ScopeList.read(Path(self.order.reference))
        size = self.order.config.batch_size or 1
        return listed.indices(self.scope.gate_positions(size, self.order.examples))


def run_pass(context: TrialContext) -> dict[str, Any]:
    """Run the pass that was ordered and return its result as a message."""
    match context.order.kind:
        case "gate":
            return gate_pass(context)
        case "timed":
            return timed_pass(context)
        case "memory":
            return memory_pass(context)
        case other:
            msg = f"no pass is called {other!r}"
            raise ValueError(msg)


def gate_pass(context: TrialContext) -> dict[str, Any]:
    """Read whole epochs with digests, write what arrived, and tell what else was seen.

    One torch thread, as in workers and reference: sums of floats then agree to the bit.
    """
    torch.set_num_threads(1)
    order, facts, board = context.order, context.facts, context.board
    plan = DigestPlan(
        random=frozenset(facts.random_fields),
        free_shapes=frozenset(facts.free_shapes),
        label=facts.label,
    )
    loader = context.parts.build(order.config, ListSampler(context.entries()))
    tagging = record(loader, plan)
    arrivals = Arrivals(LedgerWriter(), plan)
    moved: list[str] = []
    for epoch in range(order.epochs):
        tagging.epoch = epoch
        board.enter(Stage.STARTING_WORKERS)
        before = readable_offsets(os.getpid())
        for place, carried in enumerate(loader):
            if place == 0:
                board.enter(Stage.LOADING)
            arrivals.add(carried)
            board.advance()
        moved += _moved(before, readable_offsets(os.getpid()))
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    arrivals.ledger.write(Path(order.logs))
    return {
        "count_path": arrivals.count_path,
        "batch_bytes": arrivals.batch_bytes,
        "moved_offsets": sorted(set(moved)) if order.config.num_workers else [],
    }


def _moved(
    before: dict[int, FileOffset] | None, after: dict[int, FileOffset] | None
) -> Iterator[str]:
    """Yield names of files whose offset workers moved under the training process."""
    earlier = before or {}
    for descriptor, offset in (after or {}).items():
        known = earlier.get(descriptor)
        if known is not None and known.path == offset.path and known != offset:
            yield Path(offset.path).name


def timed_pass(context: TrialContext) -> dict[str, Any]:
    """Take one reading: the arrival of each batch since `iter(loader)`.

    Kept workers are read in their second epoch; a short first one starts them.
    """
    order, board = context.order, context.board
    config = order.config
    size = config.batch_size or 1
    plan = wave_plan(config.num_workers, order.waves)
    listed = ScopeList.read(Path(order.reference))
    indices = listed.indices(range(len(listed.places)))
    timed = _cycled(indices, plan.total * size)
    sampler = ListSampler(timed)
    loader = context.parts.build(config, sampler)
    if config.persistent_workers:
        board.enter(Stage.STARTING_WORKERS)
        sampler.indices = _cycled(indices, config.num_workers * size)
        for _batch in loader:
            board.advance()
        sampler.indices = timed
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
    total_s = time.perf_counter() - begun
    other = load.stop()
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    expected = len(timed) // size * size if context.scope.drop_last else len(timed)
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


def _cycled(indices: Sequence[Any], count: int) -> list[Any]:
    """Return the first `count` entries of the list repeated without end."""
    rounds = -(-count // len(indices))
    return (list(indices) * rounds)[:count]


def memory_pass(context: TrialContext) -> dict[str, Any]:
    """Weigh host, trial, workers and queue; nothing is timed here.

    The consumer takes one batch, then pauses until the queue is full: a loader that is
    drained shows a sixth of what it can hold. With `examples` above 0 it goes on to the
    end of two epochs, so that growth is seen.
    """
    order, board = context.order, context.board
    config = order.config
    size = config.batch_size or 1
    listed = ScopeList.read(Path(order.reference))
    meter = MemoryMeter(trial_pid=os.getpid(), host_pid=context.host_pid)
    if order.examples:
        epoch = context.entries()
        epochs = order.epochs
    else:
        in_flight = max(1, config.num_workers) * (config.prefetch_factor or 1)
        indices = listed.indices(range(len(listed.places)))
        epoch, epochs = _cycled(indices, (in_flight + 2) * size), 0
    loader = context.parts.build(config, ListSampler(epoch))
    board.enter(Stage.STARTING_WORKERS)
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
            iterator = iter(loader)
        for held in iterator:  # noqa: B007  # the consumer holds one batch
            board.advance()
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
