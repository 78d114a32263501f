"""Each epoch has an order of its own, and each worker its own examples in all."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.audit.epoch_order import (
    by_entry,
    epoch_orders,
    in_order,
    orders_of_pass,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder
from autoloader.values.scope import DatasetFacts, FieldFacts, Scope
from tests.audit.ledgers import Setting
from tests.audit.moved import moved_expectation

PASSES = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.integers(1, 6), max_size=12),
        "num_workers": st.integers(0, 4),
        "epochs": st.integers(1, 4),
        "seed": st.integers(-(2**70), 2**70),
        "whole_lists": st.booleans(),
    }
)


def lists_of(lengths: list[int], order: list[int]) -> list[list[int]]:
    """Cut an epoch into its lists."""
    left = iter(order)
    return [[next(left) for _ in range(length)] for length in lengths]


def shares_of(asked: dict[str, Any], order: list[int]) -> list[list[int]]:
    """Return the sorted entries of each worker."""
    lists = lists_of(asked["lengths"], order)
    workers = max(1, asked["num_workers"])
    return [
        sorted(entry for part in lists[worker::workers] for entry in part)
        for worker in range(workers)
    ]


def orders_of(asked: dict[str, Any]) -> list[list[int]]:
    """Return the orders of a pass, as lists."""
    return [order.tolist() for order in epoch_orders(**asked)]


@given(asked=PASSES)
def test_the_first_epoch_is_read_as_it_was_drawn(asked: dict[str, Any]) -> None:
    """Whatever the others are."""
    orders = orders_of(asked)

    assert len(orders) == asked["epochs"]
    assert orders[0] == list(range(sum(asked["lengths"])))


@given(asked=PASSES)
def test_each_worker_reads_its_own_entries_in_every_epoch(
    asked: dict[str, Any],
) -> None:
    """Each of them once, so that every epoch reads the whole list."""
    first, *others = [shares_of(asked, order) for order in orders_of(asked)]

    assert all(shares == first for shares in others)
    assert sorted(entry for share in first for entry in share) == list(
        range(sum(asked["lengths"]))
    )


@given(asked=PASSES)
def test_who_reads_and_who_judges_have_the_same_order(asked: dict[str, Any]) -> None:
    """It follows from what both know."""
    assert orders_of(asked) == orders_of(asked)


@given(asked=PASSES)
def test_whatever_can_move_has_moved(asked: dict[str, Any]) -> None:
    """Where a share has two entries, a later epoch is not the first one again."""
    asked["whole_lists"] = False
    first, *others = orders_of(asked)

    can_move = any(len(share) > 1 for share in shares_of(asked, first))
    assert all((order != first) is can_move for order in others)


@given(asked=PASSES)
def test_whole_lists_stay_whole(asked: dict[str, Any]) -> None:
    """Lists of the user's own change places with others of their length."""
    asked["whole_lists"] = True
    first, *others = [lists_of(asked["lengths"], order) for order in orders_of(asked)]

    assert all(sorted(lists) == first for lists in others)


def test_whole_lists_of_a_length_change_places() -> None:
    """Two of one worker, of which there is one other order."""
    _, second = epoch_orders([2, 2, 2, 3], 2, 2, 0, whole_lists=True)

    assert second.tolist() == [4, 5, 2, 3, 0, 1, 6, 7, 8]


def test_later_epochs_differ_from_each_other() -> None:
    """Each has a seed of its own."""
    orders = epoch_orders([8] * 10, 2, 3, 0, whole_lists=False)

    assert len({tuple(order.tolist()) for order in orders}) == 3


@given(
    count=st.integers(1, 20),
    batch_size=st.integers(1, 6),
    num_workers=st.integers(0, 3),
)
def test_what_drop_last_leaves_out_is_left_out_of_every_epoch(
    count: int, batch_size: int, num_workers: int
) -> None:
    """The sampler yields it last, as ever."""
    setting = Setting(
        count=count, batch_size=batch_size, num_workers=num_workers, drop_last=True
    )
    whole = count // batch_size * batch_size

    for order in moved_expectation(setting).orders:
        read = in_order(range(count), order)

        assert sorted(read[:whole]) == list(range(whole))
        assert read[whole:] == list(range(whole, count))


@pytest.mark.parametrize("whole_lists", [False, True])
def test_no_list_at_all_has_no_order(whole_lists: bool) -> None:
    """drop_last left nothing."""
    orders = epoch_orders([], 2, 2, 0, whole_lists=whole_lists)

    assert [order.tolist() for order in orders] == [[], []]


def test_what_was_kept_by_slot_is_found_by_entry() -> None:
    """What a list of that epoch does not have is left out."""
    kept = {"0/0": 10, "0/1": 11, "1/0": 12, "1/1": 13, "2/0": 14}

    found = by_entry(kept, np.array([2, 1]), np.array([2, 0, 1]))

    assert found == {2: 10, 0: 11, 1: 12}


SCOPE = Scope(
    examples=20,
    distinct=20,
    of=20,
    epoch_examples=20,
    order="shuffled",
    seed=0,
    transforms="fixed",
    drop_last=False,
)


def facts_of(*, random: bool) -> DatasetFacts:
    """Return the facts of a dataset of one field."""
    return DatasetFacts(
        kind="map",
        name="Photos",
        length=20,
        fields=(FieldFacts(path="0", type="int", dtype=None, shape=(), random=random),),
        label=None,
        baseline=None,
        batching="size",
        batch_examples=1.0,
        example_s=0.001,
        example_cpu_s=0.001,
        example_bytes=8,
        tensors=0,
        start_method="fork",
    )


def moves(*, random: bool, workers: int, kept: bool) -> bool:
    """Whether a pass over such a dataset reads its second epoch in another order."""
    facts = facts_of(random=random)
    order = PassOrder(
        kind="gate",
        config=LoaderConfig.canonical(
            num_workers=workers,
            batch_size=4,
            prefetch_factor=2,
            pin_memory=False,
            persistent_workers=kept,
        ),
        logs="",
        tmp="",
        reference="",
        examples=20,
    )

    first, second = orders_of_pass([4] * 5, order, SCOPE, facts)

    assert first.tolist() == list(range(20))
    return bool(second.tolist() != first.tolist())


@pytest.mark.parametrize(("workers", "kept"), [(0, False), (2, False), (2, True)])
def test_fixed_fields_are_read_in_another_order(workers: int, kept: bool) -> None:
    """Whoever reads them."""
    assert moves(random=False, workers=workers, kept=kept)


@pytest.mark.parametrize(("workers", "kept"), [(0, False), (2, False), (2, True)])
def test_random_fields_are_read_in_another_order_by_kept_workers_only(
    workers: int, kept: bool
) -> None:
    """Over the same list it shows that fresh ones draw the same numbers again."""
    assert moves(random=True, workers=workers, kept=kept) is kept
