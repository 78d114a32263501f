"""Which order each epoch of a gate pass reads its list in.

Pure, and the same for who reads and who judges. Kept workers that were given the same
lists twice would deliver by position what they should deliver by id, and nobody would
see it. A worker keeps its examples, so that what its caches hold can be compared from
epoch to epoch. What of the list is read at all is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from autoloader.values.job import PassOrder
    from autoloader.values.scope import DatasetFacts, Scope


def orders_of_pass(
    lengths: Sequence[int] | NDArray[np.int64],
    order: PassOrder,
    scope: Scope,
    facts: DatasetFacts,
) -> tuple[NDArray[np.int64], ...]:
    """Return for each epoch of a pass its entries, in the order that it reads them.

    Where there are random fields only kept workers get another one. That fresh ones
    draw the same numbers again shows only over the same list, and they hold nothing of
    the last epoch.

    Args:
        lengths: of the index lists that an epoch reads.
        order: what the pass was asked for.
        scope: what it reads.
        facts: of the dataset.
    """
    config = order.config
    is_moved = config.persistent_workers or not facts.random_fields
    found = epoch_orders(
        lengths,
        config.num_workers,
        order.epochs if is_moved else 1,
        scope.seed,
        whole_lists=facts.batching == "lists",
    )
    return tuple(found) if is_moved else tuple(found * order.epochs)


def epoch_orders(
    lengths: Sequence[int] | NDArray[np.int64],
    num_workers: int,
    epochs: int,
    seed: int,
    *,
    whole_lists: bool,
) -> list[NDArray[np.int64]]:
    """Return for each epoch its entries, as positions in the first one.

    List k is read by worker k mod `num_workers`; its entries stay with that worker, and
    each list keeps its length. After the first epoch, whatever can move has moved.

    Args:
        lengths: of the index lists of an epoch; what `drop_last` leaves out is none.
        num_workers: workers; 0 is one share.
        epochs: how many; at least 1.
        seed: of the scope.
        whole_lists: whether lists stay as they are, and only change places with others
            of their length.
    """
    sizes = np.asarray(lengths, np.int64)
    share = np.arange(len(sizes)) % max(1, num_workers)
    orders = [np.arange(int(sizes.sum()))]
    for epoch in range(1, epochs):
        rng = np.random.default_rng((seed % 2**63, epoch))
        if whole_lists:
            kinds = sizes * max(1, num_workers) + share
            orders.append(_expanded(_moved(kinds, rng), sizes))
        else:
            orders.append(_moved(np.repeat(share, sizes), rng))
    return orders


def _moved(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return positions in another order, each within its group."""
    order = np.arange(len(groups))
    by_group = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
    for own in np.split(by_group, starts[1:]):
        drawn = rng.permutation(own)
        order[own] = np.roll(own, 1) if np.array_equal(drawn, own) else drawn
    return order


def _expanded(lists: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the entries of lists in another order, each as long as the one it was."""
    starts = np.cumsum(sizes) - sizes
    found: NDArray[np.int64] = np.repeat(starts[lists] - starts, sizes)
    found += np.arange(len(found))
    return found


def in_order(entries: Sequence[Any], order: NDArray[np.int64]) -> list[Any]:
    """Return entries as an epoch reads them; what is left out stays where it is."""
    return [*(entries[at] for at in order.tolist()), *entries[len(order) :]]


def by_entry(
    kept: Mapping[str, int], lengths: NDArray[np.int64], order: NDArray[np.int64]
) -> dict[int, int]:
    """Return by entry of the first epoch what was kept by list and slot of another.

    Args:
        kept: values by `list/slot`, such as `3/0`; those of no entry are left out.
        lengths: of the index lists.
        order: of the epoch.
    """
    starts = np.cumsum(lengths) - lengths
    found = {}
    for name, value in kept.items():
        number, slot = (int(part) for part in name.split("/"))
        if number < len(lengths) and slot < lengths[number]:
            found[int(order[starts[number] + slot])] = value
    return found
