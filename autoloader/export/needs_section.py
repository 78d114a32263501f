"""The section `needs` of a recommendation: what an example, a worker and a batch took.

Worked out of stored readings when a study ends, and read again by `autoloader needs`.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError
from autoloader.measure.needs import NeedsBasis, memory_line
from autoloader.measure.stage_costs import (
    CostsByStage,
    cached_rate,
    cpu_s_per_example,
    stage_costs,
)
from autoloader.search.prediction import collated_bytes, shared_example_bytes
from autoloader.values.config import DEFAULT_PREFETCH
from autoloader.values.decode import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from autoloader.export.recommendation import Recommendation
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import MemoryReading, Outcome, Reading
    from autoloader.values.scope import AccessFacts, DatasetFacts


def needs_section(
    chosen: LoaderConfig,
    readings: Sequence[Reading],
    *,
    facts: DatasetFacts,
    outcomes: Iterable[Outcome],
    memory: Mapping[LoaderConfig, MemoryReading],
) -> dict[str, Any]:
    """Return the section.

    Args:
        chosen: the config that is recommended.
        readings: of it, those that count.
        facts: what an example costs in one process.
        outcomes: of the study, whose ceilings are looked at.
        memory: last weighing of each config.
    """
    examples = chosen.batch_size or facts.batch_examples
    batch_bytes = examples * collated_bytes(facts)
    shared_bytes = examples * shared_example_bytes(facts)
    base, each = memory_line(_weighed(chosen, memory, shared_bytes), batch_bytes)
    ceilings = [item.ceiling for item in outcomes if item.ceiling is not None]
    cpu_s = _median(cpu_s_per_example(item) for item in readings)
    return NeedsBasis(
        cpu_s_per_example=facts.example_cpu_s if cpu_s is None else cpu_s,
        measured_workers=0 if cpu_s is None else chosen.num_workers,
        wall_s_per_example=_worker_s(stage_costs(facts, ceilings)),
        bytes_per_example=float(facts.example_bytes),
        read_bytes_per_example=_read_bytes(facts.access),
        batch_examples=float(examples),
        batch_bytes=batch_bytes,
        shared_batch_bytes=shared_bytes,
        prefetch_factor=chosen.prefetch_factor or DEFAULT_PREFETCH,
        base_memory_bytes=base,
        memory_per_worker_bytes=each,
        rank_ceiling_examples_per_s=max(map(cached_rate, ceilings), default=None),
    ).to_dict()


def read_basis(recommendation: Recommendation, path: str) -> NeedsBasis:
    """Return what a file says that an example took.

    Args:
        recommendation: the file's.
        path: the file, for errors.

    Raises:
        StoredFileError: it has no such section, or one that cannot be used.
    """
    section = recommendation.data.get("needs")
    if section is None:
        msg = f"{path} lacks the section 'needs'"
        raise StoredFileError(msg, hint="tune again: older versions wrote none")
    try:
        return value_of(NeedsBasis, section, place="needs")
    except StoredFileError as exc:
        msg = f"{path}: {exc.message}"
        raise StoredFileError(msg, hint=exc.hint) from exc


def _weighed(
    chosen: LoaderConfig,
    memory: Mapping[LoaderConfig, MemoryReading],
    shared_batch_bytes: float,
) -> dict[tuple[int, int], float]:
    """Return full queues of the chosen batch size, by workers and batches in flight.

    Those that were not seen full, or are pinned where the chosen is not, are no points
    of its line.
    """
    return {
        (
            config.num_workers,
            _in_flight(config, found, shared_batch_bytes),
        ): float(found.full_queue_bytes)
        for config, found in memory.items()
        if config.batch_size == chosen.batch_size
        and config.pin_memory == chosen.pin_memory
        and found.queue_was_full
    }


def _in_flight(
    config: LoaderConfig, found: MemoryReading, shared_batch_bytes: float
) -> int:
    """Return the batches that were in flight when a config was weighed.

    Fewer than there is room for where the scope has no more; shared memory tells.
    """
    most = config.num_workers * (config.prefetch_factor or 0)
    if not found.queued_bytes or not shared_batch_bytes:
        return most
    return min(most, round(found.queued_bytes / shared_batch_bytes))


def _worker_s(costs: CostsByStage) -> float:
    """Return the seconds that an example keeps a worker which has a CPU to itself."""
    return costs.reading_s + (costs.collate_s or 0.0) + (costs.handover_cpu_s or 0.0)


def _read_bytes(access: AccessFacts | None) -> float | None:
    """Return the bytes of files that an example reads; None where it is not told."""
    if access is None or access.connections:
        return None
    if access.source == "memory":
        return 0.0
    known = (access.read_bytes_per_example, access.storage_bytes_per_example)
    told = [value for value in known if value is not None]
    return max(told) if told else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
