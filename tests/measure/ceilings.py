"""Readings of loaders that never ran, of known rates and costs."""

from __future__ import annotations

from autoloader.measure.observed import Observed
from autoloader.measure.stage_costs import CostsByStage
from autoloader.values.ceiling import CeilingReading
from autoloader.values.outcome import Reading


def ceiling(
    rate: float,
    *,
    workers: int = 2,
    collate_s: float = 0.0001,
    main_s: float = 0.0001,
    workers_s: float = 0.0003,
    size: int = 10,
) -> CeilingReading:
    """Return a pass over free examples at a rate.

    Args:
        rate: examples a second.
        workers: that served it.
        collate_s: CPU and wall seconds of an example's part of a collate.
        main_s: CPU seconds of the training process for an example.
        workers_s: CPU seconds of all workers for an example, collate included.
        size: examples of a batch.
    """
    return CeilingReading(
        num_workers=workers,
        batch_examples=float(size),
        batch_bytes=1000 * size,
        collate_s=(collate_s * size,) * 3,
        collate_cpu_s=(collate_s * size,) * 3,
        arrivals_s=tuple(0.5 + size / rate * number for number in range(105)),
        window_batches=100,
        main_cpu_s=main_s * 100 * size,
        workers_cpu_s=workers_s * 100 * size,
    )


def reading(
    rate: float, *, workers: int, cpu: float, start_s: float = 0.0, count: int = 10
) -> Reading:
    """Return a reading of one epoch of 1,000 examples.

    Args:
        rate: examples a second once it runs.
        workers: that served it.
        cpu: CPU seconds a second that trial and workers took.
        start_s: seconds before the first batch beside its own.
        count: examples of a batch.
    """
    arrivals = tuple(
        start_s + count / rate * (number + 1) for number in range(1000 // count)
    )
    return Reading(
        purpose="race",
        num_workers=workers,
        kept=False,
        arrivals_s=arrivals,
        counts=(count,) * len(arrivals),
        warm_batches=2 * max(workers, 1),
        steady_batches=len(arrivals) - 2 * max(workers, 1),
        total_s=arrivals[-1],
        epoch_examples=1000,
        own_cpu=cpu,
    )


def costs(
    *,
    reading_cpu_s: float = 0.004,
    reading_s: float | None = None,
    collate_cpu_s: float | None = 0.0001,
    handover_cpu_s: float | None = 0.0002,
    takeover_cpu_s: float | None = 0.0001,
) -> CostsByStage:
    """Return what an example costs."""
    return CostsByStage(
        reading_s=reading_cpu_s if reading_s is None else reading_s,
        reading_cpu_s=reading_cpu_s,
        collate_s=collate_cpu_s,
        collate_cpu_s=collate_cpu_s,
        handover_cpu_s=handover_cpu_s,
        takeover_cpu_s=takeover_cpu_s,
    )


def observed(
    *readings: Reading,
    of: CostsByStage | None = None,
    ceilings: tuple[CeilingReading, ...] = (),
    cpus: float = 4.0,
    least_workers: int = 0,
    most_workers: int = 16,
    reads_bytes: bool = True,
    step_s: float | None = None,
    compute_growth: float | None = None,
    machine_cpus: float | None = None,
) -> Observed:
    """Return what a study of these readings saw."""
    by_workers: dict[int, tuple[Reading, ...]] = {}
    for item in readings:
        known = by_workers.get(item.num_workers, ())
        by_workers[item.num_workers] = (*known, item)
    return Observed(
        cpus=cpus,
        costs=of or costs(),
        readings=by_workers,
        ceilings=ceilings,
        least_workers=least_workers,
        most_workers=most_workers,
        reads_bytes=reads_bytes,
        step_s=step_s,
        compute_growth=compute_growth,
        machine_cpus=machine_cpus,
    )
