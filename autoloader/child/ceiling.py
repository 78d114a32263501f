"""The ceiling pass: a loader over examples that were read before, and cost nothing.

What remains is what no dataset can avoid: the user's collate_fn, the way of a batch
from a worker to the training process, pinning. That is the loader's ceiling, and a rate
of the real loader near it says that reading is not what limits.

The user's dataset reads one batch of examples here and is left alone then; its
worker_init_fn is not called, since it may ask for a dataset that is not there.
"""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, default_collate

from autoloader.child.digest import leaves
from autoloader.child.loader import ListSampler
from autoloader.child.scaling import compute_growth
from autoloader.child.stages import Stage
from autoloader.child.stream import as_worker
from autoloader.child.timing import Watch
from autoloader.errors import ProtocolError
from autoloader.measure.proc import children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.context import TrialContext
    from autoloader.child.stages import StageBoard
    from autoloader.values.job import PassPlan

KEPT_BYTES = 64 << 20
"""Most bytes of examples that are kept; one example is kept however large it is."""

COLLATE_S = 0.3
"""Seconds for which collate is repeated in this process."""

MOST_COLLATES = 200
"""Times that it is repeated at most."""

WINDOW_S = 0.6
"""Seconds of the window: a tick of workers' CPU time (10 ms) is then 2 %."""

MOST_BATCHES = 20_000
"""Batches of a pass, however cheap they are."""


class CachedExamples(Dataset[Any]):
    """Gives examples that were read before, over and over.

    Args:
        kept: the examples.
        length: how many there seem to be.
        copies_leaves: whether tensors and arrays are copied too: where no collate_fn
            makes new ones, the same tensor would lie in shared memory from its first
            time on, and cost nothing any more.
    """

    def __init__(
        self, kept: Sequence[Any], length: int, *, copies_leaves: bool
    ) -> None:
        self._kept = kept
        self._length = length
        self._copies_leaves = copies_leaves

    def __len__(self) -> int:
        """Return how many there seem to be."""
        return self._length

    def __getitem__(self, index: int) -> Any:
        """Return one of the examples; a collate_fn may take it apart."""
        example = self._kept[index % len(self._kept)]
        return fresh(example, copies_leaves=self._copies_leaves)


def fresh(value: Any, *, copies_leaves: bool) -> Any:
    """Return a copy of what holds the leaves of an example, and of them if asked."""
    if type(value) is dict:
        return {
            key: fresh(item, copies_leaves=copies_leaves) for key, item in value.items()
        }
    if type(value) in {list, tuple}:
        kind: Callable[[Iterable[Any]], Any] = type(value)
        return kind(fresh(item, copies_leaves=copies_leaves) for item in value)
    if not copies_leaves:
        return value
    if isinstance(value, torch.Tensor):
        return value.clone()
    copy = getattr(value, "copy", None)  # of an array, a set, a mapping of its own
    return copy() if callable(copy) else value


def ceiling_pass(context: TrialContext) -> dict[str, Any]:
    """Read one batch of examples, then see how fast a loader is to which they are free.

    Raises:
        ProtocolError: the order has no plan.
    """
    plan, board, facts = context.order.plan, context.board, context.facts
    if plan is None:
        msg = "a ceiling pass needs a plan"
        raise ProtocolError(msg)
    workers = context.order.config.num_workers
    if workers:  # which have one thread; and no pool that a fork would break
        torch.set_num_threads(1)
    board.enter(Stage.READING)
    context.calls.begin(0)
    kept = _read(context)
    board.enter(Stage.COLLATING)
    costs = _collate_costs(_collate_of(context), kept)
    board.enter(Stage.LOADING)
    loader = cached_loader(context, kept)
    window = _window_of(loader, plan, board, workers=workers)
    del loader  # and its workers, if they are kept
    board.enter(Stage.SHUTTING_DOWN)
    growth = None
    if workers:
        growth = compute_growth(workers + 1, context.scope.start_method)
    return {
        "num_workers": workers,
        "batch_examples": facts.batch_examples if facts.by_rows else len(kept),
        "compute_growth": growth,
        **costs,
        **window,
    }


def _window_of(
    loader: DataLoader[Any], plan: PassPlan, board: StageBoard, *, workers: int
) -> dict[str, Any]:
    """Return the arrivals of batches, and what the last of them took of the CPUs."""
    watch = Watch(getters=(), counts_rows=False, progress=board.counter())
    watch.begin()
    iterator = iter(loader)
    watch.read(iterator, most=plan.warm_batches + plan.steady_batches)
    done = len(watch.arrivals)
    wave, left = max(workers, 1), MOST_BATCHES - done
    window = _window(watch.arrivals, plan.warm_batches, wave=wave, most=left)
    main_s, workers_s = time.process_time(), _workers_cpu_s()
    watch.read(iterator, most=done + window)
    main_s, workers_s = time.process_time() - main_s, _workers_cpu_s() - workers_s
    watch.end()
    return {
        "arrivals_s": [round(value, 7) for value in watch.arrivals],
        "window_batches": len(watch.arrivals) - done,
        "main_cpu_s": main_s,
        "workers_cpu_s": max(0.0, workers_s),
    }


def cached_loader(context: TrialContext, kept: Sequence[Any]) -> DataLoader[Any]:
    """Return the loader of the order's config over examples that are there already."""
    parts, size = context.parts, len(kept)
    if context.facts.batching == "lists":
        indices: Any = [list(range(size))] * MOST_BATCHES
    else:
        indices = range(MOST_BATCHES * size)
    cached = CachedExamples(
        kept, MOST_BATCHES * size, copies_leaves=parts.batching == "single"
    )
    config = context.order.config
    if config.batch_size is not None:
        config = replace(config, batch_size=size)
    loader = replace(parts, dataset=cached).build(
        config, ListSampler(indices), start_method=context.scope.start_method
    )
    loader.worker_init_fn = None
    return loader


def _read(context: TrialContext) -> list[Any]:
    """Return the examples of the scope's first batch, as many as may be kept."""
    dataset, seed = context.parts.dataset, context.scope.seed
    needs_worker = context.facts.needs_worker
    stream = context.scope.stream
    if stream is not None:
        needs_worker = stream.needs_worker
    if not needs_worker:
        return _kept(context, dataset)
    begin = getattr(context.parts.loader, "worker_init_fn", None)
    with as_worker(dataset, 0, 1, seed, begin):
        return _kept(context, dataset)


def _kept(context: TrialContext, dataset: Any) -> list[Any]:
    indices = context.cycled(1)
    if indices is None:
        found: Iterable[Any] = itertools.islice(iter(dataset), context.size)
    else:
        if context.facts.batching == "lists":
            indices = list(indices[0])
        found = (dataset[index] for index in indices)
    kept: list[Any] = []
    taken = 0
    for example in found:
        kept.append(example)
        taken += sum(leaf.size for leaf in leaves(example))
        context.board.advance()
        if taken >= KEPT_BYTES:
            break
    return kept


def _collate_of(context: TrialContext) -> Callable[[list[Any]], Any] | None:
    """Return what makes a batch; None where the dataset makes it."""
    if context.parts.batching == "single":
        return None
    loader = context.parts.loader
    return default_collate if loader is None else loader.collate_fn


def _collate_costs(
    collate: Callable[[list[Any]], Any] | None, kept: Sequence[Any]
) -> dict[str, Any]:
    """Return wall and CPU seconds of each collate, of copies, and a batch's bytes."""
    if collate is None:
        size = sum(leaf.size for leaf in leaves(kept[0]))
        return {"batch_bytes": size, "collate_s": [0.0], "collate_cpu_s": [0.0]}
    batch = collate([fresh(item, copies_leaves=False) for item in kept])  # warm-up
    size = sum(leaf.size for leaf in leaves(batch))
    walls: list[float] = []
    cpus: list[float] = []
    copies: list[float] = []
    deadline = time.perf_counter() + COLLATE_S
    while not walls or (len(walls) < MOST_COLLATES and time.perf_counter() < deadline):
        examples = [fresh(item, copies_leaves=False) for item in kept]
        cpu = time.process_time()
        fresh(batch, copies_leaves=True)
        copies.append(time.process_time() - cpu)
        del batch
        wall, cpu = time.perf_counter(), time.process_time()
        batch = collate(examples)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "batch_bytes": size,
        "collate_s": walls,
        "collate_cpu_s": cpus,
        "copy_cpu_s": copies,
    }


def _window(
    arrivals: Sequence[float], warm_batches: int, *, wave: int, most: int
) -> int:
    """Return how many batches last as long as the window, in whole waves.

    Args:
        arrivals: of the batches so far.
        warm_batches: that their time is not told by.
        wave: batches that arrive together.
        most: batches that are left.
    """
    first = min(warm_batches, len(arrivals) - 1)
    batches = max(1, len(arrivals) - 1 - first)
    batch_s = (arrivals[-1] - arrivals[first]) / batches
    waves = max(1, round(WINDOW_S / max(batch_s * wave, 1e-6)))
    return min(waves, most // wave) * wave


def _workers_cpu_s() -> float:
    """Return the CPU seconds of this process's children so far."""
    return sum(child.user_s + child.system_s for child in children_of(os.getpid()))
