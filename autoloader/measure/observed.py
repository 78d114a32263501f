"""What a study saw of a loader, gathered for the one question of what limits it.

Pure: readings and costs in, medians out. Which limit they speak for is said in
`measure.limits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from autoloader.measure.intervals import quantile
from autoloader.measure.noise import BUSY_SHARE, taken_cpu
from autoloader.measure.stage_costs import (
    CostsByStage,
    cached_rate,
    cpu_s_per_example,
)
from autoloader.measure.throughput import epoch_rate, steady_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.values.ceiling import CeilingReading
    from autoloader.values.outcome import Reading


ALONE = 4.0
"""Wall seconds for each CPU second of reading, in one process, from which on it waits
for something else than a CPU: others that compute as well make it two or three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a study saw of a loader."""

    cpus: float
    """CPUs that it may use."""
    costs: CostsByStage
    """Of one example, in one process."""
    readings: Mapping[int, tuple[Reading, ...]]
    """Readings that count, by number of workers, of the chosen batch size."""
    ceilings: tuple[CeilingReading, ...] = ()
    """Passes over examples that are free."""
    least_workers: int = 0
    """Fewest that were allowed; others may have been read for comparison."""
    most_workers: int
    """Most that were allowed."""
    reads_bytes: bool
    """Whether files or connections were seen in use while examples were read."""
    step_s: float | None = None
    """Seconds that the training step takes for an example; None: there is none."""
    compute_growth: float | None = None
    """Factor by which plain computing slows when a loader's processes compute at
    once; None: not probed."""
    machine_cpus: float | None = None
    """CPUs of the whole machine, other programs' too; None: these are not looked at."""

    def __post_init__(self) -> None:
        """Check that something was read."""
        if not any(self.readings.values()):
            msg = "a limit needs at least one reading"
            raise ValueError(msg)

    @property
    def rates(self) -> dict[int, float]:
        """Median steady rate by number of workers."""
        return {
            workers: median(map(steady_rate, found))
            for workers, found in sorted(self.readings.items())
            if found
        }

    @property
    def epoch_rates(self) -> dict[int, float]:
        """Median epoch rate by number of workers, start and end included."""
        return {
            workers: median(map(epoch_rate, found))
            for workers, found in sorted(self.readings.items())
            if found
        }

    @property
    def fastest(self) -> int:
        """Number of workers with the highest epoch rate, of those that were allowed."""
        rates = self.epoch_rates
        allowed = [count for count in rates if self.least_workers <= count]
        return max(allowed or rates, key=rates.__getitem__)

    @property
    def used_cpus(self) -> float:
        """CPU seconds a second that the fastest config took."""
        return self._used_cpus_with(self.fastest)

    @property
    def reached(self) -> float:
        """Epoch rate that the fastest config reached: upper quartile of its readings.

        What disturbs a reading slows it, so that a machine is better than its median.
        """
        return self._reached_with(self.fastest)

    @property
    def reached_by_all_cpus(self) -> float:
        """Epoch rate that the CPUs allow, were all of them used.

        By the config that used most of them: what it left idle, processes that wait for
        each other cannot use, and little is left to be extrapolated. At least what the
        fastest reached.
        """
        busiest = max(self.rates, key=self._used_cpus_with)
        used = self._used_cpus_with(busiest)
        growth = max(1.0, self.cpus / used) if used else 0.0
        return max(self.reached, self._reached_with(busiest) * growth)

    @property
    def taken_cpus(self) -> float:
        """CPU seconds a second that others had meanwhile; 0 where nobody looked."""
        if self.machine_cpus is None:
            return 0.0
        return median(map(taken_cpu, self.readings[self.fastest]))

    @property
    def most_taken_cpus(self) -> float:
        """CPU seconds a second that others had, at the worst number of workers."""
        if self.machine_cpus is None:
            return 0.0
        return max(
            median(map(taken_cpu, found)) for found in self.readings.values() if found
        )

    @property
    def is_disturbed(self) -> bool:
        """Whether others had so much that numbers of workers cannot be compared."""
        cpus = self.machine_cpus
        return cpus is not None and self.most_taken_cpus > BUSY_SHARE * cpus

    @property
    def left_cpus(self) -> float:
        """CPUs that others left to the fastest config."""
        if self.machine_cpus is None:
            return self.cpus
        return max(0.0, min(self.cpus, self.machine_cpus - self.taken_cpus))

    @property
    def waits_alone(self) -> bool:
        """Whether one process waits for most of its reading, and not for a CPU."""
        return self.costs.reading_s >= ALONE * max(self.costs.reading_cpu_s, 1e-9)

    @property
    def cached(self) -> CeilingReading | None:
        """The fastest pass over free examples with workers, else without any.

        A config without workers reads by itself: where it is the fastest, what keeps
        workers from gaining is seen with workers.
        """
        served = [item for item in self.ceilings if item.num_workers]
        return max(served or self.ceilings, key=cached_rate, default=None)

    def cpu_s_with(self, workers: int) -> float:
        """Return the CPU seconds of an example with so many workers; 0: not told."""
        found = map(cpu_s_per_example, self.readings.get(workers, ()))
        known = [value for value in found if value is not None]
        return median(known) if known else 0.0

    def _used_cpus_with(self, workers: int) -> float:
        """Return the CPU seconds a second that so many workers took."""
        return median(item.own_cpu for item in self.readings[workers])

    def _reached_with(self, workers: int) -> float:
        """Return the upper quartile of the epoch rates of so many workers."""
        return quantile(sorted(map(epoch_rate, self.readings[workers])), 0.75)
