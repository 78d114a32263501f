"""What a timed pass reads, and when it is too short to be believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from autoloader.measure.planning import (
    LEAST_WINDOW_S,
    MOST_BATCHES,
    MOST_EPOCHS,
    is_too_short,
    loop_plan,
    plan_pass,
    wave_plan,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Reading
from autoloader.values.scope import StreamFacts
from tests.fakes import a_scope, some_facts

if TYPE_CHECKING:
    from autoloader.values.job import PassPlan
    from autoloader.values.scope import Scope

FOUR = LoaderConfig.canonical(num_workers=4, batch_size=10)
LONG = a_scope(1_000_000)


def planned(
    config: LoaderConfig = FOUR,
    *,
    example_s: float = 0.001,
    scope: Scope = LONG,
    limit_s: float = 1000.0,
    known: Reading | None = None,
    cpus: float = 64.0,
) -> PassPlan:
    """Return the plan for examples of so many seconds, half of them CPU time."""
    facts = some_facts(example_s=example_s, cpu_s=example_s / 2)
    return plan_pass(
        config, facts=facts, scope=scope, cpus=cpus, limit_s=limit_s, known=known
    )


def a_reading(
    config: LoaderConfig = FOUR, *, batch_s: float, epochs: int = 0, batches: int = 0
) -> Reading:
    """Return a reading whose batches came one by one, so many seconds apart."""
    plan = wave_plan(config.num_workers)
    total = batches * epochs or plan.total
    arrivals = tuple(batch_s * (place + 1) for place in range(total))
    return Reading(
        purpose="search",
        num_workers=config.num_workers,
        kept=False,
        arrivals_s=arrivals,
        counts=(config.batch_size or 1,) * total,
        warm_batches=plan.warm_batches,
        steady_batches=plan.steady_batches,
        total_s=arrivals[-1],
        epoch_examples=1_000_000,
        epoch_ends_s=arrivals[batches - 1 :: batches] if epochs else (),
    )


def test_four_waves_are_the_rule() -> None:
    """A pass that is neither too slow nor too fast reads what the search asks for."""
    assert planned() == wave_plan(4)


@pytest.mark.parametrize(
    ("limit_s", "warm", "steady"),
    [
        (70.0, 8, 16),
        (60.0, 8, 12),
        (50.0, 8, 8),
        (45.0, 4, 8),
        (30.0, 4, 4),
        (1.0, 4, 4),
    ],
)
def test_slow_examples_are_read_in_fewer_waves(
    limit_s: float, warm: int, steady: int
) -> None:
    """One of one second: a batch of ten comes each 2.5 seconds from four workers."""
    plan = planned(example_s=1.0, limit_s=limit_s)

    assert (plan.warm_batches, plan.steady_batches, plan.tail_batches) == (
        warm,
        steady,
        4,
    )


def test_work_that_burns_cpus_is_predicted_by_the_cpus_there_are() -> None:
    """Four workers on one CPU are no faster than one."""
    plan = planned(example_s=1.0, limit_s=70.0, cpus=1.0)

    assert plan.steady_batches < planned(example_s=1.0, limit_s=70.0).steady_batches


def test_what_was_read_stands_before_what_is_predicted() -> None:
    """A reading that shows slow batches shortens the next one."""
    known = a_reading(batch_s=10.0)

    assert planned(limit_s=60.0, known=known).total < planned(limit_s=60.0).total


def test_a_window_that_was_too_short_grows_to_the_least_window() -> None:
    """A millisecond a batch: 16 batches were 16 ms, 500 are half a second."""
    known = a_reading(batch_s=0.001)

    plan = planned(known=known)

    assert plan.steady_batches == pytest.approx(LEAST_WINDOW_S / 0.001, abs=4)
    assert plan.steady_batches % 4 == 0


def test_a_pass_never_has_more_than_the_most_batches() -> None:
    """However fast they are."""
    plan = planned(known=a_reading(batch_s=1e-7))

    assert plan.steady_batches <= MOST_BATCHES


@pytest.mark.parametrize(("batch_s", "said"), [(0.001, True), (0.05, False)])
def test_a_reading_is_too_short_below_half_of_the_least_window(
    batch_s: float, said: bool
) -> None:
    """So that what was made longer is not made longer again by a hair."""
    assert is_too_short(a_reading(batch_s=batch_s)) is said


def test_a_cold_reading_is_never_too_short() -> None:
    """It cannot be longer than the list that is read once."""
    cold = replace(a_reading(batch_s=0.001), cache="cold")

    assert not is_too_short(cold)


def test_short_epochs_are_read_whole() -> None:
    """An epoch of three batches, of which 28 make a pass, is read nine times."""
    plan = planned(scope=a_scope(30))

    assert plan.epochs == 9


def test_an_epoch_about_as_long_as_a_pass_is_read_once() -> None:
    """It needs no model then: its rate is its examples by its seconds."""
    assert planned(example_s=0.02, scope=a_scope(250)).epochs == 1


def test_an_epoch_longer_than_a_pass_is_not_read_whole() -> None:
    """Its rate is modelled from the warm-up, the steady rate and the end."""
    assert planned(scope=a_scope(290)).epochs == 0


def test_a_scope_that_is_part_of_an_epoch_is_no_whole_epoch() -> None:
    """The user's epoch is longer than what was read of it."""
    scope = replace(a_scope(30), of=5000, epoch_examples=5000)

    assert planned(scope=scope).epochs == 0


def test_a_short_epoch_is_read_whole_though_the_scope_is_a_part_of_it() -> None:
    """Its last wave may be far from full, which no steady rate foretells."""
    scope = replace(a_scope(30), of=100, epoch_examples=100)

    assert planned(scope=scope).epochs == 4


def test_a_stream_that_ends_elsewhere_than_is_said_is_no_whole_epoch() -> None:
    """It is read as it is."""
    stream = StreamFacts(
        is_complete=True, keeps_order=True, needs_worker=False, declared=None
    )
    scope = replace(a_scope(30), epoch_examples=100, stream=stream)

    assert planned(scope=scope).epochs == 0


def test_very_short_epochs_are_read_until_they_last() -> None:
    """A millisecond an epoch is repeated two hundred times at most."""
    known = a_reading(batch_s=0.0001, epochs=3, batches=3)

    assert planned(scope=a_scope(30), known=known).epochs == MOST_EPOCHS
    assert is_too_short(known)


@pytest.mark.parametrize(
    ("examples", "warm"), [(160, 8), (350, 8), (360, 28), (400, 28)]
)
def test_a_warm_up_leaves_a_window_in_a_whole_epoch(examples: int, warm: int) -> None:
    """A third of a second is 28 batches, of which an epoch may have fewer."""
    known = a_reading(batch_s=0.0111)

    plan = planned(scope=a_scope(examples), known=known)

    assert plan.epochs >= 1
    assert plan.warm_batches == warm


def test_slow_epochs_are_read_as_often_as_the_limit_allows() -> None:
    """Ten seconds an epoch, and 25 seconds for a pass."""
    known = a_reading(batch_s=10 / 3, epochs=3, batches=3)

    assert planned(scope=a_scope(30), known=known, limit_s=25.0).epochs == 2


def test_a_cold_pass_reads_nothing_twice() -> None:
    """What is read again comes from the page cache."""
    scope = replace(a_scope(200), of=5000, epoch_examples=5000, cache="cold")

    plan = planned(scope=scope)

    assert plan.total <= 20
    assert plan.steady_batches >= 4


def test_a_cold_pass_over_a_whole_short_epoch_reads_it_once() -> None:
    """A second epoch would come from the page cache."""
    assert planned(scope=replace(a_scope(30), cache="cold")).epochs == 1


@pytest.mark.parametrize("batches", [1, 2, 5, 11])
def test_a_cold_pass_over_fewer_batches_than_waves_reads_them_once(
    batches: int,
) -> None:
    """Four workers need twelve batches for three waves; there are fewer."""
    scope = replace(a_scope(10 * batches), of=5000, epoch_examples=5000, cache="cold")

    plan = planned(scope=scope)

    assert plan.total == batches
    assert plan.steady_batches >= 1


def test_a_short_limit_is_filled_by_batches_that_are_quickly_read() -> None:
    """0.9 s of batches of 1 ms are hundreds, not the few waves of the rule."""
    none = LoaderConfig(num_workers=0, batch_size=10)

    plan = planned(none, limit_s=0.9, known=a_reading(none, batch_s=0.001))

    assert 0.8 < plan.total * 0.001 <= 0.9
    assert plan.steady_batches > 3 * plan.warm_batches


def test_a_loop_is_read_in_whole_waves_within_the_limit() -> None:
    """A second of window where batches are quick, fewer waves where they are slow."""
    config = LoaderConfig.canonical(num_workers=2, batch_size=8)

    quick = loop_plan(config, batch_s=0.01, limit_s=3.0)
    usual = loop_plan(config, batch_s=0.1, limit_s=3.0)
    slow = loop_plan(config, batch_s=1.0, limit_s=3.0)

    assert quick.steady_batches * 0.01 >= LEAST_WINDOW_S
    assert (usual.warm_batches, usual.steady_batches) == (4, 10)
    assert (slow.warm_batches, slow.steady_batches, slow.tail_batches) == (2, 2, 2)
