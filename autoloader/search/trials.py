"""Run one trial: gate, then memory, then speed; stop at the first that says no.

The order is the product's promise: what is wrong is never measured.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.measure.planning import START_S, expected_example_s
from autoloader.search.moments import begun_now
from autoloader.search.prediction import cannot_fit, need_of
from autoloader.units import format_bytes
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from autoloader.values.scope import GATE_EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.search.stopwatch import Stopwatch
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import TrialRunner

PROCESS_BYTES = 512 << 20
"""Memory that a process is taken to have beside its batches, until one was weighed."""

FILLING_SHARE = 0.5
"""Part of a timed pass's longest time that filling a queue may take for it to be
weighed in the search. Twenty workers of a store, which take longer to start and fill
their queue than to read an epoch, are weighed when they are verified."""

LEAST_BATCHES = 2
"""Batches of each worker that a trial is gated on, however slow they are."""


def run_trial(
    stopwatch: Stopwatch,
    config: LoaderConfig,
    *,
    number: int,
    source: str,
    memory_bytes: int | None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Return what came of trying a config.

    Args:
        stopwatch: takes the readings; its runner runs the other passes.
        config: what is tried.
        number: place in the study.
        source: who proposed it.
        memory_bytes: budget; a config beyond it is `out_of_memory`.
        clock: seconds, for the trial's own duration.
    """
    begun, moment = clock(), begun_now(stopwatch.moment())
    runner = stopwatch.runner
    passes = _Passes(runner, stopwatch, config, memory_bytes)
    failure = unfit(config, stopwatch, memory_bytes)
    if failure is None:
        failure = passes.run()
    if failure is not None:
        status = failure.status
    elif passes.readings:
        status = Status.MEASURED
    else:
        status = Status.REFUSED
    return Outcome(
        number=number,
        config=config,
        status=status,
        source=source,
        isolation=runner.isolation,
        seconds=clock() - begun,
        start_method=runner.start_method if config.num_workers else None,
        verdict=passes.verdict,
        readings=passes.readings,
        memory=passes.memory,
        failure=failure,
        **moment,
    )


def unfit(
    config: LoaderConfig, stopwatch: Stopwatch, memory_bytes: int | None
) -> Failure | None:
    """Return why a config must not be started now; None where its batches fit."""
    return cannot_fit(
        config,
        facts=stopwatch.facts,
        machine=stopwatch.machine,
        memory_bytes=memory_bytes,
        shm_free_bytes=stopwatch.shm_free_bytes,
        ranks=stopwatch.at_once,
    )


@dataclass(slots=True)
class _Passes:
    """What the passes of one trial have brought so far."""

    runner: TrialRunner
    stopwatch: Stopwatch
    config: LoaderConfig
    memory_bytes: int | None
    verdict: Verdict | None = None
    memory: MemoryReading | None = None
    readings: tuple[Reading, ...] = ()

    def run(self) -> Failure | None:
        """Gate, weigh and time the config; return what ended it early."""
        gated = self.runner.gate(
            self.config, examples=gate_examples(self.config, self.stopwatch)
        )
        if isinstance(gated, Failure):
            return gated
        self.verdict = gated
        if not gated.passed:
            return None
        failure = self._weigh()
        if failure is not None:
            return failure
        timed = self.stopwatch.take(self.config, verdict=gated, purpose="search")
        if isinstance(timed, Failure):
            return timed
        self.readings = timed
        return None

    def _weigh(self) -> Failure | None:
        """Weigh the config where memory may be short, or where that is quickly done."""
        filling_s = filling_time_s(self.config, self.stopwatch)
        is_long = filling_s > FILLING_SHARE * self.stopwatch.limit_s
        if is_long and not self._is_near_the_budget():
            return None
        weighed = self.runner.weigh(self.config, examples=0)
        if isinstance(weighed, Failure):
            return weighed
        self.memory = weighed
        return over_budget(weighed, self.memory_bytes)

    def _is_near_the_budget(self) -> bool:
        """Whether the config may take half of the memory it is allowed, or more."""
        if self.memory_bytes is None:
            return False
        processes = (self.config.num_workers + 1) * PROCESS_BYTES
        batches = need_of(self.config, self.stopwatch.facts).total_bytes
        return 2 * self.stopwatch.at_once * (processes + batches) > self.memory_bytes


def filling_time_s(config: LoaderConfig, stopwatch: Stopwatch) -> float:
    """Return the seconds in which workers start and fill the queue, by their costs."""
    size = config.batch_size or stopwatch.facts.batch_examples
    example_s = expected_example_s(config, facts=stopwatch.facts, cpus=stopwatch.cpus)
    batches = 1 + config.num_workers * (config.prefetch_factor or 0)
    return config.num_workers * START_S + batches * size * example_s


def gate_examples(config: LoaderConfig, stopwatch: Stopwatch) -> int:
    """Return the examples an epoch that a trial of the search is gated on.

    As many as two epochs read in the time of a pass, `GATE_EXAMPLES` at most, and at
    least `LEAST_BATCHES` for each worker within that. What is recommended is verified
    whole.
    """
    size = config.batch_size or stopwatch.facts.batch_examples
    example_s = expected_example_s(config, facts=stopwatch.facts, cpus=stopwatch.cpus)
    affordable = int(stopwatch.limit_s / 2 / max(example_s, 1e-9))
    least = math.ceil(size * max(config.num_workers, 1)) * LEAST_BATCHES
    return min(GATE_EXAMPLES, max(affordable, least))


def over_budget(memory: MemoryReading, memory_bytes: int | None) -> Failure | None:
    """Return the failure of a config that takes more than it may, else None."""
    if memory_bytes is None or memory.peak_bytes <= memory_bytes:
        return None
    return Failure(
        kind="out_of_memory",
        phase="memory",
        message=(
            f"it takes {format_bytes(memory.peak_bytes)}, "
            f"the budget is {format_bytes(memory_bytes)}"
        ),
        hint="raise --memory, or allow fewer workers",
    )
