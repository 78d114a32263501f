"""What is proposed, who is raced, and how likely a config is said to be enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.search.cost_model import CostModel
from autoloader.search.question import Chance
from autoloader.search.selection import simplicity
from autoloader.search.strategy import LEAST_GAIN, SETTLED, Strategy
from autoloader.values.config import LoaderConfig
from autoloader.values.target import Target
from tests.search.configs import config, configs_up_to
from tests.search.replayed import NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Readings = dict[LoaderConfig, list[float]]

MODEL = CostModel(example_s=0.01, example_cpu_s=0.01, cpus=4.0, epoch_examples=100_000)
"""100 examples a second without workers, 400 with as many as there are CPUs."""

SHARE_95 = Target(share_of_best=0.95)


CONFIGS = configs_up_to(6)


def strategy(target: Target = SHARE_95, *, seed: int = 0) -> Strategy:
    """Return the strategy of a space of 25 configs."""
    return Strategy(
        configs=CONFIGS, batch_sizes=(64,), model=MODEL, target=target, seed=seed
    )


def test_the_strategy_of_a_space_may_choose_all_of_it_and_what_is_named() -> None:
    """Each config once, and the named one last."""
    outside = config(9)

    made = Strategy.of(NARROW, MODEL, SHARE_95, seed=3, also=[config(2), outside])

    assert made.configs == (*NARROW.configs(), outside)
    assert made.batch_sizes == NARROW.batch_size
    assert (made.model, made.target, made.seed) == (MODEL, SHARE_95, 3)


def by_cores(tried: LoaderConfig) -> float:
    """Return a rate that rises up to four workers."""
    return 100.0 * min(max(tried.num_workers, 1), 4)


def explored(
    target: Target,
    rate: Callable[[LoaderConfig], float] = by_cores,
    excluded: Collection[LoaderConfig] = (),
) -> tuple[Strategy, Readings]:
    """Return a strategy, and one reading of whatever it proposed until it ended."""
    asked, readings = strategy(target), {config(0): [rate(config(0))]}
    while (proposal := asked.propose(readings, excluded)) is not None:
        assert proposal.config not in readings
        readings[proposal.config] = [rate(proposal.config)]
    return asked, readings


targets = st.one_of(
    st.builds(Target, examples_per_s=st.floats(1.0, 1e5)),
    st.builds(Target, share_of_best=st.floats(0.3, 1.0)),
)
readings_of_any = st.dictionaries(
    st.sampled_from(CONFIGS),
    st.lists(st.floats(1.0, 1e5), min_size=1, max_size=12),
    max_size=10,
)
some_configs = st.sets(st.sampled_from(CONFIGS), max_size=24)


@settings(max_examples=60)
@given(targets, readings_of_any, some_configs)
def test_only_what_is_untried_and_allowed_is_proposed(
    target: Target, readings: Readings, excluded: set[LoaderConfig]
) -> None:
    """For any study so far; what it is for is a share of the possible truths."""
    found = strategy(target).propose(readings, excluded)

    if found is not None:
        assert found.config in CONFIGS
        assert found.config not in readings
        assert found.config not in excluded
        assert found.unserved <= 1
        assert LEAST_GAIN <= found.gain <= 2 * found.unserved  # a truth asks for two
        assert found.unserved > SETTLED


@settings(max_examples=60)
@given(targets, readings_of_any, some_configs, st.integers(1, 6))
def test_finalists_were_measured_and_may_be_chosen(
    target: Target, readings: Readings, excluded: set[LoaderConfig], limit: int
) -> None:
    """For any study: one at least where there is one, and no more than allowed."""
    found = strategy(target).finalists(readings, excluded, limit=limit)

    able = readings.keys() - excluded
    assert set(found) <= able
    assert len(found) == len(set(found)) <= limit
    assert bool(found) == bool(able)


@settings(max_examples=60)
@given(targets, readings_of_any, some_configs)
def test_chances_are_probabilities_of_each_measured_config(
    target: Target, readings: Readings, excluded: set[LoaderConfig]
) -> None:
    """For any study; those that may not be chosen have none."""
    found = strategy(target).chances(readings, excluded)

    assert found.keys() == readings.keys() - excluded
    for chance in found.values():
        shares = (chance.meets, chance.clearly, chance.matters)
        assert all(0 <= share <= 1 for share in shares)
    # in each truth one is the choice; where a share is wanted, another may be the best
    most = 1 if target.share_of_best is None else 2
    choosable = found.keys() & set(CONFIGS)
    together = sum(chance.matters for chance in found.values())
    assert not choosable or 1 - 1e-9 <= together <= most + 1e-9


def test_nothing_is_proposed_where_everything_was_tried() -> None:
    """However little is known of it."""
    readings = {item: [100.0] for item in CONFIGS}

    assert strategy().propose(readings) is None


def test_nothing_is_proposed_where_nothing_else_may_be_chosen() -> None:
    """All others are known to fail."""
    others = [item for item in CONFIGS if item != config(0)]

    assert strategy().propose({config(0): [100.0]}, others) is None


def test_what_is_not_known_is_proposed_first() -> None:
    """One process alone tells nothing of what workers bring."""
    found = strategy().propose({config(0): [100.0]})

    assert found is not None
    assert found.config.num_workers >= 2
    assert found.unserved > 0.5


@pytest.mark.parametrize(
    ("target", "workers"),
    [
        (SHARE_95, 4),
        (Target(examples_per_s=290.0), 3),
        (Target(examples_per_s=190.0), 2),
        (Target(examples_per_s=90.0), 0),
    ],
)
def test_a_search_comes_by_the_simplest_config_that_is_enough(
    target: Target, workers: int
) -> None:
    """Within a few trials of 25 configs, whatever is wanted."""
    asked, readings = explored(target)

    raced = asked.finalists(readings, limit=5)

    assert config(workers) in raced
    assert len(readings) <= 12


def test_a_rate_that_is_easily_met_needs_no_fast_config() -> None:
    """The best is of no interest where no share of it is wanted."""
    _, readings = explored(Target(examples_per_s=50.0))

    assert readings.keys() == {config(0)}


def test_a_rate_out_of_reach_is_looked_for_at_the_top() -> None:
    """The best is told then; nothing is likely to be enough."""
    target = Target(examples_per_s=4000.0)

    asked, readings = explored(target)

    assert max(by_cores(item) for item in readings) == 400.0
    assert max(item.meets for item in asked.chances(readings).values()) < 0.02
    assert by_cores(asked.finalists(readings, limit=5)[0]) == 400.0


def test_a_disk_that_more_readers_slow_down_is_understood() -> None:
    """The best is in the middle, and no config beyond it is chosen."""

    def crowded(tried: LoaderConfig) -> float:
        return {0: 100.0, 1: 110.0, 2: 200.0, 3: 150.0}.get(tried.num_workers, 90.0)

    asked, readings = explored(SHARE_95, crowded)

    assert config(2) in asked.finalists(readings, limit=5)


def test_what_is_known_to_fail_is_no_best_to_take_a_share_of() -> None:
    """Four workers and more cannot run: three have all of what is left."""
    failing = [item for item in CONFIGS if item.num_workers > 3]

    asked, readings = explored(SHARE_95, excluded=failing)
    often = {item: rates * 12 for item, rates in readings.items()}

    assert asked.chances(often, failing)[config(3)].meets > 0.95


@pytest.mark.parametrize(
    "target", [Target(examples_per_s=300.0), Target(share_of_best=0.75)]
)
def test_a_config_read_far_above_the_target_is_nearly_sure_to_meet_it(
    target: Target,
) -> None:
    """And one far below is nearly sure not to: a rate, or a share of 400."""
    readings = {
        config(0): [100.0] * 12,
        config(2): [200.0] * 12,
        config(3): [300.0] * 12,
        config(5): [400.0] * 12,
    }

    chances = strategy(target).chances(readings)
    found = {key: chance.meets for key, chance in chances.items()}

    assert found[config(0)] < 0.01
    assert found[config(2)] < 0.01
    assert found[config(5)] > 0.99
    assert found[config(3)] > 0.5  # the zone below the target counts as meeting it


def test_a_higher_rate_is_at_least_as_likely_to_be_enough() -> None:
    """In steps of a few percent around the target."""
    shares = [
        strategy(Target(examples_per_s=300.0))
        .chances({config(0): [100.0] * 6, config(3): [300.0 * factor] * 6})[config(3)]
        .meets
        for factor in (0.8, 0.9, 0.95, 0.97, 1.0, 1.05, 1.2)
    ]

    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] > 0.95


def test_the_less_was_tried_the_likelier_the_fastest_was_not() -> None:
    """Two workers of up to six, four CPUs; all that there is; what cannot be chosen."""
    few = {config(0): [100.0] * 6, config(2): [200.0] * 6}
    every = {item: [by_cores(item)] * 6 for item in CONFIGS}
    more = [item for item in CONFIGS if item.num_workers > 2]
    asked = strategy()

    likely, less, none = (
        asked.untried(few),
        asked.untried(few, more),
        asked.untried(every),
    )

    assert likely is not None
    assert less is not None
    assert likely > 0.9
    assert less < 0.7  # two workers that are kept, or prefetch more, may be faster
    assert none == 0.0


@pytest.mark.parametrize(
    ("target", "readings"),
    [(Target(examples_per_s=300.0), {config(0): [100.0]}), (SHARE_95, {})],
)
def test_where_nothing_hangs_on_the_fastest_it_is_not_asked(
    target: Target, readings: Readings
) -> None:
    """A rate is met whatever else there is; without a reading nothing is known."""
    assert strategy(target).untried(readings) is None


OUTSIDE = LoaderConfig.canonical(num_workers=5, prefetch_factor=9, batch_size=64)


def test_what_the_user_does_not_allow_is_measured_for_comparison_only() -> None:
    """It is neither a finalist by its merits nor the best, and is never chosen."""
    readings = {config(0): [100.0] * 6, config(2): [200.0] * 6, OUTSIDE: [900.0] * 6}

    asked = strategy()

    assert asked.finalists(readings, limit=1) == (config(2),)
    chances = asked.chances(readings)
    assert chances[config(2)].meets > 0.9
    assert chances[OUTSIDE] == Chance(meets=0.0, clearly=0.0, matters=0.0)


def test_a_config_that_may_not_be_chosen_settles_nothing() -> None:
    """However fast it is: the allowed ones are searched all the same."""
    only_outside = {OUTSIDE: [5000.0] * 6}

    found = strategy(Target(examples_per_s=300.0)).propose(only_outside)

    assert found is not None
    assert found.config in CONFIGS


def test_a_config_that_serves_all_has_all_of_the_gain() -> None:
    """A rate in reach asks for one config a truth, a share for two."""
    question = strategy(Target(examples_per_s=1.0)).propose({OUTSIDE: [5000.0] * 6})

    assert question is not None
    assert question.config == config(0)
    assert question.gain == pytest.approx(1.0)


def test_the_same_readings_have_the_same_answer() -> None:
    """Else one look ends a race that the next would have gone on with."""
    asked = strategy()
    readings = {config(0): [100.0], config(3): [270.0], config(4): [290.0, 300.0]}

    assert asked.chances(readings) == asked.chances(readings)
    assert asked.finalists(readings, limit=5) == asked.finalists(readings, limit=5)


@pytest.mark.parametrize(("share", "is_raced"), [(0.98, False), (1.03, True)])
def test_a_rate_is_to_be_met_some_other_time_as_well(
    share: float, is_raced: bool
) -> None:
    """No reading tells how fast the machine is then: what is just enough never is."""
    readings = {
        config(0): [100.0] * 24,
        config(3): [300.0] * 24,
        config(4): [400.0] * 24,
    }

    found = strategy(Target(examples_per_s=300.0 / share)).finalists(readings, limit=5)

    assert (config(3) in found) is is_raced
    assert is_raced or config(4) in found


def test_no_finalist_is_only_there_to_fill_a_place() -> None:
    """Two configs answer every question; four others would cost them rounds."""
    readings = {config(count): [by_cores(config(count))] * 20 for count in range(7)}

    found = strategy().finalists(readings, limit=7)

    assert config(4) in found
    assert config(0) not in found
    assert config(1) not in found
    assert config(2) not in found


def test_the_same_seed_proposes_the_same() -> None:
    """So that a study can be repeated."""
    readings = {config(0): [100.0], config(3): [270.0]}

    assert strategy(seed=3).propose(readings) == strategy(seed=3).propose(readings)


def test_of_equally_useful_configs_the_simplest_is_proposed() -> None:
    """Nothing is known of any of them but that they are like each other."""
    found = strategy(Target(examples_per_s=1.0)).propose({})

    assert found is not None
    assert found.config == min(CONFIGS, key=lambda item: simplicity(item, (64,)))
    assert math.isclose(found.unserved, 1.0)
