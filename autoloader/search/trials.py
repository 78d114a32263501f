"""Run one trial: gate, then memory, then speed; stop at the first that says no.

The order is the product's promise: what is wrong is never measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from autoloader.search.prediction import cannot_fit
from autoloader.units import format_bytes
from autoloader.values.config import LoaderConfig
from autoloader.values.job import TrialRunner
from autoloader.values.machine import Machine
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from autoloader.values.scope import GATE_EXAMPLES, DatasetFacts


def run_trial(
    runner: TrialRunner,
    config: LoaderConfig,
    *,
    number: int,
    source: str,
    facts: DatasetFacts,
    machine: Machine,
    memory_bytes: int | None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Return what came of trying a config.

    Args:
        runner: runs the passes.
        config: what is tried.
        number: place in the study.
        source: who proposed it.
        facts: the dataset, for predictions.
        machine: limits, for predictions.
        memory_bytes: budget; a config beyond it is `out_of_memory`.
        clock: seconds, for the trial's own duration.
    """
    begun = clock()
    verdict: Verdict | None = None
    memory: MemoryReading | None = None
    readings: tuple[Reading, ...] = ()
    failure = cannot_fit(
        config, facts=facts, machine=machine, memory_bytes=memory_bytes
    )
    status = failure.status if failure is not None else Status.MEASURED
    if failure is None:
        gated = runner.gate(config, examples=GATE_EXAMPLES)
        if isinstance(gated, Failure):
            failure = gated
        else:
            verdict = gated
            if not verdict.passed:
                status = Status.REFUSED
    if failure is None and status is Status.MEASURED:
        weighed = runner.weigh(config, examples=0)
        if isinstance(weighed, Failure):
            failure = weighed
        else:
            memory = weighed
            failure = over_budget(memory, memory_bytes)
    if failure is None and status is Status.MEASURED:
        assert verdict is not None
        timed = runner.time(config, verdict=verdict, purpose="search")
        if isinstance(timed, Failure):
            failure = timed
        else:
            readings = (timed,)
    if failure is not None:
        status = failure.status
    return Outcome(
        number=number,
        config=config,
        status=status,
        source=source,
        isolation=runner.isolation,
        seconds=clock() - begun,
        verdict=verdict,
        readings=readings,
        memory=memory,
        failure=failure,
    )


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
