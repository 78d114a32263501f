"""Run one trial: gate, then memory, then speed; stop at the first that says no.

The order is the product's promise: what is wrong is never measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.search.prediction import cannot_fit, shm_free_now
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
    begun = clock()
    runner = stopwatch.runner
    passes = _Passes(runner, stopwatch, config, memory_bytes)
    failure = cannot_fit(
        config,
        facts=stopwatch.facts,
        machine=stopwatch.machine,
        memory_bytes=memory_bytes,
        shm_free_bytes=shm_free_now,
    )
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
        gated = self.runner.gate(self.config, examples=GATE_EXAMPLES)
        if isinstance(gated, Failure):
            return gated
        self.verdict = gated
        if not gated.passed:
            return None
        weighed = self.runner.weigh(self.config, examples=0)
        if isinstance(weighed, Failure):
            return weighed
        self.memory = weighed
        too_large = over_budget(weighed, self.memory_bytes)
        if too_large is not None:
            return too_large
        timed = self.stopwatch.take(self.config, verdict=gated, purpose="search")
        if isinstance(timed, Failure):
            return timed
        self.readings = timed
        return None


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
