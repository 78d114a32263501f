"""What an example costs, stage by stage, worked out of stored readings.

Pure: values of a study in, seconds of one example out. Which stage limits is said in
`measure.limits`, what a target takes in `measure.needs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from autoloader.values.decode import Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.ceiling import CeilingReading
    from autoloader.values.outcome import Reading
    from autoloader.values.scope import DatasetFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsByStage(Stored):
    """Seconds of one example in each stage; None: not measured."""

    reading_s: float
    """Access and transform, in one process."""
    reading_cpu_s: float
    """CPU seconds of them, all threads."""
    collate_s: float | None
    """Its part of a collate, in one process."""
    collate_cpu_s: float | None
    """CPU seconds of that."""
    copy_cpu_s: float | None = None
    """Part of its collate that a plain copy of the batch takes: it belongs to the way
    of a batch, for no collate_fn can do without."""
    handover_cpu_s: float | None
    """CPU seconds of the worker to send its part of a batch, collate left out."""
    takeover_cpu_s: float | None
    """CPU seconds of the training process to take it over; of a loader without workers
    there is neither."""

    @property
    def stages_cpu_s(self) -> dict[str, float]:
        """CPU seconds by stage, of those that were measured."""
        collate, copy = self.collate_cpu_s, None
        if collate is not None and self.copy_cpu_s is not None:
            copy = min(collate, self.copy_cpu_s)
            collate -= copy
        found = {
            "transform": self.reading_cpu_s,
            "collate": collate,
            "hand-over": _sum(self.handover_cpu_s, self.takeover_cpu_s, copy),
        }
        return {name: value for name, value in found.items() if value is not None}


def stage_costs(
    facts: DatasetFacts, ceilings: Sequence[CeilingReading]
) -> CostsByStage:
    """Return what an example costs.

    Args:
        facts: what the reference measured.
        ceilings: passes over cached examples; the hand-over is told by those with
            workers, of which the fewest are the least disturbed by each other.
    """
    walls = [item for found in ceilings for item in _per_example(found, "collate_s")]
    cpus = [item for found in ceilings for item in _per_example(found, "collate_cpu_s")]
    collate_cpu_s = median(cpus) if cpus else None
    copies = [item for found in ceilings for item in _per_example(found, "copy_cpu_s")]
    served = min(
        (item for item in ceilings if item.num_workers),
        key=lambda item: item.num_workers,
        default=None,
    )
    handover_cpu_s = takeover_cpu_s = None
    if served is not None:
        examples = window_examples(served)
        takeover_cpu_s = served.main_cpu_s / examples
        sent = served.workers_cpu_s / examples - (collate_cpu_s or 0.0)
        handover_cpu_s = max(0.0, sent)
    return CostsByStage(
        reading_s=facts.example_s,
        reading_cpu_s=facts.example_cpu_s,
        collate_s=median(walls) if walls else None,
        collate_cpu_s=collate_cpu_s,
        copy_cpu_s=median(copies) if copies else None,
        handover_cpu_s=handover_cpu_s,
        takeover_cpu_s=takeover_cpu_s,
    )


def window_examples(reading: CeilingReading) -> float:
    """Return the examples of a ceiling's window."""
    return reading.window_batches * reading.batch_examples


def cached_rate(reading: CeilingReading) -> float:
    """Return the examples a second of a loader to which examples are free."""
    before = len(reading.arrivals_s) - reading.window_batches - 1
    window_s = reading.arrivals_s[-1] - reading.arrivals_s[before]
    return window_examples(reading) / max(window_s, 1e-9)


def cpu_s_per_example(reading: Reading) -> float | None:
    """Return the CPU seconds of trial and workers an example; None without any.

    Start and end of the workers are in it, as they are in an epoch.
    """
    examples = sum(reading.counts)
    if not examples or not reading.own_cpu:
        return None
    return reading.own_cpu * reading.total_s / examples


def _per_example(reading: CeilingReading, name: str) -> list[float]:
    taken: tuple[float, ...] = getattr(reading, name)
    return [value / reading.batch_examples for value in taken]


def _sum(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
