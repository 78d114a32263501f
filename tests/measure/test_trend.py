"""A drift is told from scatter, with the error that is stated."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from autoloader.measure.trend import EXACT, order_probability, trend_of


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_the_probability_of_an_order_is_the_share_of_all_orders(count: int) -> None:
    """By counting every permutation."""
    orders = list(itertools.permutations(range(count)))
    clear = [
        abs(sum((b > a) - (b < a) for a, b in itertools.combinations(order, 2)))
        for order in orders
    ]

    for order, own in zip(orders, clear, strict=True):
        as_clear = sum(other >= own for other in clear)
        assert order_probability(order) == pytest.approx(as_clear / len(orders))


def test_a_perfect_order_is_as_unlikely_as_it_is() -> None:
    """Up or down, of eight values two orders in 40,320."""
    assert order_probability(range(8)) == pytest.approx(2 / math.factorial(8))
    assert order_probability(range(8, 0, -1)) == pytest.approx(2 / math.factorial(8))


def test_equal_values_say_nothing() -> None:
    """They are no order."""
    assert order_probability([3.0] * 20) == 1.0


def test_the_normal_form_goes_on_where_the_exact_one_ends() -> None:
    """At the border both say nearly the same."""
    draw = random.Random(5)  # noqa: S311  # no secret
    values = [draw.gauss(0.0, 1.0) + 0.02 * night for night in range(EXACT + 1)]

    exact, normal = order_probability(values[:-1]), order_probability(values)

    assert 0.2 < exact / normal < 5


def test_a_steady_fall_is_a_drift_of_its_size() -> None:
    """One per cent a night, in noise of 2 %."""
    draw = random.Random(1)  # noqa: S311  # no secret
    values = [
        500 * 0.99**night * math.exp(draw.gauss(0.0, 0.02)) for night in range(20)
    ]

    found = trend_of(values, error=0.01)

    assert found is not None
    assert found.steps == 16
    assert found.per_step == pytest.approx(-0.01, abs=0.003)
    assert found.probability < 0.01 / 4


def test_fewer_than_eight_nights_tell_nothing() -> None:
    """However clear they are."""
    assert trend_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], error=0.01) is None


def test_between_two_looks_what_the_last_one_saw_holds() -> None:
    """Nobody looks after every night."""
    values = [float(night) for night in range(1, 9)] + [1.0] * 7

    assert trend_of(values, error=0.01) == trend_of(values[:8], error=0.01)


@pytest.mark.parametrize("error", [0.2, 0.05])
def test_nights_that_only_scatter_drift_no_more_often_than_stated(error: float) -> None:
    """Over all looks of a series of 64 nights together, whatever the noise."""
    draw = random.Random(7)  # noqa: S311  # no secret
    told, series = 0, 400

    for _ in range(series):
        values = [draw.paretovariate(1.5) for _ in range(64)]
        told += any(
            trend_of(values[:look], error=error) is not None for look in (8, 16, 32, 64)
        )

    most = error + 3 * math.sqrt(error * (1 - error) / series)
    assert told / series <= most
