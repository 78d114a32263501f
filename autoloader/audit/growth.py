"""Say whether processes hold more from epoch to epoch, and where that will end.

Pure: counts at the end of each epoch in, cautions out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.units import format_bytes
from autoloader.values.outcome import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_DESCRIPTORS = 8
"""Descriptors by which a process must grow: a queue may hold a few more or less."""

LEAST_BYTES = 16 << 20
"""Private bytes by which a worker must grow: an allocator keeps some to itself."""

LEAST_SHARE = 0.05
"""Part of what it held by which a worker's memory must grow as well."""


def judge_growth(
    descriptors: Mapping[str, Sequence[int | None]],
    private_bytes: Mapping[str, Sequence[int | None]],
    *,
    limit: int | None,
) -> list[Finding]:
    """Return cautions for what grew from the first epoch's end to the last one's.

    Args:
        descriptors: for each process its open descriptors at the end of each epoch;
            None where they could not be counted.
        private_bytes: for each worker its private memory, the same way.
        limit: most descriptors of a process; None: not known.
    """
    found = []
    worst = _worst(descriptors)
    if worst is not None and worst[2] >= LEAST_DESCRIPTORS:
        found.append(_of_descriptors(*worst, limit=limit))
    worst = _worst(private_bytes)
    if worst is not None and worst[2] >= max(LEAST_BYTES, LEAST_SHARE * worst[1]):
        found.append(_of_memory(*worst))
    return found


def _worst(
    counts: Mapping[str, Sequence[int | None]],
) -> tuple[str, int, int] | None:
    """Return the process that grew most in an epoch: name, first count, growth."""
    grown = [
        (name, first, (last - first) // (len(seen) - 1))
        for name, seen in counts.items()
        if len(seen) > 1
        and (first := seen[0]) is not None
        and (last := seen[-1]) is not None
    ]
    return max(grown, key=lambda item: item[2], default=None)


def _of_descriptors(
    name: str, first: int, growth: int, *, limit: int | None
) -> Finding:
    end = ""
    if limit is not None and limit > first:
        epochs = (limit - first) // growth
        end = f"; the limit of {limit} is reached in about {epochs} epochs"
    return Finding(
        code="descriptors_growing",
        count=growth,
        epoch=1,
        message=f"{name} holds {growth} more open files after another epoch{end}",
        hint="usual cause: a file or connection that is opened for an example and kept "
        "in a list, or a batch that is kept whole; close it, or open it once",
    )


def _of_memory(name: str, first: int, growth: int) -> Finding:
    return Finding(
        code="memory_growing",
        count=growth,
        epoch=1,
        message=(
            f"{name} holds {format_bytes(growth)} more memory of its own after another "
            f"epoch over the same examples, {format_bytes(first)} after the first"
        ),
        hint="usual cause: a list or cache that takes up each example anew, or Python "
        "objects of the dataset that are copied as they are touched; "
        "persistent_workers=False begins anew in each epoch",
    )
