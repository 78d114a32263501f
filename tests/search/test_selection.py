"""What is chosen, and what the knobs do: pure functions of readings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.measure.intervals import Interval
from autoloader.search.selection import (
    HOPELESS,
    LIKELY,
    PROBABLE,
    Choice,
    choose,
    knob_between,
    knob_effects,
    meets,
    simplicity,
)
from autoloader.search.standings import Judgement, Standings
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import (
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from autoloader.values.target import Target

BATCH_SIZES = (64, 32, 128)
RATE_1000 = Target(examples_per_s=1000)


def config(
    num_workers: int = 2,
    *,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    persistent_workers: bool = False,
    batch_size: int | None = 64,
) -> LoaderConfig:
    """Return a config that differs from the usual one in what is named."""
    return LoaderConfig.canonical(
        num_workers=num_workers,
        prefetch_factor=prefetch_factor,
        pin_memory=pin_memory,
        persistent_workers=persistent_workers,
        batch_size=batch_size,
    )


def reading(rate: float) -> Reading:
    """Return a reading of a whole epoch of 1,000 examples at that epoch rate."""
    return Reading(
        purpose="search",
        num_workers=0,
        kept=False,
        arrivals_s=(500 / rate, 1000 / rate),
        counts=(500, 500),
        warm_batches=1,
        steady_batches=1,
        total_s=1000 / rate,
        epoch_examples=1000,
    )


def outcome(tried: LoaderConfig, *rates: float, memory: int | None = None) -> Outcome:
    """Return a measured outcome with one reading for each rate."""
    weighed = None
    if memory is not None:
        weighed = MemoryReading(
            full_queue_bytes=memory,
            epoch_end_bytes=(),
            queued_bytes=0,
            queue_was_full=True,
        )
    return Outcome(
        number=0,
        config=tried,
        status=Status.MEASURED,
        source="search",
        isolation="fork",
        seconds=1.0,
        verdict=Verdict(passed=True, examples=1, of=1, epochs=2, compared="rows"),
        readings=tuple(reading(rate) for rate in rates),
        memory=weighed,
    )


def standings(
    rates: dict[LoaderConfig, float], target: Target = RATE_1000
) -> Standings:
    """Return the standings after six rounds without scatter."""
    return Standings.of([rates] * 6, target)


def raced(
    rates: dict[LoaderConfig, list[float]], target: Target = RATE_1000
) -> Standings:
    """Return the standings after rounds with the rates given in turn."""
    rounds = [
        dict(zip(rates, line, strict=True))
        for line in zip(*rates.values(), strict=True)
    ]
    return Standings.of(rounds, target)


UNDECIDED_RATES = [800.0, 1300.0] * 3


# Simplicity


@pytest.mark.parametrize(
    ("simpler", "more_complex"),
    [
        (config(1, persistent_workers=True, pin_memory=True), config(2)),
        (config(pin_memory=True, prefetch_factor=8), config(persistent_workers=True)),
        (config(prefetch_factor=8), config(pin_memory=True)),
        (config(prefetch_factor=2, batch_size=128), config(prefetch_factor=4)),
        (config(batch_size=64), config(batch_size=32)),
        (config(batch_size=128), config(batch_size=7)),
        (config(0), config(1, prefetch_factor=1)),
    ],
)
def test_configs_are_ordered_by_one_knob_after_the_other(
    simpler: LoaderConfig, more_complex: LoaderConfig
) -> None:
    """Workers first, the place in the list of batch sizes last."""
    assert simplicity(simpler, BATCH_SIZES) < simplicity(more_complex, BATCH_SIZES)


def test_a_config_without_a_batch_size_has_a_place() -> None:
    """Where the dataset makes batches, None is the one allowed size."""
    assert simplicity(config(batch_size=None), [None]) == (2, False, False, 2, 0)


# Choice


def test_the_simplest_config_that_meets_the_target_is_chosen() -> None:
    """Not the fastest of them."""
    choice = choose(
        standings({config(1): 500.0, config(2): 1200.0, config(4): 3000.0}),
        memory={},
        batch_sizes=BATCH_SIZES,
    )

    assert choice == Choice(
        config=config(2),
        state="met",
        best=config(4),
        reason="the simplest of 3 raced configs that meets 1,000 examples/s",
    )


def test_a_simpler_config_that_is_undecided_is_passed_over_and_said() -> None:
    """What is not shown is not recommended."""
    choice = choose(
        raced({config(1): UNDECIDED_RATES, config(2): [1200.0] * 6}),
        memory={},
        batch_sizes=BATCH_SIZES,
    )

    assert choice.config == config(2)
    assert choice.reason == (
        "the simplest of 2 raced configs that meets 1,000 examples/s; "
        f"{config(1).describe()} is simpler and was 1.05 of what is wanted, "
        "read 6 times: too few to tell"
    )


def test_where_each_config_fails_the_target_is_not_met() -> None:
    """The best one is named with what it reached."""
    choice = choose(
        standings({config(1): 500.0, config(2): 700.0}),
        memory={},
        batch_sizes=BATCH_SIZES,
    )

    assert choice == Choice(
        config=None,
        state="not_met",
        best=config(2),
        reason=(
            "no config reached 1,000 examples/s; best was 700 examples/s "
            "(2 workers, prefetch 2, batch 64)"
        ),
    )


def test_where_one_config_may_meet_it_the_choice_is_undecided() -> None:
    """It is too noisy to tell, which is something else than too slow."""
    choice = choose(
        raced({config(1): [500.0] * 6, config(2): UNDECIDED_RATES}),
        memory={},
        batch_sizes=BATCH_SIZES,
    )

    assert choice == Choice(
        config=None,
        state="undecided",
        best=config(2),
        reason=(
            "after 6 rounds it cannot be told whether a config meets 1,000 examples/s; "
            "closest: 1,050 examples/s (2 workers, prefetch 2, batch 64)"
        ),
    )


def test_what_is_hopeless_by_all_readings_leaves_the_target_not_met() -> None:
    """More rounds were not asked of it: twice the time would end at the same look."""
    choice = choose(
        raced({config(1): [500.0] * 6, config(2): UNDECIDED_RATES}),
        memory={},
        batch_sizes=BATCH_SIZES,
        likely={config(1): 0.0, config(2): HOPELESS},
    )

    assert choice.state == "not_met"
    assert choice.best == config(2)


def test_the_likeliest_is_chosen_where_none_is_likely_enough() -> None:
    """Where it meets the target more likely than not, and the reason says so."""
    choice = choose(
        raced({config(1): UNDECIDED_RATES, config(2): UNDECIDED_RATES[::-1]}),
        memory={},
        batch_sizes=BATCH_SIZES,
        likely={config(1): 0.4, config(2): PROBABLE},
    )

    assert choice.config == config(2)
    assert choice.probability == PROBABLE
    assert choice.reason.startswith(
        "the likeliest of 2 raced configs to meet 1,000 examples/s, with a probability "
        "of 0.50 by all readings of the study"
    )


def test_one_round_is_too_few_for_a_choice() -> None:
    """The reason counts it."""
    choice = choose(
        Standings.of([{config(2): 5000.0}], RATE_1000),
        memory={},
        batch_sizes=BATCH_SIZES,
    )

    assert choice.state == "undecided"
    assert choice.reason.startswith("after 1 round it cannot be told")


def test_what_does_not_fit_the_memory_is_not_chosen_and_not_the_best() -> None:
    """A share is wanted of the best that fits."""
    target = Target(share_of_best=0.95, memory_bytes=100)
    memory = {config(2): 50, config(4): 100, config(8): 101}

    choice = choose(
        standings({config(2): 990.0, config(4): 1000.0, config(8): 9000.0}, target),
        memory=memory,
        batch_sizes=BATCH_SIZES,
    )

    assert choice.config == config(2)
    assert choice.best == config(4)


def test_where_nothing_fits_the_memory_the_reason_says_so() -> None:
    """The fastest is told all the same."""
    target = Target(examples_per_s=1000, memory_bytes=2**30)

    choice = choose(
        standings({config(2): 2000.0}, target),
        memory={config(2): 2**31},
        batch_sizes=BATCH_SIZES,
    )

    assert choice == Choice(
        config=None,
        state="not_met",
        best=config(2),
        reason="no raced config fits into 1.0 GiB of memory",
    )


def test_an_excluded_config_is_not_chosen() -> None:
    """It failed the whole verification, say; the next simplest takes its place."""
    table = standings({config(2): 1200.0, config(4): 1300.0})

    left = choose(table, memory={}, batch_sizes=BATCH_SIZES, excluded={config(2)})
    none_left = choose(
        table, memory={}, batch_sizes=BATCH_SIZES, excluded={config(2), config(4)}
    )

    assert left.config == config(4)
    assert none_left.state == "not_met"
    assert none_left.reason == "each raced config was excluded"


def test_a_race_without_rounds_leads_to_no_choice() -> None:
    """There is not even a best one."""
    choice = choose(standings({}), memory={}, batch_sizes=BATCH_SIZES)

    assert choice == Choice(
        config=None,
        state="not_met",
        best=None,
        reason="no config came through a race",
    )


def test_what_rounds_leave_open_is_chosen_where_all_readings_make_it_likely() -> None:
    """The reason says with which probability."""
    table = raced({config(1): UNDECIDED_RATES, config(2): [1200.0] * 6})

    choice = choose(
        table, memory={}, batch_sizes=BATCH_SIZES, likely={config(1): LIKELY}
    )

    assert choice == Choice(
        config=config(1),
        state="met",
        best=config(2),
        reason=(
            "the simplest of 2 raced configs that meets 1,000 examples/s, "
            "with a probability of 0.95 by all readings of the study"
        ),
        probability=LIKELY,
    )


def test_a_choice_that_the_rounds_show_has_its_probability_too() -> None:
    """The reason does not need it."""
    choice = choose(
        standings({config(2): 1200.0}),
        memory={},
        batch_sizes=BATCH_SIZES,
        likely={config(2): 0.8},
    )

    assert choice.probability == 0.8
    assert "probability" not in choice.reason


@pytest.mark.parametrize(
    ("rates", "share", "expected"),
    [
        (UNDECIDED_RATES, LIKELY, True),
        (UNDECIDED_RATES, LIKELY - 0.01, False),
        ([500.0] * 6, 1.0, False),
        ([1500.0] * 6, 0.0, True),
    ],
)
def test_a_probability_counts_only_where_the_rounds_are_too_few_to_tell(
    rates: list[float], share: float, *, expected: bool
) -> None:
    """What they show, no model overrules."""
    standing = raced({config(2): rates})[config(2)]

    assert meets(standing, {config(2): share}) is expected


def test_what_is_open_is_not_chosen_where_nothing_is_known_of_its_odds() -> None:
    """No probability is none."""
    standing = raced({config(2): UNDECIDED_RATES})[config(2)]

    assert not meets(standing, {})


configs = st.builds(
    config,
    st.integers(0, 6),
    prefetch_factor=st.sampled_from([1, 2, 4]),
    pin_memory=st.booleans(),
    persistent_workers=st.booleans(),
    batch_size=st.sampled_from([32, 64, 128]),
)
rates = st.one_of(st.none(), st.floats(500, 2000))
targets = st.one_of(
    st.builds(Target, examples_per_s=st.floats(500, 2000), memory_bytes=st.just(100)),
    st.builds(Target, share_of_best=st.floats(0.3, 1), memory_bytes=st.just(100)),
)


@st.composite
def races(draw: st.DrawFn) -> tuple[Standings, dict[LoaderConfig, int]]:
    """Return the standings of any race, and the memory of some of its configs."""
    raced_configs = draw(st.lists(configs, min_size=1, max_size=5, unique=True))
    size = len(raced_configs)
    lines = draw(st.lists(st.lists(rates, min_size=size, max_size=size), max_size=8))
    rounds = [dict(zip(raced_configs, line, strict=True)) for line in lines]
    memory = draw(st.dictionaries(st.sampled_from(raced_configs), st.integers(50, 150)))
    return Standings.of(rounds, draw(targets)), memory


@given(races(), st.dictionaries(configs, st.floats(0, 1), max_size=20))
def test_no_choice_is_more_complex_than_another_that_is_enough(
    race: tuple[Standings, dict[LoaderConfig, int]], likely: dict[LoaderConfig, float]
) -> None:
    """For any race and odds: nothing simpler meets the target and fits the memory.

    Where none is enough, the likeliest may be chosen, and nothing else.
    """
    table, memory = race

    choice = choose(table, memory=memory, batch_sizes=BATCH_SIZES, likely=likely)

    fitting = table.without({tried for tried, size in memory.items() if size > 100})
    enough = [standing.config for standing in fitting.table if meets(standing, likely)]
    simplest = min(enough, key=lambda it: simplicity(it, BATCH_SIZES), default=None)
    open_ones = [
        standing.config
        for standing in fitting.table
        if standing.judgement is Judgement.UNDECIDED
    ]
    odds = max((likely.get(config, 0.0) for config in open_ones), default=0.0)
    if enough:
        assert choice.config == simplest
    elif odds >= PROBABLE:
        assert choice.config in open_ones
        assert choice.probability == odds
    else:
        assert choice.config is None
    assert (choice.state == "met") == (choice.config is not None)


@given(races())
def test_no_choice_takes_more_memory_than_allowed(
    race: tuple[Standings, dict[LoaderConfig, int]],
) -> None:
    """For any race: however fast a config is."""
    table, memory = race

    choice = choose(table, memory=memory, batch_sizes=BATCH_SIZES)

    assert choice.config is None or memory.get(choice.config, 0) <= 100


@given(races())
def test_not_met_is_said_only_where_each_config_fails(
    race: tuple[Standings, dict[LoaderConfig, int]],
) -> None:
    """For any race: too noisy to tell is a state of its own."""
    table, memory = race

    choice = choose(table, memory=memory, batch_sizes=BATCH_SIZES)

    fitting = table.without({tried for tried, size in memory.items() if size > 100})
    open_ones = any(
        standing.judgement is Judgement.UNDECIDED for standing in fitting.table
    )
    assert choice.state != "not_met" or not open_ones
    assert choice.state != "undecided" or open_ones


# Knobs


def test_each_knob_has_the_neighbours_that_differ_in_it_alone() -> None:
    """Rates as multiples, memory as differences, values in ascending order."""
    chosen = config(2)
    outcomes = [
        outcome(chosen, 1000.0, memory=100),
        outcome(config(4), 2000.0, memory=180),
        outcome(config(1), 500.0, memory=60),
        outcome(config(2, prefetch_factor=4), 4000.0),
        outcome(config(2, pin_memory=True), 250.0, memory=100),
        outcome(config(4, pin_memory=True), 2000.0, memory=200),
    ]

    effects = knob_effects(outcomes, chosen)

    unpaired = {"low": None, "high": None}
    assert effects == {
        "num_workers": [
            {"value": 1, "rate_ratio": 0.5, **unpaired, "memory_bytes": -40},
            {"value": 4, "rate_ratio": 2.0, **unpaired, "memory_bytes": 80},
        ],
        "prefetch_factor": [
            {"value": 4, "rate_ratio": 4.0, **unpaired, "memory_bytes": None},
        ],
        "pin_memory": [
            {"value": True, "rate_ratio": 0.25, **unpaired, "memory_bytes": 0},
        ],
        "persistent_workers": [],
        "batch_size": [],
    }


def test_neighbours_that_were_raced_are_compared_round_by_round() -> None:
    """Their ratio is that of common rounds, with its interval."""
    outcomes = [outcome(config(2), 1000.0), outcome(config(4), 2000.0)]
    paired = Interval(median=1.9, low=1.8, high=2.0)

    effects = knob_effects(outcomes, config(2), lambda _new, _old: paired)

    (effect,) = effects["num_workers"]
    assert (effect["rate_ratio"], effect["low"], effect["high"]) == (1.9, 1.8, 2.0)


def test_no_workers_is_a_neighbour_in_the_number_of_workers_alone() -> None:
    """There is nothing to prefetch or to keep, so that is no second difference."""
    chosen = config(2, prefetch_factor=4, persistent_workers=True)

    assert knob_between(chosen, config(0)) == "num_workers"
    assert knob_between(config(0), config(3)) == "num_workers"
    assert knob_between(config(0), config(3, prefetch_factor=4)) is None


def test_a_config_is_no_neighbour_of_itself_or_of_one_two_knobs_away() -> None:
    """One difference, no more and no less."""
    assert knob_between(config(2), config(2)) is None
    assert knob_between(config(2), config(4, pin_memory=True)) is None
    assert knob_between(config(2), config(2, batch_size=32)) == "batch_size"


def test_knobs_of_a_config_that_was_not_measured_are_not_known() -> None:
    """There is nothing to compare with."""
    effects = knob_effects([outcome(config(4), 1500.0)], config(2))

    assert all(effect == [] for effect in effects.values())
