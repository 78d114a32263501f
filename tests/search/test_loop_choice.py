"""The simplest config whose training loop is fed is chosen, by loops alone."""

from collections.abc import Mapping

import pytest

from autoloader.search.loop_choice import (
    candidates,
    choose_fed,
    is_settled,
    worth_searching,
)
from autoloader.search.loops import Loops
from autoloader.search.selection import Choice
from autoloader.values.config import LoaderConfig
from tests.search.looped import LoopTable, config, loop, raced

ZERO, ONE, TWO, FOUR = map(config, (0, 1, 2, 4))


def chosen(waits_s: Mapping[LoaderConfig, tuple[float, ...]], **more: object) -> Choice:
    """Return the choice among loops that wait so long for each step of 0.2 s."""
    return choose_fed(raced(LoopTable(waits_s)), batch_sizes=(8,), **more)  # type: ignore[arg-type]


def test_a_step_that_is_slow_gets_no_workers() -> None:
    """Loading takes a hundredth of a step: nothing simpler feeds it, nor need it."""
    found = chosen({ZERO: (0.002,), TWO: (0.0,)})

    assert (found.config, found.state) == (ZERO, "met")
    assert found.reason == (
        "the simplest of 2 whose training loop waits less than 5 % of its time (1 %) "
        "and is not seen to be more than 3 % slower than the fastest, in 4 rounds"
    )


def test_the_simplest_that_feeds_the_step_is_chosen() -> None:
    """Four workers gain nothing over two."""
    found = chosen({ZERO: (0.1,), ONE: (0.05,), TWO: (0.004,), FOUR: (0.0,)})

    assert found.config == TWO


def test_a_loop_that_waits_little_but_is_slower_is_not_chosen() -> None:
    """4.8 % of waiting is fed, and 5 % slower than the fastest."""
    assert chosen({ONE: (0.01,), TWO: (0.0,)}).config == TWO


def test_where_what_feeds_the_step_slows_training_the_fastest_loop_is_told() -> None:
    """Workers may take the CPUs that the step computes with."""
    rounds = tuple({ONE: 30.0, TWO: 40.0} for _ in range(4))
    fed, starved = loop(1, wait_s=0.0), loop(2, wait_s=0.1)
    loops = Loops(
        step="train.py:step",
        consumer=(loop(None, wait_s=0.0),),
        rounds=rounds,
        stopped_because="all_rounds",
        error=0.05,
        readings={ONE: (fed,) * 4, TWO: (starved,) * 4},
        failed={},
    )

    found = choose_fed(loops, batch_sizes=(8,))

    assert (found.config, found.state, found.best) == (None, "not_met", TWO)
    assert found.reason == (
        f"{ONE.describe()} keeps the step fed, and its training loop is 25 % slower "
        f"than the fastest, {TWO.describe()}, which waits 33 % of its time, in 4 "
        "rounds: workers take from the step what it computes with"
    )


def test_where_none_feeds_the_step_the_closest_is_told() -> None:
    """The fastest loop is the best there is."""
    found = chosen({ZERO: (0.2,), TWO: (0.1,)})

    assert (found.config, found.state, found.best) == (None, "not_met", TWO)
    assert found.reason == (
        f"no config keeps the step fed; closest: {TWO.describe()} waits 33 % of its "
        "time"
    )


def test_where_waits_scatter_around_the_limit_nothing_is_chosen() -> None:
    """More rounds would tell."""
    found = chosen({ZERO: (0.2,), TWO: (0.002, 0.02)})

    assert (found.config, found.state) == (None, "undecided")
    assert found.reason.startswith(
        "after 4 rounds of training loops it cannot be told whether the step is fed; "
        f"closest: {TWO.describe()} waits "
    )


def test_what_may_not_be_chosen_is_not_the_fastest_either() -> None:
    """Its data was wrong, say."""
    found = chosen({ONE: (0.01,), TWO: (0.0,)}, excluded={TWO})

    assert (found.config, found.best) == (ONE, ONE)


def test_where_every_loop_failed_nothing_is_chosen() -> None:
    """And it is said so."""
    table = LoopTable({TWO: (0.0,)}, failing=frozenset({TWO}))

    found = choose_fed(raced(table), batch_sizes=(8,))

    assert (found.state, found.best) == ("not_met", None)
    assert found.reason == "no training loop came to its end"


def test_candidates_are_what_is_enough_the_simplest_and_the_fastest() -> None:
    """Then others that are enough, from simple to complex."""
    rates = {ZERO: 10.0, ONE: 20.0, TWO: 45.0, FOUR: 60.0, config(3): 50.0}

    found = candidates(rates, chosen=TWO, wanted=38.0, batch_sizes=(8,))

    assert found == (TWO, ZERO, FOUR, config(3), ONE)
    assert candidates(rates, chosen=TWO, wanted=38.0, batch_sizes=(8,), limit=2) == (
        TWO,
        ZERO,
    )


def test_of_as_many_workers_the_simplest_is_a_candidate_unless_another_gains() -> None:
    """A deeper queue that is 1 % faster is not worth a loop."""
    deep = LoaderConfig.canonical(num_workers=2, batch_size=8, prefetch_factor=4)
    plain = {ZERO: 10.0, TWO: 45.0, FOUR: 60.0}

    alike = candidates(
        {**plain, deep: 45.5}, chosen=None, wanted=38.0, batch_sizes=(8,)
    )
    faster = candidates(
        {**plain, deep: 55.0}, chosen=None, wanted=38.0, batch_sizes=(8,)
    )

    assert alike == (ZERO, FOUR, TWO)
    assert faster == (ZERO, FOUR, deep)


def test_without_anything_measured_there_are_no_candidates() -> None:
    """Nothing can be raced."""
    assert candidates({}, chosen=None, wanted=38.0, batch_sizes=(8,)) == ()


@pytest.mark.parametrize(
    ("example_s", "kept"),
    [(0.01, (ONE, TWO)), (0.002, (ZERO, ONE, TWO))],
)
def test_a_loop_without_workers_is_searched_where_it_may_feed_the_step(
    example_s: float, kept: tuple[LoaderConfig, ...]
) -> None:
    """A step takes 0.025 s an example: loading by turns adds 29 %, or 7 %."""
    found = worth_searching(
        (ZERO, ONE, TWO), example_s=example_s, step_examples_per_s=40.0
    )

    assert found == kept


def test_where_no_workers_are_allowed_the_search_is_not_left_empty() -> None:
    """The best there is has to be told."""
    found = worth_searching((ZERO,), example_s=1.0, step_examples_per_s=40.0)

    assert found == (ZERO,)


def settled_after(waits_s: Mapping[LoaderConfig, tuple[float, ...]]) -> int:
    """Return the rounds after which loops are settled, or the last ones."""
    found = raced(
        LoopTable(waits_s),
        looks=(4, 8),
        is_settled=lambda loops: is_settled(loops, batch_sizes=(8,)),
    )
    return len(found.rounds)


def test_loops_end_where_the_choice_is_known() -> None:
    """Nobody has to wait for rounds that change nothing."""
    assert settled_after({ZERO: (0.002,), TWO: (0.0,)}) == 4
    assert settled_after({ZERO: (0.2,), TWO: (0.1,)}) == 4


def test_loops_go_on_where_a_simpler_config_may_be_enough() -> None:
    """Its waits scatter, or its speed does."""
    assert settled_after({ZERO: (0.002, 0.02), TWO: (0.0,)}) == 8
    assert settled_after({ONE: (0.0, 0.009), TWO: (0.004,)}) == 8


def test_rounds_that_scatter_do_not_speak_against_a_simpler_config() -> None:
    """Both are fed: 4 % by rounds that differ by 10 % is chance, by 1 % it is not."""

    def chosen_of(ones: tuple[float, ...]) -> LoaderConfig | None:
        loops = Loops(
            step="train.py:step",
            consumer=(loop(None, wait_s=0.0),),
            rounds=tuple({ONE: rate, TWO: 40.0} for rate in ones),
            stopped_because="all_rounds",
            error=0.05,
            readings={ONE: (loop(1, wait_s=0.0),) * 4, TWO: (loop(2, wait_s=0.0),) * 4},
            failed={},
        )
        return choose_fed(loops, batch_sizes=(8,)).config

    assert chosen_of((34.0, 43.0, 35.0, 42.0)) == ONE
    assert chosen_of((38.2, 38.0, 38.2, 38.0)) == TWO
