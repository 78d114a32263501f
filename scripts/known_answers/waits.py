"""Known answer: examples that wait, so that workers deliver in exact proportion.

An example waits 10 ms and computes nothing, so W workers deliver W times what one
process does. A window that cuts a wave would be off by up to a wave. As in a study, the
first reading only says how long the next have to be: four waves of 16 workers last a
third of a second at a batch of 8, and the arrivals at its ends scatter by 10 ms.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from opening import opened
from result import Answer

from autoloader.measure.planning import plan_pass
from autoloader.measure.throughput import steady_rate
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from autoloader.values.outcome import Reading

WORKERS = (1, 4, 16)
BATCHES = (8, 16, 64)
TOLERANCE = 0.03


def answer(quick: bool = False) -> Answer:
    """Return the steady rates beside what they must be."""
    lines = ["workers  batch  examples/s  expected  ratio"]
    holds = True
    with opened("waiting", examples=400) as workload:
        facts = workload.reference.facts
        for workers in WORKERS:
            for size in BATCHES:
                config = LoaderConfig.canonical(num_workers=workers, batch_size=size)
                verdict = workload.gate(config)
                known: Reading | None = None
                readings: list[Reading] = []
                for _ in range(2 if quick else 4):
                    plan = plan_pass(
                        config,
                        facts=facts,
                        scope=workload.reference.scope,
                        cpus=64.0,
                        limit_s=30.0,
                        known=known,
                    )
                    known = workload.time(config, verdict, plan)
                    readings.append(known)
                rates = [steady_rate(reading) for reading in readings[1:]]
                expected = workers / facts.example_s
                ratio = median(rates) / expected
                holds &= abs(ratio - 1) <= TOLERANCE
                lines.append(
                    f"{workers:7d}  {size:5d}  {median(rates):10.1f}  "
                    f"{expected:8.1f}  {ratio:.3f}"
                )
    return Answer(
        title=f"examples that wait: workers / {facts.example_s * 1000:.2f} ms, "
        f"within {TOLERANCE:.0%}",
        lines=tuple(lines),
        holds=holds,
    )


if __name__ == "__main__":
    answer().print()
