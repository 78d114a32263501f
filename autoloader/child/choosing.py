"""Choose the scope: which of the indices that the sampler yields are read.

Reads nothing but a few examples' cost; what is read is `child.reading`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.audit.ledger import ScopeList
from autoloader.errors import DatasetError, UsageError

if TYPE_CHECKING:
    from autoloader.child.loader import LoaderParts
    from autoloader.child.reading import Reader
    from autoloader.values.job import ReferenceOrder
    from autoloader.values.scope import ScopeRequest

LEAST_SCOPE = 256
"""Least examples of a scope, however slow they are to read (all of a smaller set)."""

SHARE_OF_TIME = 0.5
"""Part of the time that one reading of the scope may take: start-up, second readings
and a slower machine need the rest."""


def choose_scope(
    order: ReferenceOrder, parts: LoaderParts, reader: Reader, *, readings: int
) -> tuple[ScopeList, int, str]:
    """Return the scope's list, the entries of a whole epoch, and the order's name.

    Args:
        order: what is asked for.
        parts: the user's dataset and loader.
        reader: tells what an example costs.
        readings: how often all of the scope is read.

    Raises:
        UsageError: the sampler, or the number of examples, cannot be used.
        DatasetError: the sampler is used up after one pass.
    """
    request = order.request
    _check_batching(order, parts)
    if parts.batching == "lists":
        lists, name = parts.draw_lists(request)
        lists = [_plain(batch, order) for batch in lists]
        drawn = _plain([index for batch in lists for index in batch], order)
        kept = _chosen_lists(lists, _wanted(drawn, request, reader, readings))
        chosen = [index for batch in kept for index in batch]
        scope_list = ScopeList.of(chosen, [len(batch) for batch in kept])
    else:
        found, name = parts.draw(request)
        drawn = _plain(found, order)
        _check_batch(order, request.epoch_examples or len(drawn))
        wanted = _wanted(drawn, request, reader, readings)
        chosen = _chosen(drawn, wanted, len(parts.dataset))
        cuts = [1] * len(chosen) if parts.batching == "single" else None
        scope_list = ScopeList.of(chosen, cuts)
    _check_restarts(parts)
    return scope_list, len(drawn), name


def _plain(drawn: list[Any], order: ReferenceOrder) -> list[Any]:
    """Return the indices as numbers and strings."""
    spec = order.source.spec
    plain = [index.item() if hasattr(index, "item") else index for index in drawn]
    if not plain:
        msg = f"the sampler of {spec} yields nothing"
        hint = "a generator is used up after one pass: give a list or a Sampler"
        raise UsageError(msg, hint=hint)
    odd = next((index for index in plain if not isinstance(index, (int, str))), None)
    if odd is not None:
        kind = type(odd).__name__
        msg = f"the sampler of {spec} yields {kind}, not numbers or strings"
        raise UsageError(msg)
    return plain


def _check_batching(order: ReferenceOrder, parts: LoaderParts) -> None:
    """Refuse a batch size for a loader that does not take one."""
    if order.largest_batch is not None and parts.batching != "size":
        why = {
            "lists": "its batch_sampler makes the batches",
            "single": "it has batch_size=None",
        }
        msg = f"{order.source.spec} takes no --batch-size: {why[parts.batching]}"
        raise UsageError(msg, hint="leave --batch-size out")


def _chosen_lists(lists: list[list[Any]], wanted: int) -> list[list[Any]]:
    """Return the drawn lists that become the scope: the first ones and the last."""
    if sum(map(len, lists)) <= wanted or len(lists) == 1:
        return lists
    kept, count = [lists[0]], len(lists[0]) + len(lists[-1])
    for batch in lists[1:-1]:
        if count + len(batch) > wanted:
            break
        kept.append(batch)
        count += len(batch)
    return [*kept, lists[-1]]


def _check_restarts(parts: LoaderParts) -> None:
    """Refuse a sampler that is used up after one pass: each later epoch is empty."""
    loader = parts.loader
    if loader is None:
        return
    again = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    if next(iter(again), None) is None:
        msg = "reference_unstable: the second pass over the sampler is empty"
        hint = "a generator is used up after one pass: give a list or a Sampler"
        raise DatasetError(msg, hint=hint)


def _wanted(
    drawn: list[Any], request: ScopeRequest, reader: Reader, readings: int
) -> int:
    """Return how many entries of the list become the scope."""
    if request.examples == "all":
        return len(drawn)
    if request.examples is not None:
        return min(request.examples, len(drawn))
    cost_s = reader.probe_cost(drawn) * readings
    affordable = int(request.time_limit_s * SHARE_OF_TIME / max(cost_s, 1e-9))
    return min(max(affordable, LEAST_SCOPE), len(drawn))


def _check_batch(order: ReferenceOrder, epoch_examples: int) -> None:
    """Refuse a batch size that no epoch can fill, before anything is read."""
    size = order.largest_batch
    if size is not None and size > epoch_examples:
        msg = (
            f"--batch-size must be at most the {epoch_examples} examples of an epoch, "
            f"got {size}"
        )
        raise UsageError(msg)


def _chosen(drawn: list[Any], wanted: int, length: int) -> list[Any]:
    """Return the part of the drawn list that becomes the scope.

    First and last example of the dataset and the last entry of the list belong to it,
    wherever the sampler yields them.
    """
    if wanted >= len(drawn):
        return drawn
    edges = [edge for edge in (0, length - 1) if edge in set(drawn)]
    body = [index for index in drawn[: wanted + 2] if index not in {*edges, drawn[-1]}]
    tail = [edge for edge in edges if edge != drawn[-1]]
    return [*body[: max(0, wanted - len(tail) - 1)], *tail, drawn[-1]]
