"""The cost model against what can be worked out on paper."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.measure.planning import START_S
from autoloader.search.cost_model import CostModel, unknowns
from autoloader.values.config import LoaderConfig
from tests.fakes import a_machine, a_scope, some_facts


def config(workers: int, *, kept: bool = True) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(
        num_workers=workers, persistent_workers=kept, batch_size=64
    )


def model(
    *,
    example_s: float = 0.01,
    cpu_s: float = 0.01,
    cpus: float = 8.0,
    epoch_examples: int | None = 100_000,
) -> CostModel:
    """Return the model of work that burns CPU, on eight of them."""
    return CostModel(
        example_s=example_s,
        example_cpu_s=cpu_s,
        cpus=cpus,
        epoch_examples=epoch_examples,
    )


def rate(
    known: CostModel,
    tried: LoaderConfig,
    *,
    serial: float = 0.0,
    ceiling: float = 0.0,
    decline: float = 0.0,
) -> float:
    """Return the rate where the unknowns have these values."""
    found = known.log_rates([tried], np.array([[serial, ceiling, decline]]))
    return math.exp(found[0, 0])


def test_without_workers_an_example_takes_its_own_time() -> None:
    """Whatever the unknowns are: this was measured."""
    known = model(example_s=0.02)

    found = known.log_rates([config(0)], unknowns()[0])

    assert np.exp(found) == pytest.approx(np.full(found.shape, 50.0))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_few_workers_read_as_many_examples_at_once(workers: int) -> None:
    """Well below the ceiling."""
    assert model().examples_per_s(config(workers)) == pytest.approx(
        100.0 * workers, rel=0.02
    )


def test_workers_may_be_faster_or_slower_than_the_single_process() -> None:
    """By the serial factor; the single process itself is not."""
    known = model()

    assert rate(known, config(1), serial=0.35) == pytest.approx(
        100 * math.exp(0.35), rel=0.01
    )
    assert rate(known, config(0), serial=0.35) == pytest.approx(100)


def test_the_cpus_are_the_ceiling_of_work_that_burns_them() -> None:
    """Eight of them give 800 examples a second to any number of workers."""
    known = model()

    assert known.ceiling_examples_per_s == pytest.approx(800)
    assert known.examples_per_s(config(16)) == pytest.approx(800, rel=0.01)
    assert known.examples_per_s(config(64)) == pytest.approx(800, rel=0.001)


def test_work_that_waits_goes_far_beyond_the_cpus() -> None:
    """A twentieth of an example burns CPU: 160 workers keep eight busy."""
    waiting = model(cpu_s=0.0005)

    assert waiting.examples_per_s(config(64)) == pytest.approx(6400, rel=0.01)


def test_something_else_may_be_the_ceiling() -> None:
    """A store that gives a third of what the CPUs could take."""
    found = rate(model(), config(32), ceiling=math.log(0.3))

    assert found == pytest.approx(240, rel=0.001)


def test_a_rate_may_decline_with_each_doubling_beyond_the_ceiling() -> None:
    """Not before it."""
    known = model()

    assert rate(known, config(32), decline=0.4) == pytest.approx(
        800 * math.exp(-0.8), rel=0.01
    )
    assert rate(known, config(4), decline=0.4) == rate(known, config(4))


def test_workers_that_start_anew_cost_a_short_epoch() -> None:
    """Four of them, an epoch of two seconds; those that are kept start once."""
    short = model(epoch_examples=800)

    kept, fresh = (short.examples_per_s(config(4, kept=item)) for item in (True, False))

    assert 800 / fresh - 800 / kept == pytest.approx(4 * START_S)


def test_an_epoch_without_a_known_end_has_no_start_to_pay_for() -> None:
    """It is never over."""
    endless = model(epoch_examples=None)

    assert endless.examples_per_s(config(4, kept=False)) == endless.examples_per_s(
        config(4)
    )


@pytest.mark.parametrize(
    ("workers", "waves"),
    [(15, 5), (16, 4), (21, 4), (22, 3), (32, 2), (64, 1), (99, 1)],
)
def test_a_last_wave_that_is_not_full_takes_as_long_as_a_full_one(
    workers: int, waves: int
) -> None:
    """Batches go to workers by turns: 64 of them, 0.64 s each, nothing else short."""
    short = model(cpu_s=1e-6, epoch_examples=64 * 64)

    assert 4096 / short.examples_per_s(config(workers)) == pytest.approx(waves * 0.64)


def test_of_a_longer_epoch_the_last_wave_does_not_count() -> None:
    """It is read in part, and an epoch is worked out of that as if it were smooth."""
    long = model(cpu_s=1e-6, epoch_examples=64 * 64)

    assert long.examples_per_s(config(9)) == pytest.approx(900)
    assert model(cpu_s=1e-6, epoch_examples=None).examples_per_s(
        config(48)
    ) == pytest.approx(4800)


def test_where_cpus_are_short_a_last_wave_costs_little() -> None:
    """Those that are left have them for themselves."""
    short = model(epoch_examples=64 * 64)

    assert short.examples_per_s(config(33)) > 0.99 * short.examples_per_s(config(32))


def test_a_model_is_made_of_what_the_reference_read() -> None:
    """Ranks share the CPUs; threads do not make an example cost more than it takes."""
    facts = some_facts(example_s=0.004, cpu_s=0.016)

    found = CostModel.of(facts, a_scope(1600), a_machine(8), ranks=2)

    assert found == CostModel(
        example_s=0.004,
        example_cpu_s=0.004,
        cpus=4.0,
        epoch_examples=1600,
        batch_examples=facts.batch_examples,
    )


def test_rates_of_ranks_that_run_at_once_add_up() -> None:
    """Each has its share of the CPUs; so has the ceiling of all."""
    facts = some_facts(example_s=0.004, cpu_s=0.004)
    one = CostModel.of(facts, a_scope(1600), a_machine(8), ranks=2)
    both = CostModel.of(facts, a_scope(1600), a_machine(8), ranks=2, at_once=2)
    endless = replace(both, epoch_examples=None)

    for tried in (config(0), config(2), config(16)):
        each = one.examples_per_s(tried)
        assert both.examples_per_s(tried) == pytest.approx(2 * each)
        assert endless.examples_per_s(tried) >= both.examples_per_s(tried)
    assert both.ceiling_examples_per_s == 2 * one.ceiling_examples_per_s


def test_an_example_that_costs_nothing_has_a_rate_all_the_same() -> None:
    """Clocks have a grain; rates have to be finite."""
    found = CostModel.of(
        some_facts(example_s=0.0, cpu_s=0.0), a_scope(), a_machine(), 1
    )

    rates = found.log_rates([config(0), config(4, kept=False)], unknowns()[0])

    assert np.isfinite(rates).all()


def test_the_error_is_the_factor_by_which_half_of_the_predictions_are_off() -> None:
    """Too high by a quarter is as far off as too low by a quarter."""
    known = model(example_s=0.01)

    found = known.error(
        {
            config(0): [125.0],
            config(1): [99.0, 101.0],
            config(2): [2 * 80.0, 2 * 80.0],
        }
    )

    assert found == pytest.approx(0.25, abs=0.01)
    assert known.error({config(0): [100.0]}) == pytest.approx(0.0)


def test_where_nothing_was_read_there_is_no_error() -> None:
    """Nobody knows yet."""
    assert model().error({}) is None


def test_the_likeliest_unknowns_are_those_of_the_plain_model() -> None:
    """As fast as the single process, the CPUs for a ceiling, no decline."""
    values, odds = unknowns()

    assert values[odds.argmax()] == pytest.approx((0.0, 0.0, 0.0))
    assert len(values) == len(odds)
    assert np.isfinite(odds).all()


@given(
    st.floats(1e-6, 1.0),
    st.floats(0.01, 1.0),
    st.floats(0.5, 128),
    st.integers(1, 127),
)
def test_without_a_decline_kept_workers_never_hurt(
    example_s: float, busy: float, cpus: float, workers: int
) -> None:
    """For any dataset and machine: one more is at least as fast."""
    known = model(example_s=example_s, cpu_s=example_s * busy, cpus=cpus)

    fewer = known.examples_per_s(config(workers))

    assert known.examples_per_s(config(workers + 1)) >= fewer * (1 - 1e-9)
