"""Needs: what two workers took foretells what one, four and eight take.

    python scripts/known_answers/needs.py

CPU seconds and bytes read of an example, and memory, are worked out of a loader with
two workers (and, for memory, one without) as a recommendation does. The same are then
measured with other numbers of workers. More workers than CPUs share them: their CPU
time tells whether switching and hyper-threads stay within what is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from opening import Opened, opened
from result import Answer

from autoloader.errors import DataError
from autoloader.export.needs_section import needs_section
from autoloader.measure.needs import NeedsBasis, memory_of_rank
from autoloader.measure.planning import wave_plan
from autoloader.measure.stage_costs import cpu_s_per_example
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.values.outcome import MemoryReading, Reading

NEEDING = Path(__file__).with_name("needing.py")
NEAR = 0.15
"""Part by which a figure may differ from what was foretold."""

BATCH = 32
KNOWN = 2
"""Workers that are measured first."""
FORETOLD = (1, 4, 8)
WAVES = 24
"""Waves of a reading: CPU time of workers is told in steps of 10 ms."""
READINGS = 5


@dataclass(frozen=True)
class Taken:
    """What a config took."""

    cpu_s: float
    read_bytes: float
    memory_bytes: float


def answer(*, quick: bool = False) -> Answer:
    """Return what was foretold beside what was measured.

    Args:
        quick: whether one reading and one number of workers are enough.
    """
    lines, holds = [_head()], True
    foretelling = FORETOLD[:1] if quick else FORETOLD
    with opened("Files", file=NEEDING, examples=1024) as workload:
        readings = _in_turns(
            workload, (KNOWN, *foretelling), rounds=1 if quick else READINGS
        )
        basis = _basis(workload, readings[KNOWN])
        for workers in foretelling:
            taken = _taken(workload, workers, readings[workers])
            foretold = Taken(
                cpu_s=basis.cpu_s_per_example,
                read_bytes=basis.read_bytes_per_example or 0.0,
                memory_bytes=memory_of_rank(basis, workers) or 0.0,
            )
            for name, before, now in (
                ("CPU us", foretold.cpu_s * 1e6, taken.cpu_s * 1e6),
                ("bytes read", foretold.read_bytes, taken.read_bytes),
                ("memory MB", foretold.memory_bytes / 1e6, taken.memory_bytes / 1e6),
            ):
                off = now / before - 1 if before else float("inf")
                lines.append(
                    f"{workers:>8}  {name:<12}{before:>12,.0f}{now:>12,.0f}{off:>+8.1%}"
                )
                holds = holds and abs(off) <= NEAR
    return Answer(
        title=f"needs: within {NEAR:.0%} of what two workers foretell",
        lines=tuple(lines),
        holds=holds,
    )


def _basis(workload: Opened, readings: list[Reading]) -> NeedsBasis:
    """Return what a recommendation of two workers would say."""
    chosen, alone = _config(KNOWN), _config(0)
    section = needs_section(
        chosen,
        readings,
        facts=workload.reference.facts,
        outcomes=(),
        memory={item: _weighed(workload, item) for item in (alone, chosen)},
    )
    return NeedsBasis.from_dict(section)


def _taken(workload: Opened, workers: int, found: list[Reading]) -> Taken:
    """Return what a config takes.

    Raises:
        DataError: the system does not tell it.
    """
    cpu = [value for item in found if (value := cpu_s_per_example(item)) is not None]
    read = [
        item.read_bytes / sum(item.counts)
        for item in found
        if item.read_bytes is not None
    ]
    if not cpu or not read:
        msg = "this system does not tell CPU time or bytes of processes"
        raise DataError(msg)
    return Taken(
        cpu_s=median(cpu),
        read_bytes=median(read),
        memory_bytes=float(_weighed(workload, _config(workers)).full_queue_bytes),
    )


def _config(workers: int) -> LoaderConfig:
    return LoaderConfig.canonical(num_workers=workers, batch_size=BATCH)


def _in_turns(
    workload: Opened, workers: tuple[int, ...], *, rounds: int
) -> dict[int, list[Reading]]:
    """Return readings of each number of workers: what others do meanwhile meets all."""
    verdicts = {count: workload.gate(_config(count)) for count in workers}
    found: dict[int, list[Reading]] = {count: [] for count in workers}
    for number in range(rounds):
        for count in workers if number % 2 == 0 else workers[::-1]:
            plan = wave_plan(count, WAVES)
            found[count].append(workload.time(_config(count), verdicts[count], plan))
    return found


def _weighed(workload: Opened, config: LoaderConfig) -> MemoryReading:
    """Return what a config takes with its queue full.

    Raises:
        DataError: the pass failed.
    """
    found = workload.runner.weigh(config, examples=0)
    if isinstance(found, Failure):
        raise DataError(found.message)
    return found


def _head() -> str:
    return f"{'workers':>8}  {'':<12}{'foretold':>12}{'measured':>12}{'off':>8}"


if __name__ == "__main__":
    answer().print()
