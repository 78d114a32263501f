"""Places of values, and round values to label an axis with."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.report.html.scales import (
    Linear,
    Log,
    log_ticks,
    nice_step,
    spread,
    ticks,
    whole_ticks,
)

NUMBERS = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


def test_a_linear_scale_maps_its_ends_to_its_ends() -> None:
    """Upwards too, where places grow downwards; what is outside stays at an end."""
    up = Linear(low=0.0, high=200.0, start=300.0, end=20.0)

    assert [up(value) for value in (0, 100, 200)] == [300, 160, 20]
    assert (up(-5), up(1e9)) == (300, 20)


def test_a_log_scale_maps_equal_ratios_to_equal_distances() -> None:
    """Whatever they are ratios of."""
    across = Log(low=0.001, high=10.0, start=0.0, end=400.0)

    places = [across(value) for value in (0.001, 0.01, 0.1, 1.0, 10.0)]

    assert places == pytest.approx([0, 100, 200, 300, 400])


def test_a_scale_without_room_is_refused() -> None:
    """Everything would stand in one place."""
    with pytest.raises(ValueError, match=r"^low must be below high, got 3 and 3$"):
        Linear(low=3.0, high=3.0, start=0.0, end=1.0)


def test_a_log_scale_from_nothing_is_refused() -> None:
    """Nothing has no logarithm."""
    message = r"^low must be above 0 and below high, got 0, 3$"
    with pytest.raises(ValueError, match=message):
        Log(low=0.0, high=3.0, start=0.0, end=1.0)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.0, 567.0, (0, 200, 400)),
        (0.0, 1.0, (0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (0.93, 1.11, (0.95, 1.0, 1.05, 1.1)),
        (0.0, 3.0, (0, 1, 2, 3)),
        (-40.0, 40.0, (-40, -20, 0, 20, 40)),
    ],
)
def test_labels_are_round(low: float, high: float, found: tuple[float, ...]) -> None:
    """As people would write them."""
    assert ticks(low, high) == found


@given(NUMBERS, st.floats(min_value=1e-6, max_value=1e9), st.integers(2, 12))
def test_labels_are_within_the_axis_and_not_too_many(
    low: float, length: float, most: int
) -> None:
    """Whatever the axis, as long as its labels differ in what they have of digits."""
    high = low + length
    if length < 1e-7 * abs(low):
        return

    found = ticks(low, high, most)

    slack = nice_step(length / (most - 1)) * 1e-6
    assert len(found) <= most
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert list(found) == sorted(set(found))


def test_whole_labels_stand_at_each_number_where_there_is_room() -> None:
    """Else at some, that are whole as well."""
    assert whole_ticks(0, 3) == (0, 1, 2, 3)
    assert whole_ticks(5, 5) == (5,)

    many = whole_ticks(0, 64)

    assert len(many) <= 17
    assert all(isinstance(tick, int) for tick in many)


def test_labels_of_decades_are_more_where_these_are_few() -> None:
    """Powers of ten alone over many of them."""
    assert log_ticks(0.01, 0.5) == pytest.approx((0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    assert log_ticks(1e-5, 1.0) == pytest.approx((1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1))


@given(
    st.lists(st.floats(min_value=0.0, max_value=200.0), max_size=10),
    st.floats(min_value=1.0, max_value=19.0),
)
def test_labels_are_moved_apart_and_stay_in_their_room(
    places: list[float], gap: float
) -> None:
    """Ten of them fit here; who was above stays above."""
    found = spread(places, gap, 0.0, 200.0)

    ordered = sorted(found)
    assert len(found) == len(places)
    assert all(after - before >= gap - 1e-9 for before, after in pairwise(ordered))
    assert all(-1e-9 <= place <= 200.0 + 1e-9 for place in found)
    ranks = sorted(range(len(places)), key=lambda number: places[number])
    assert [found[number] for number in ranks] == ordered


def test_labels_without_room_go_on_below() -> None:
    """Rather than on top of each other."""
    assert spread([5.0, 5.0, 5.0], 10.0, 0.0, 10.0) == [0.0, 10.0, 20.0]


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_a_step_is_the_next_round_one(least: float) -> None:
    """Not less, and not more than two and a half times as much."""
    step = nice_step(least)

    assert step >= least * (1 - 1e-8)
    assert step <= least * 2.5 * (1 + 1e-8)
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - round_) for round_ in (1, 2, 2.5, 5, 10)) < 1e-6
