"""Bounds of few rounds, against printed tables and seeded simulations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from autoloader.measure.intervals import (
    ASSUMED_SPREAD,
    Interval,
    bounded_exp,
    log_ratios,
    lower_bound,
    median,
    t_quantile,
    unpaired_ratio,
    upper_bound,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = 4000
"""Simulated cases a test; the error of a share of 5 % is then 0.35 %."""


@pytest.mark.parametrize(
    ("probability", "freedom", "printed"),
    [
        (0.90, 1, 3.078),
        (0.95, 1, 6.314),
        (0.95, 2, 2.920),
        (0.975, 3, 3.182),
        (0.95, 5, 2.015),
        (0.99, 8, 2.896),
        (0.975, 10, 2.228),
        (0.995, 23, 2.807),
        (0.9995, 30, 3.646),
    ],
)
def test_quantiles_are_those_of_printed_tables(
    probability: float, freedom: int, printed: float
) -> None:
    """Odd and even degrees of freedom are worked out by different sums."""
    assert t_quantile(probability, freedom) == pytest.approx(printed, abs=0.0005)


@pytest.mark.parametrize("freedom", [1, 2, 5, 12])
def test_quantiles_are_symmetric(freedom: int) -> None:
    """Half of the values lie below 0, and both tails are alike."""
    assert t_quantile(0.5, freedom) == pytest.approx(0, abs=1e-12)
    assert t_quantile(0.1, freedom) == pytest.approx(-t_quantile(0.9, freedom))


def test_bounds_are_a_quantile_of_standard_errors_from_the_mean() -> None:
    """Of 1, 2, 3 the mean is 2 and the standard error is 1 by the root of 3."""
    margin = 2.920 / math.sqrt(3)

    assert lower_bound([1, 2, 3], 0.05) == pytest.approx(2 - margin, abs=0.001)
    assert upper_bound([1, 2, 3], 0.05) == pytest.approx(2 + margin, abs=0.001)


def test_one_value_has_no_bound() -> None:
    """One reading shows no scatter, and neither does none."""
    assert lower_bound([1.0], 0.05) is None
    assert upper_bound([1.0], 0.05) is None
    assert lower_bound([], 0.05) is None


def test_two_values_that_agree_are_not_believed_to_have_no_scatter() -> None:
    """Their bounds are as far apart as the usual noise puts them."""
    margin = 6.314 * ASSUMED_SPREAD / math.sqrt(2)

    assert lower_bound([1.0, 1.0], 0.05) == pytest.approx(1 - margin, abs=0.001)


def test_three_values_are_taken_at_their_word() -> None:
    """From the third round on the scatter is the measured one."""
    assert lower_bound([1.0, 1.0, 1.0], 0.05) == 1.0


def test_less_error_means_wider_bounds() -> None:
    """A look that may be wrong less often has to claim less."""
    values = [0.0, 0.1, 0.05, -0.02]

    strict, loose = lower_bound(values, 0.01), lower_bound(values, 0.05)

    assert strict is not None
    assert loose is not None
    assert strict < loose


def test_an_interval_of_ratios_is_that_of_their_inverses() -> None:
    """Twice as fast and half as fast are the same distance."""
    ratios = [1.1, 1.3, 1.25, 1.2, 1.15]

    there = Interval.of(ratios, error=0.05)
    back = Interval.of([1 / ratio for ratio in ratios], error=0.05)

    assert there.low is not None
    assert back.high is not None
    assert there.low == pytest.approx(1 / back.high)
    assert there.median == pytest.approx(1 / back.median)


def test_an_interval_always_holds_its_median() -> None:
    """A reading that is far off moves the mean, and the interval reaches back."""
    interval = Interval.of([100.0] * 200 + [1e-4], error=0.5)

    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= interval.median == 100.0 <= interval.high


def test_an_interval_of_one_reading_has_no_ends() -> None:
    """The reading is shown as what it is."""
    interval = Interval.of([1234.0], error=0.05)

    assert interval.to_dict() == {"median": 1234.0, "low": None, "high": None}


def test_the_median_of_an_even_number_lies_in_the_middle() -> None:
    """Two in the middle share it."""
    assert median([4.0, 1.0, 2.0, 100.0]) == 3.0


def test_a_ratio_is_taken_of_rounds_that_both_have() -> None:
    """Where one was not read, its partner tells nothing of the pair."""
    ratios = log_ratios([200.0, None, 300.0, 50.0], [100.0, 100.0, 100.0, None])

    assert ratios == pytest.approx([math.log(2), math.log(3)])


def test_what_slows_a_whole_round_down_cancels_in_a_ratio() -> None:
    """The machine was at a tenth of its speed in the second round."""
    ratios = log_ratios([200.0, 20.0, 150.0], [100.0, 10.0, 75.0])

    assert ratios == pytest.approx([math.log(2)] * 3)


@pytest.mark.parametrize("value", [1e6, -1e6])
def test_a_ratio_beyond_what_a_float_holds_stays_finite(value: float) -> None:
    """Two rounds that have nothing in common have bounds far out."""
    assert 0 < bounded_exp(value) < math.inf


def normal(generator: np.random.Generator, rounds: int) -> np.ndarray:
    """Return noise of 5 % for many cases."""
    return generator.normal(0, 0.05, (CASES, rounds))


def heavy_tailed(generator: np.random.Generator, rounds: int) -> np.ndarray:
    """Return Student's noise with 3 degrees of freedom, scaled to 5 %."""
    return generator.standard_t(3, (CASES, rounds)) * 0.05 / math.sqrt(3)


def spoiled(generator: np.random.Generator, rounds: int) -> np.ndarray:
    """Return noise of 5 %, with each tenth pass slower by a quarter on average."""
    slower = generator.exponential(0.25, (CASES, rounds))
    hit = generator.random((CASES, rounds)) < 0.1
    return normal(generator, rounds) - np.where(hit, slower, 0)


@pytest.mark.parametrize("noise", [normal, heavy_tailed, spoiled])
@pytest.mark.parametrize("rounds", [3, 6, 12, 24])
def test_a_bound_on_the_ratio_of_two_configs_errs_as_often_as_it_says(
    rounds: int, noise: Callable[[np.random.Generator, int], np.ndarray]
) -> None:
    """Seeded: an error of 5 % comes out as 5 %, or less where noise has long tails."""
    generator = np.random.default_rng(rounds)
    ratios = noise(generator, rounds) - noise(generator, rounds)

    lows = [lower_bound(case, 0.05) for case in ratios.tolist()]
    highs = [upper_bound(case, 0.05) for case in ratios.tolist()]

    too_high = sum(low is not None and low > 0 for low in lows) / CASES
    too_low = sum(high is not None and high < 0 for high in highs) / CASES
    assert 0.025 < too_high < 0.061  # 0.05, and three standard errors
    assert 0.025 < too_low < 0.061


def test_rates_that_were_read_apart_are_compared_by_their_medians() -> None:
    """With Welch's interval of the logarithms, worked out by hand here."""
    ratio = unpaired_ratio([2.0, 2.2, 2.4], [1.0, 1.1, 1.0, 1.2], error=0.05)

    # logs: means 0.7857 and 0.0694, variances of the means 0.00277 and 0.00192; by
    # Welch and Satterthwaite 4 whole degrees of freedom, whose quantile is 2.776
    assert ratio.median == pytest.approx(2.2 / 1.05)
    assert ratio.low == pytest.approx(math.exp(0.7163 - 2.776 * 0.06852), rel=0.002)
    assert ratio.high == pytest.approx(math.exp(0.7163 + 2.776 * 0.06852), rel=0.002)


def test_a_ratio_to_a_single_reading_has_no_ends() -> None:
    """It shows no scatter."""
    assert unpaired_ratio([2.0], [1.0, 1.1], error=0.05).low is None
    assert unpaired_ratio([2.0, 2.1], [1.0], error=0.05).high is None


def test_readings_without_scatter_are_taken_at_their_word() -> None:
    """Three equal ones on both sides; two are given the usual noise."""
    equal = unpaired_ratio([2.0] * 3, [1.0] * 3, error=0.05)
    few = unpaired_ratio([2.0] * 2, [1.0] * 2, error=0.05)

    assert (equal.low, equal.high) == pytest.approx((2.0, 2.0))
    assert few.low is not None
    assert few.low < 1.9


@pytest.mark.parametrize("counts", [(6, 6), (3, 12), (24, 6)])
def test_intervals_of_unpaired_ratios_miss_as_often_as_they_say(
    counts: tuple[int, int],
) -> None:
    """Equal configs, one of them with thrice the noise."""
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(CASES // 2):
        rates = np.exp(rng.normal(0, 0.05, counts[0])).tolist()
        others = np.exp(rng.normal(0, 0.15, counts[1])).tolist()
        found = unpaired_ratio(rates, others, error=0.05)
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 1 <= found.high

    assert missed / (CASES // 2) < 0.07
