"""What is worth knowing of readings before their figures are believed.

Pure: readings in, cautions as plain values out. What the gate noted of the data is its
own; what concerns a search or a comparison is theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.export.scope_section import cache_cautions
from autoloader.measure.intervals import median
from autoloader.measure.noise import BUSY_SHARE, taken_cpu
from autoloader.measure.throughput import has_steady_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Reading
    from autoloader.values.scope import DatasetFacts

THROTTLED_SHARE = 0.05
"""Part of the CPUs that a quota may hold back, by the median, without a caution."""

LEAST_BATCHES = 4
"""Batches of a steady window below which it is short, however few the workers are."""


def reading_cautions(
    readings: Sequence[Reading], facts: DatasetFacts, machine: Machine
) -> list[dict[str, Any]]:
    """Return the cautions of all readings that count.

    Args:
        readings: of all configs that are compared; replaced ones are left out.
        facts: where the examples come from.
        machine: on which they were taken.
    """
    counted = [item for item in readings if item.replaced_because is None]
    if not counted:
        return []
    found = (_busy(counted, machine), _throttled(counted, machine), _short(counted))
    return [
        *(item for item in found if item is not None),
        *cache_cautions(readings, facts),
    ]


def worker_cautions(
    num_workers: int, machine: Machine, *, ranks: int = 1
) -> list[dict[str, Any]]:
    """Return the caution of more workers than CPUs, as PyTorch will give it.

    Args:
        num_workers: of one rank.
        machine: on which they were measured.
        ranks: training processes that share it.
    """
    workers = num_workers * ranks
    if workers <= machine.whole_cpus:
        return []
    return [
        {
            "code": "more_workers_than_cpus",
            "count": workers,
            "message": f"{workers} workers share {machine.effective_cpus:g} CPUs: that "
            "pays while reading waits; PyTorch may warn of it when the loader is made",
            "hint": "its warning does not matter here; where training needs CPUs of "
            "its own, fewer workers leave it more",
        }
    ]


def _busy(readings: Sequence[Reading], machine: Machine) -> dict[str, Any] | None:
    """Caution where others had much of the machine meanwhile."""
    taken = median([taken_cpu(item) for item in readings])
    if taken < BUSY_SHARE * machine.effective_cpus:
        return None
    cpus = f"{machine.effective_cpus:g}"
    return {
        "code": "machine_busy",
        "count": len(readings),
        "message": f"other programs took {taken:.1f} of {cpus} CPUs meanwhile",
        "hint": "rates and ratios hold for a machine as busy as this",
    }


def _throttled(readings: Sequence[Reading], machine: Machine) -> dict[str, Any] | None:
    """Caution where a quota, not the CPUs, is what held configs back."""
    held = median([item.throttled_cpu for item in readings])
    if held < THROTTLED_SHARE * machine.effective_cpus:
        return None
    return {
        "code": "cpu_throttled",
        "count": sum(item.throttled_cpu > 0 for item in readings),
        "message": f"the CPU quota stopped {held:.1f} CPUs' worth of work meanwhile",
        "hint": "more workers than the quota has CPUs for are stopped by it; a larger "
        "quota is faster",
    }


def _short(readings: Sequence[Reading]) -> dict[str, Any] | None:
    """Caution where a window has fewer waves, or batches, than the rule asks for."""
    short = [
        item
        for item in readings
        if not item.epoch_ends_s
        and has_steady_window(item)
        and item.steady_batches < max(LEAST_BATCHES, 2 * max(item.num_workers, 1))
    ]
    if not short:
        return None
    return {
        "code": "short_window",
        "count": len(short),
        "message": f"{len(short)} of {len(readings)} readings have a steady window of "
        "a wave or two only: examples are slow",
        "hint": "a larger --budget reads more of them",
    }
