"""The rate of a running pass, by what is seen of it."""

from __future__ import annotations

import pytest

from autoloader.report.estimate import Estimate
from autoloader.values.job import PassOrder, PassPlan
from tests.report.fakes import config

PLAN = PassPlan(warm_batches=4, steady_batches=40, tail_batches=4)


class Seen:
    """A pass of 64 examples a batch, looked at whenever a test says so."""

    def __init__(self, *, workers: int = 2, batch_size: int | None = 64) -> None:
        """Begin the pass."""
        self.now = 0.0
        self.estimate = Estimate(
            warm_batches=4,
            wave=workers,
            batch_size=batch_size,
            clock=lambda: self.now,
        )

    def at(self, now: float, done: int) -> None:
        """Look at it."""
        self.now = now
        self.estimate.note(done)


def test_the_warm_up_is_left_out() -> None:
    """Whatever it took: the rate is that of whole waves after it."""
    seen = Seen()

    for now, done in ((9.0, 2), (10.0, 4), (11.0, 6), (12.0, 8)):
        seen.at(now, done)

    assert seen.estimate.rate is not None
    assert seen.estimate.rate.median == pytest.approx(128)


def test_nothing_is_told_too_early() -> None:
    """Neither in the warm-up nor before a wave came after it."""
    seen = Seen()

    for now, done in ((1.0, 1), (2.0, 4), (3.0, 5)):
        seen.at(now, done)
        assert seen.estimate.rate is None


def test_few_waves_show_no_scatter() -> None:
    """Two of them have a rate without ends, three have one with ends."""
    seen = Seen()

    for now, done in ((1.0, 4), (2.0, 6), (3.1, 8)):
        seen.at(now, done)
    few = seen.estimate.rate
    seen.at(4.0, 10)
    more = seen.estimate.rate

    assert few is not None
    assert (few.low, few.high) == (None, None)
    assert more is not None
    assert more.low is not None
    assert more.high is not None
    assert more.low < more.median < more.high


def test_a_count_that_begins_again_is_ignored_until_it_is_past_the_last() -> None:
    """Between two epochs of one pass the counter is set to nothing for a moment."""
    seen = Seen()

    for now, done in ((1.0, 4), (2.0, 6), (3.0, 0), (4.0, 6), (5.0, 12)):
        seen.at(now, done)

    assert seen.estimate.rate is not None
    assert seen.estimate.rate.median == pytest.approx(8 * 64 / 4)


def test_batches_are_counted_where_their_size_is_not_known() -> None:
    """The dataset makes them."""
    seen = Seen(batch_size=None)

    for now, done in ((1.0, 4), (2.0, 6)):
        seen.at(now, done)

    assert seen.estimate.unit == "batches"
    assert seen.estimate.rate is not None
    assert seen.estimate.rate.median == pytest.approx(2)


@pytest.mark.parametrize(
    ("kind", "plan"), [("gate", PLAN), ("memory", None), ("timed", None)]
)
def test_only_a_timed_pass_has_a_rate(kind: str, plan: PassPlan | None) -> None:
    """The others read beside what they count or weigh."""
    order = PassOrder(
        kind=kind,
        config=config(2),
        logs="",
        tmp="",
        reference="",
        examples=0,
        plan=plan,
    )

    assert Estimate.of(order, lambda: 0.0) is None
