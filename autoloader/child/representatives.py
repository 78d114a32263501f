"""Choose what a diagnosis reads, and in which batches: what stands for others first.

Draws from the user's own sampler and reads no example.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autoloader.values.diagnosis import SMALL_BATCH

if TYPE_CHECKING:
    from autoloader.child.loader import LoaderParts
    from autoloader.values.scope import ScopeRequest


def batch_size_of(parts: LoaderParts, wanted: int | None) -> int:
    """Return the examples a batch: as asked for, the loader's own, or a small one."""
    own = None if parts.loader is None else parts.loader.batch_size
    return wanted or own or SMALL_BATCH


def lists_of(
    parts: LoaderParts, request: ScopeRequest, size: int
) -> tuple[list[list[Any]], int]:
    """Return the lists of ids that are read, and how many ids stand for the others.

    The first list has the first, the last and random ids. Then all follow in their
    order, not shuffled, cut to batches, as far as `request.examples` says. Lists of the
    user's own batch_sampler stay whole.

    Args:
        parts: the user's dataset and loader.
        request: seed and number of examples.
        size: examples a batch.
    """
    as_is = replace(request, order="as-is")
    if parts.batching == "lists":
        lists = parts.draw_lists(as_is)[0]
        ends = [lists[0], lists[-1]] if len(lists) > 1 else lists[:1]
        most = _most(request)
        return ends + _until(lists, most), sum(map(len, ends))
    entries = _in_order(parts.draw(as_is)[0])
    chosen = _chosen(entries, request.seed, size)
    most = _most(request)
    listed = entries if most is None else entries[:most]
    rest = [listed[at : at + size] for at in range(0, len(listed), size)]
    return [chosen, *rest], len(chosen)


def _most(request: ScopeRequest) -> int | None:
    """Return how many examples are read at most; None: as many as there is time for."""
    return request.examples if isinstance(request.examples, int) else None


def _until(lists: list[list[Any]], most: int | None) -> list[list[Any]]:
    """Return whole lists up to a number of examples."""
    if most is None:
        return lists
    found: list[list[Any]] = []
    for listed in lists:
        if sum(map(len, found)) >= most:
            break
        found.append(listed)
    return found


def _in_order(entries: list[Any]) -> list[Any]:
    """Return each id once: numbers in their order, others as they were drawn."""
    found = list(dict.fromkeys(entries))
    if all(type(entry) is int for entry in found):
        found.sort()
    return found


def _chosen(entries: list[Any], seed: int, size: int) -> list[Any]:
    """Return the first, the last, and random ids, as many as fill a batch."""
    ends = list(dict.fromkeys([entries[0], entries[-1]]))
    inner = entries[1:-1]
    count = min(len(inner), max(0, size - len(ends)))
    spread = random.Random(seed)  # noqa: S311  # a spread, no secret
    return ends + spread.sample(inner, count)
