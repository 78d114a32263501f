"""What is believed of rates: with readings, without them, and beside them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.search.belief import DRAWS, Belief
from autoloader.search.cost_model import CostModel
from autoloader.values.config import LoaderConfig
from tests.search.configs import config, configs_up_to

MODEL = CostModel(
    example_s=0.01, example_cpu_s=0.01, cpus=8.0, epoch_examples=1_000_000
)
"""100 examples a second without workers, 800 with as many as there are CPUs."""


CONFIGS = configs_up_to(12)


def place(tried: LoaderConfig) -> int:
    """Return the column of a config."""
    return CONFIGS.index(tried)


def drawn(
    readings: dict[LoaderConfig, list[float]],
    *,
    seed: int = 0,
    model: CostModel = MODEL,
) -> dict[LoaderConfig, np.ndarray]:
    """Return the possible log rates of each config."""
    draws = Belief(CONFIGS, model, seed=seed).draw(readings)
    assert draws.shape == (DRAWS, len(CONFIGS))
    return {item: draws[:, place(item)] for item in CONFIGS}


def test_without_readings_rates_scatter_around_the_cost_model() -> None:
    """The middle is the model's; how far off it may be is left open."""
    found = drawn({})

    for workers in (1, 2, 4):
        expected = math.log(MODEL.examples_per_s(config(workers)))
        assert np.median(found[config(workers)]) == pytest.approx(expected, abs=0.25)
        assert 0.1 < found[config(workers)].std() < 1.0


def test_draws_pass_through_what_was_read_often() -> None:
    """Far from what the model says, if need be."""
    found = drawn({config(4): [250.0] * 24, config(0): [120.0] * 24})

    assert found[config(4)].mean() == pytest.approx(math.log(250), abs=0.02)
    assert found[config(4)].std() < 0.03
    assert found[config(0)].mean() == pytest.approx(math.log(120), abs=0.02)


def test_one_reading_leaves_more_open_than_many() -> None:
    """A single one may be luck."""
    once, often = (
        drawn({config(0): [100.0], config(4): [400.0] * times})[config(4)].std()
        for times in (1, 24)
    )

    assert often < once / 2


def test_readings_that_scatter_leave_more_open_than_their_middle_says() -> None:
    """Configs that all do as they should are read well; erratic ones are not."""
    even = {config(count): [100.0 * count] for count in (1, 2, 3, 4, 5, 6)}
    uneven = {
        tried: [rates[0] * (0.75 if number % 2 else 1.3)]
        for number, (tried, rates) in enumerate(even.items())
    }

    assert drawn(even)[config(4)].std() < drawn(uneven)[config(4)].std() / 2


def test_neighbours_move_along_and_a_config_far_away_does_so_less() -> None:
    """Four workers are a third faster than thought: so are five, nearly."""
    expected = {workers: [100.0 * workers] * 6 for workers in (1, 2)}
    before = drawn({config(count): rates for count, rates in expected.items()})
    after = drawn(
        {
            **{config(count): rates for count, rates in expected.items()},
            config(4): [520.0] * 6,
        }
    )

    moved = {
        count: after[config(count)].mean() - before[config(count)].mean()
        for count in (1, 4, 5)
    }

    assert moved[4] > 0.15
    assert moved[5] > 0.6 * moved[4]
    assert abs(moved[1]) < 0.2 * moved[4]


def test_another_knob_of_the_same_workers_moves_along() -> None:
    """What holds for prefetch 2 mostly holds for prefetch 4."""
    found = drawn({config(0): [100.0] * 6, config(4): [250.0] * 12})

    beside = found[config(4, 4)]

    assert beside.mean() == pytest.approx(math.log(250), abs=0.05)
    assert beside.std() > found[config(4)].std()


def test_a_ceiling_that_was_read_holds_for_more_workers() -> None:
    """Two, three and four workers do alike: eight hardly do better."""
    readings = {
        config(0): [100.0] * 3,
        config(2): [195.0] * 3,
        config(3): [205.0] * 3,
        config(4): [202.0] * 3,
    }

    found = drawn(readings)[config(8)]

    assert np.median(found) == pytest.approx(math.log(205), abs=0.12)
    assert np.median(drawn({})[config(8)]) > math.log(400)


def test_the_last_answer_is_kept_until_there_is_another_reading() -> None:
    """It is the very answer that would be worked out anew, and nobody may change it."""
    belief, readings = Belief(CONFIGS, MODEL), {config(4): [400.0], config(0): [90.0]}

    first = belief.draw(readings)
    again = belief.draw({tried: list(rates) for tried, rates in readings.items()})
    readings[config(4)].append(300.0)
    later = belief.draw(readings)

    assert again is first
    assert not np.array_equal(later, first)
    assert np.array_equal(later, Belief(CONFIGS, MODEL).draw(readings))
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        first[0, 0] = 0.0


def test_the_same_seed_draws_the_same() -> None:
    """A study that is replayed comes to the same; another seed differs."""
    readings = {config(0): [100.0], config(2): [190.0]}

    first, again, other = (drawn(readings, seed=seed) for seed in (1, 1, 2))

    assert all(np.array_equal(first[item], again[item]) for item in CONFIGS)
    assert not np.array_equal(first[config(4)], other[config(4)])


@given(
    st.floats(1e-6, 10.0),
    st.dictionaries(
        st.sampled_from(CONFIGS),
        st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=30),
        max_size=8,
    ),
)
def test_rates_of_any_size_can_be_believed(
    example_s: float, readings: dict[LoaderConfig, list[float]]
) -> None:
    """For any dataset and any readings: each draw is a rate."""
    model = CostModel(
        example_s=example_s, example_cpu_s=example_s, cpus=2.0, epoch_examples=500
    )

    found = drawn(readings, model=model)

    assert all(np.isfinite(rates).all() for rates in found.values())


def test_a_config_without_a_rate_says_nothing() -> None:
    """It delivered nothing, or was not read yet."""
    silent = drawn({config(2): []})

    assert all(np.array_equal(silent[item], drawn({})[item]) for item in CONFIGS)


def test_configs_of_the_space_are_known() -> None:
    """Others have no rates to draw."""
    belief = Belief(CONFIGS, MODEL)

    assert config(4) in belief
    assert config(99) not in belief
    assert "4 workers" not in belief


def test_repeated_readings_that_scatter_leave_more_open() -> None:
    """The same mean of six readings says less where they lie 20 % apart."""
    noisy = [700.0, 1300.0, 800.0, 1250.0, 900.0, 1150.0]
    mean = math.exp(sum(map(math.log, noisy)) / 6)

    scattered = drawn({config(8): noisy})[config(8)].std()
    level = drawn({config(8): [mean] * 6})[config(8)].std()

    assert scattered > 3 * level
    assert 0.05 < scattered < 0.12


@pytest.mark.parametrize("seed", [-1, 2**70])
def test_any_seed_will_do(seed: int) -> None:
    """PyTorch takes negative ones, so do we."""
    found = drawn({config(2): [200.0]}, seed=seed)

    assert np.isfinite(found[config(4)]).all()
