"""Known answer: epochs of 20 s with workers that need 0.5 s to start.

A timed pass of a second foretells the rate of the whole epoch, start and end included;
a plain loop then takes that epoch. Whole rounds of both, so that both meet the same
minutes of the machine.
"""

from __future__ import annotations

from statistics import median

from opening import WORKLOADS, opened
from plain import PlainLoop
from result import Answer

from autoloader.measure.planning import wave_plan
from autoloader.measure.throughput import epoch_rate
from autoloader.values.config import LoaderConfig

WORKERS = 4
LENGTH = 7760
"""Examples of an epoch: 20 s for four workers and 10.3 ms an example."""
TOLERANCE = 0.03


def answer(quick: bool = False) -> Answer:
    """Return predicted and real epoch rates, workers kept and not."""
    lines = ["kept   predicted  real epoch  ratio  (examples/s, medians of rounds)"]
    holds = True
    configs = [
        LoaderConfig.canonical(
            num_workers=WORKERS, batch_size=16, persistent_workers=kept
        )
        for kept in (False, True)
    ]
    found: dict[LoaderConfig, list[tuple[float, float]]] = {
        item: [] for item in configs
    }
    with (
        opened("slow_start", examples=400, length=LENGTH) as workload,
        PlainLoop(WORKLOADS, "slow_start", length=LENGTH) as plain,
    ):
        verdicts = {config: workload.gate(config) for config in configs}
        for _ in range(1 if quick else 3):
            for config in configs:
                reading = workload.time(config, verdicts[config], wave_plan(WORKERS))
                found[config].append((epoch_rate(reading), plain.epoch(config)))
    for config, pairs in found.items():
        predicted = median([pair[0] for pair in pairs])
        real = median([pair[1] for pair in pairs])
        ratio = median([mine / its for mine, its in pairs])
        holds &= abs(ratio - 1) <= TOLERANCE
        lines.append(
            f"{'yes' if config.persistent_workers else 'no':5s}  {predicted:9.1f}  "
            f"{real:10.1f}  {ratio:.3f}"
        )
    return Answer(
        title="workers that need 0.5 s to start, epochs of 20 s: predicted epoch rate "
        f"within {TOLERANCE:.0%} of a real one",
        lines=tuple(lines),
        holds=holds,
    )


if __name__ == "__main__":
    answer().print()
