"""Honest passes whose epochs read the same list in an order of their own each."""

from dataclasses import replace

from autoloader.audit.epoch_order import epoch_orders
from autoloader.audit.verdict import Expectation
from tests.audit.ledgers import Batch, Setting


def moved_expectation(setting: Setting, *, whole_lists: bool = False) -> Expectation:
    """Return what a pass is asked to deliver, in another order in each epoch."""
    expected = setting.expectation()
    orders = epoch_orders(
        expected.lengths(),
        setting.num_workers,
        setting.epochs,
        seed=0,
        whole_lists=whole_lists,
    )
    return replace(expected, orders=tuple(orders))


def honest_batches(setting: Setting, expected: Expectation) -> list[Batch]:
    """Return the batches of a pass that delivers what is expected."""
    return [
        Batch(
            epoch=epoch,
            batch=number,
            worker=number % setting.num_workers if setting.num_workers else -1,
            rows=tuple(setting.row(place, slot) for slot, place in enumerate(asked)),
        )
        for epoch in range(expected.epochs)
        for number, asked in enumerate(expected.lists(epoch))
    ]
