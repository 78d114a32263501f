"""Signed ranks against tables, and the interval against what it promises."""

from __future__ import annotations

import math
import random

import pytest

from autoloader.measure.ranks import critical_rank_sum, signed_rank_interval

CRITICAL = {
    0.025: {5: None, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89},
    0.005: {7: None, 8: 0, 9: 1, 10: 3, 12: 7, 15: 15, 20: 37, 25: 68},
}
"""Critical values of Wilcoxon's signed ranks, as textbooks print them."""


@pytest.mark.parametrize("error", CRITICAL)
def test_critical_rank_sums_are_those_of_the_tables(error: float) -> None:
    """By the exact distribution, for each count."""
    found = {count: critical_rank_sum(count, error) for count in CRITICAL[error]}

    assert found == CRITICAL[error]


def test_too_few_values_cannot_give_a_small_error() -> None:
    """Six of six on one side happen in 3 % of cases by luck."""
    assert signed_rank_interval([1.0] * 6, 0.03) is None
    assert signed_rank_interval([1.0] * 6, 0.04) == (1.0, 1.0)


def test_the_interval_of_a_few_values_lies_between_their_means_by_twos() -> None:
    """The third least of 21 means is left out on each side of 6 values, and so on."""
    values = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0]

    assert signed_rank_interval(values, 2 / 64) == (0.0, 16.0)
    assert signed_rank_interval(values, 4 / 64) == (0.5, 12.0)


def test_no_value_moves_an_end_far_however_wild_it_is() -> None:
    """One burst among 24 rounds is one rank."""
    values = [0.01 * number for number in range(-12, 12)]

    calm = signed_rank_interval(values, 0.02)
    wild = signed_rank_interval([*values[:-1], 100.0], 0.02)

    assert calm is not None
    assert wild is not None
    assert wild == pytest.approx(calm, abs=0.03)


@pytest.mark.parametrize("count", [12, 24, 96])
def test_the_interval_misses_no_more_often_than_it_says(count: int) -> None:
    """Of heavy-tailed noise, 2,000 times."""
    chance = random.Random(count)  # noqa: S311  # a simulation
    missed = 0
    for _ in range(2000 if count < 50 else 300):
        values = [_heavy(chance) for _ in range(count)]
        found = signed_rank_interval(values, 0.05)
        assert found is not None
        missed += not found[0] <= 0 <= found[1]

    assert missed / (2000 if count < 50 else 300) < 0.07


def _heavy(chance: random.Random) -> float:
    """Return a value of Student's t with three degrees of freedom."""
    squares = sum(chance.gauss(0, 1) ** 2 for _ in range(3))
    return chance.gauss(0, 1) / math.sqrt(squares / 3)
