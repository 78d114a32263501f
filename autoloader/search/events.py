"""Run a simulated loader by discrete events: when each batch arrives.

Tasks go round robin to the workers' own queues, as many as PyTorch's iterator keeps
outstanding; workers wait, take turns at one store and share the cores; the main process
takes batches over as they come and delivers them in order. What batches cost is drawn
by `search.batch_costs`; nothing else is random.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from autoloader.search.batch_costs import Draws, Work, work_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.simulated import SimulatedLoader
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPass:
    """What a timed pass saw, in seconds since `iter(loader)`."""

    arrivals_s: tuple[float, ...]
    """Arrival of each batch."""
    counts: tuple[int, ...]
    """Examples of each batch."""
    epoch_ends_s: tuple[float, ...]
    """End of each epoch; empty where the plan asked for batches."""
    total_s: float
    """End of the pass, workers shut down."""
    cpu_s: float
    """CPU seconds of all processes."""


def simulate(
    loader: SimulatedLoader,
    config: LoaderConfig,
    plan: PassPlan,
    *,
    epoch_counts: Sequence[int] = (),
    batch_examples: int = 1,
    draws: Draws | None = None,
) -> SimulatedPass:
    """Return what a timed pass of a config sees.

    Kept workers run already when it begins, as in the second epoch of a real pass.

    Args:
        loader: what examples cost.
        config: settings of the loader.
        plan: batches, or whole epochs, to read.
        epoch_counts: examples of each batch of an epoch, where epochs are read.
        batch_examples: examples of a batch where the config does not say.
        draws: how the costs are drawn; None: as the first pass of seed 0.
    """
    size = config.batch_size or batch_examples
    counts = tuple(epoch_counts) * plan.epochs if plan.epochs else (size,) * plan.total
    work = work_of(loader, size, counts, draws or Draws())
    each = len(epoch_counts) if plan.epochs else len(counts)
    arrivals: list[float] = []
    ends: list[float] = []
    begin_s = cpu_s = 0.0
    for first in range(0, len(counts), each):
        epoch = _Epoch(loader, config, work, range(first, first + each))
        end_s = epoch.run() if config.num_workers else epoch.run_alone()
        arrivals += [begin_s + arrival for arrival in epoch.arrivals]
        begin_s += end_s
        cpu_s += epoch.cpu_s
        ends.append(begin_s)
    return SimulatedPass(
        arrivals_s=tuple(arrivals),
        counts=counts,
        epoch_ends_s=tuple(ends) if plan.epochs else (),
        total_s=begin_s,
        cpu_s=cpu_s,
    )


class _Cores:
    """CPU work that is shared out evenly, each getting one core at most."""

    def __init__(self, cores: float, switching: float) -> None:
        self._cores = cores
        self._switching = switching
        self._jobs: list[tuple[float, int, int]] = []
        self._order = count()
        self._served_s = 0.0  # CPU seconds that a job has had that began at 0
        self._since_s = 0.0
        self._rate = 1.0

    def add(self, now_s: float, cpu_s: float, job: int) -> None:
        """Let a job run for so many CPU seconds."""
        self._served_s += (now_s - self._since_s) * self._rate
        self._since_s = now_s
        heapq.heappush(self._jobs, (self._served_s + cpu_s, next(self._order), job))
        self._share()

    def next_s(self) -> float:
        """Return when the next job ends; infinity: none runs."""
        if not self._jobs:
            return math.inf
        return self._since_s + (self._jobs[0][0] - self._served_s) / self._rate

    def pop(self, now_s: float) -> int:
        """Return the job that ends now."""
        self._served_s, _order, job = heapq.heappop(self._jobs)
        self._since_s = now_s
        self._share()
        return job

    def _share(self) -> None:
        """Work out how fast each job runs from now on."""
        running = len(self._jobs)
        crowd = max(0.0, running / max(self._cores, 1.0) - 1)
        shared = max(running / self._cores, 1.0)
        self._rate = 1 / (shared * (1 + self._switching * crowd))


_FORK, _TAKE = -1, -2
"""Jobs of the main process; those of worker k are k."""

_CONSUMED = -1
"""A moment of the main process at which it asks for the next batch."""


@dataclass(slots=True)
class _Epoch:
    """One epoch as PyTorch's iterator runs it."""

    loader: SimulatedLoader
    config: LoaderConfig
    work: Work
    batches: range
    """Which batches of the work."""
    arrivals: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    _now_s: float = 0.0
    _store_free_s: float = 0.0
    _at_store: int = 0
    _forked: int = 0
    _sent: int = 0
    _received: int = 0
    _taking: int | None = None
    """Batch that is being taken over; None: who takes over is free."""
    _is_waiting: bool = False
    """Whether the main process stands in `next`."""
    _queues: list[deque[int]] = field(default_factory=list)
    _making: list[int | None] = field(default_factory=list)
    _is_up: list[bool] = field(default_factory=list)
    _made: deque[int] = field(default_factory=deque)
    _ready: set[int] = field(default_factory=set)
    _timers: list[tuple[float, int, int, bool]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)
    _cores: _Cores = field(init=False)

    def __post_init__(self) -> None:
        """Prepare workers that have nothing to do yet."""
        workers = self.config.num_workers
        self._cores = _Cores(self.loader.cores, self.loader.switching)
        self._queues = [deque() for _ in range(workers)]
        self._making = [None] * workers
        self._is_up = [self.config.persistent_workers] * workers

    def run_alone(self) -> float:
        """Return when the main process has made all batches by itself."""
        loader, work = self.loader, self.work
        slow = max(1.0, 1 / loader.cores)
        now_s = 0.0
        for batch in self.batches:
            examples = work.counts[batch]
            cpu_s = work.cpu_s[batch]
            if self.config.pin_memory:
                cpu_s += examples * loader.example_bytes / loader.pin_bytes_per_s
            now_s += work.wait_s[batch] + loader.store_s * examples + cpu_s * slow
            self.cpu_s += cpu_s
            self.arrivals.append(now_s)
            now_s += self._consume_s(examples)
        return now_s

    def run(self) -> float:
        """Return when all batches have arrived and the workers have ended."""
        workers = self.config.num_workers
        if self.config.persistent_workers:
            self._forked = workers
            self._begin()
        else:
            self._run_cpu(self.loader.fork_s, _FORK)
        while len(self.arrivals) < len(self.batches) or not self._is_waiting:
            timer_s = self._timers[0][0] if self._timers else math.inf
            cpu_s = self._cores.next_s()
            if cpu_s <= timer_s:
                self._now_s = cpu_s
                self._on_cpu(self._cores.pop(cpu_s))
            else:
                self._now_s, _order, who, is_store = heapq.heappop(self._timers)
                self._on_timer(who, is_store=is_store)
        ending_s = 0.0 if self.config.persistent_workers else self.loader.end_s
        return self._now_s + ending_s * workers

    def _begin(self) -> None:
        """Hand out the first tasks and ask for the first batch."""
        for _ in range((self.config.prefetch_factor or 0) * self.config.num_workers):
            self._put_index()
        self._ask()

    def _put_index(self) -> None:
        if self._sent < len(self.batches):
            worker = self._sent % self.config.num_workers
            self._queues[worker].append(self._sent)
            self._sent += 1
            self._make(worker)

    def _on_cpu(self, job: int) -> None:
        if job == _TAKE:
            self._took()
        elif job == _FORK:
            self._run_cpu(self.loader.start_s, self._forked)
            self._forked += 1
            if self._forked < self.config.num_workers:
                self._run_cpu(self.loader.fork_s, _FORK)
            else:
                self._begin()
        elif not self._is_up[job]:
            self._is_up[job] = True
            self._make(job)
        else:
            self._made_one(job)

    def _on_timer(self, who: int, *, is_store: bool) -> None:
        if who == _CONSUMED:
            self._ask()
        elif is_store:
            self._at_store -= 1
            self._compute(who)
        else:
            self._visit_store(who)

    def _make(self, worker: int) -> None:
        """Let a worker take its next task, where it has one and is free."""
        if not self._is_up[worker] or self._making[worker] is not None:
            return
        if self._queues[worker]:
            batch = self._queues[worker].popleft()
            self._making[worker] = batch
            wait_s = self.work.wait_s[self.batches[batch]]
            if wait_s:
                self._set_timer(self._now_s + wait_s, worker)
            else:
                self._visit_store(worker)

    def _visit_store(self, worker: int) -> None:
        """Let a worker stand in line at the store."""
        loader = self.loader
        if not loader.store_s:
            self._compute(worker)
            return
        crowded = 1 + loader.store_crowding * self._at_store
        examples = self._examples(self._batch_of(worker))
        begun_s = max(self._now_s, self._store_free_s)
        self._store_free_s = begun_s + loader.store_s * examples * crowded
        self._at_store += 1
        self._set_timer(self._store_free_s, worker, is_store=True)

    def _compute(self, worker: int) -> None:
        self._run_cpu(self.work.cpu_s[self.batches[self._batch_of(worker)]], worker)

    def _made_one(self, worker: int) -> None:
        self._made.append(self._batch_of(worker))
        self._making[worker] = None
        self._make(worker)
        if self.config.pin_memory:
            self._take_over()
        elif self._is_waiting:
            self._ask()

    def _take_over(self) -> None:
        """Begin to take over the next batch that is made, where nobody does."""
        if self._taking is None and self._made:
            self._taking = self._made.popleft()
            examples = self._examples(self._taking)
            pinned = self.config.pin_memory
            self._run_cpu(self.loader.taking_s(examples, pinned=pinned), _TAKE)

    def _took(self) -> None:
        if self._taking is not None:
            self._ready.add(self._taking)
        self._taking = None
        if self.config.pin_memory:
            self._take_over()  # a thread of its own goes on
        if self._is_waiting:
            self._ask()

    def _ask(self) -> None:
        """Stand in `next`: deliver the batch whose turn it is, or wait for it."""
        self._is_waiting = True
        while self._received in self._ready:
            self._ready.discard(self._received)
            examples = self._examples(self._received)
            self._received += 1
            self._put_index()
            self.arrivals.append(self._now_s)
            consume_s = self._consume_s(examples)
            if consume_s:
                self._is_waiting = False
                self._set_timer(self._now_s + consume_s, _CONSUMED)
                return
        self._take_over()

    def _consume_s(self, examples: int) -> float:
        loader = self.loader
        left = loader.consume_pinned if self.config.pin_memory else 1.0
        return loader.consume_s * examples * left

    def _examples(self, batch: int) -> int:
        return self.work.counts[self.batches[batch]]

    def _batch_of(self, worker: int) -> int:
        batch = self._making[worker]
        return -1 if batch is None else batch

    def _run_cpu(self, cpu_s: float, job: int) -> None:
        self.cpu_s += cpu_s
        self._cores.add(self._now_s, cpu_s, job)

    def _set_timer(self, at_s: float, who: int, *, is_store: bool = False) -> None:
        heapq.heappush(self._timers, (at_s, next(self._order), who, is_store))
