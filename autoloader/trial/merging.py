"""Put the readings and failures of several ranks together.

Pure. Verdicts are put together in `audit.ranks`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.values.outcome import Failure, MemoryReading, Reading

LOST = "RankLost"
"""Class of what a rank raises where another one ended (`child.meeting`)."""


def merged_reading(readings: Sequence[Reading]) -> Reading:
    """Return one reading of all ranks, which took their CPUs from nobody else.

    Args:
        readings: of the ranks, in their order.
    """
    own = sum(item.own_cpu for item in readings)
    first, *others = (
        replace(item, foreign_cpu=max(0.0, item.foreign_cpu - (own - item.own_cpu)))
        for item in readings
    )
    return replace(first, others=tuple(others))


def merged_memory(readings: Sequence[MemoryReading]) -> MemoryReading:
    """Return one reading of all ranks; the queue was full where all were.

    Args:
        readings: of the ranks, in their order.
    """
    first, *others = readings
    is_full = all(item.queue_was_full for item in readings)
    return replace(first, others=tuple(others), queue_was_full=is_full)


def is_aftermath(failure: Failure) -> bool:
    """Whether a rank failed only because another one had ended."""
    return (failure.exception or "").rpartition(".")[2] == LOST


def merged_failure(failures: Mapping[int, Failure]) -> Failure:
    """Return the failure that ended a pass of all ranks, with its rank.

    Args:
        failures: by rank, in the order in which they came.
    """
    causes = [item for item in failures.items() if not is_aftermath(item[1])] or list(
        failures.items()
    )
    rank, failure = causes[0]
    return of_rank(failure, rank)


def of_rank(failure: Failure, rank: int) -> Failure:
    """Return a failure that says which rank it ended."""
    return replace(failure, rank=rank, message=f"rank {rank}: {failure.message}")
