"""Costs of simulated loaders: their means, their scatter, and what is refused."""

import math

import numpy as np
import pytest

from autoloader.search.simulated import Cost, SimulatedLoader


@pytest.mark.parametrize(
    "cost",
    [
        Cost(mean_s=0.01),
        Cost(mean_s=0.01, shape="lognormal", tail=0.8),
        Cost(mean_s=0.01, shape="pareto", tail=4.5),
    ],
)
def test_drawn_costs_have_the_mean_and_the_scatter_that_they_state(cost: Cost) -> None:
    """Of half a million examples."""
    drawn = cost.draw(np.random.default_rng(0), (1000, 500))

    assert drawn.mean() == pytest.approx(0.01, rel=0.01)
    assert drawn.std() / drawn.mean() == pytest.approx(cost.scatter, rel=0.1, abs=1e-9)


def test_a_negative_mean_is_refused() -> None:
    """Nothing gives time back."""
    expected = "^mean_s must be at least 0, got -1$"
    with pytest.raises(ValueError, match=expected):
        Cost(mean_s=-1.0)


def test_a_tail_without_a_finite_scatter_is_refused() -> None:
    """Its readings would have no middle to come back to."""
    expected = "^tail of a pareto cost must be above 2, got 2$"
    with pytest.raises(ValueError, match=expected):
        Cost(mean_s=0.01, shape="pareto", tail=2.0)


def test_less_than_a_core_makes_an_example_take_longer() -> None:
    """Of its CPU time, not of its waiting."""
    half = SimulatedLoader(
        cores=0.5, example_cpu=Cost(mean_s=0.004), example_wait=Cost(mean_s=0.01)
    )

    assert half.example_s() == pytest.approx(0.01 + 0.008)


def test_a_batch_differs_from_pass_to_pass_by_what_it_waits_for() -> None:
    """By the root of the examples' number; what they cost is the same each time."""
    loader = SimulatedLoader(
        cores=2,
        example_cpu=Cost(mean_s=0.004, shape="lognormal", tail=1.0),
        example_wait=Cost(mean_s=0.004, shape="lognormal", tail=1.0),
        batch_s=0.0,
        example_bytes=0,
    )

    assert loader.batch_scatter(64) == pytest.approx(math.sqrt(math.e - 1) / 8 / 2)


def test_batches_of_a_pass_differ_by_all_that_their_examples_cost() -> None:
    """Two independent parts, as a share of what a batch takes."""
    loader = SimulatedLoader(
        cores=2,
        example_cpu=Cost(mean_s=0.004, shape="lognormal", tail=1.0),
        example_wait=Cost(mean_s=0.003, shape="lognormal", tail=1.0),
        store_s=0.003,
        batch_s=0.0,
        example_bytes=0,
    )

    expected = math.sqrt(math.e - 1) / 8 * 0.005 / 0.010
    assert loader.unevenness(64) == pytest.approx(expected)


def test_equal_examples_make_even_batches() -> None:
    """There is nothing to average."""
    loader = SimulatedLoader(cores=2, example_cpu=Cost(mean_s=0.004))

    assert loader.unevenness(64) == 0.0
