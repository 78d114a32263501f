"""Passes that a table answers: they obey the plan, and time goes by as it would."""

from dataclasses import replace

import pytest

from autoloader.measure.throughput import epoch_rate, steady_rate
from autoloader.search.disturbance import DrawnNoise, Noise
from autoloader.search.replay_runner import PASS_S, ReplayClock, ReplayRunner
from autoloader.search.tables import Table
from autoloader.values.job import PassPlan
from autoloader.values.outcome import (
    Failure,
    Finding,
    MemoryReading,
    Reading,
    Verdict,
)
from tests.search.replayed import RIGHT, SMALL, a_recorded_table, config

QUIET = Noise(scatter=0.0, drift=0.0, bursts=0.0)
"""Nothing disturbs a reading."""

PLAN = PassPlan(warm_batches=6, steady_batches=12, tail_batches=3)


@pytest.fixture(scope="module")
def table() -> Table:
    """Give the simulated table, made once."""
    return SMALL.table()


def a_runner(table: Table, noise: Noise = QUIET, **more: bool) -> ReplayRunner:
    """Return a runner with a clock of its own."""
    return ReplayRunner(table, DrawnNoise(noise, 0), ReplayClock(), **more)


def timed(runner: ReplayRunner, workers: int, plan: PassPlan = PLAN) -> Reading:
    """Return a reading of so many workers."""
    found = runner.time(config(workers), verdict=RIGHT, purpose="race", plan=plan)
    assert isinstance(found, Reading)
    return found


def test_a_reading_has_what_the_plan_asks_for_at_the_tables_rate(table: Table) -> None:
    """Undisturbed, the package works out the true rate of it."""
    reading = timed(a_runner(table), 3)

    assert len(reading.arrivals_s) == PLAN.total
    assert set(reading.counts) == {64}
    assert epoch_rate(reading) == pytest.approx(table.rate(config(3)), rel=1e-3)


def test_whole_epochs_are_read_where_the_plan_says_so(table: Table) -> None:
    """Each with its start, its end, and every example once."""
    plan = replace(PLAN, epochs=2)

    reading = timed(a_runner(table), 2, plan)

    assert sum(reading.counts) == 2 * 64_000
    assert len(reading.epoch_ends_s) == 2
    assert reading.total_s == reading.epoch_ends_s[-1]
    assert epoch_rate(reading) == pytest.approx(table.rate(config(2)))


def test_a_pass_can_be_simulated_batch_by_batch(table: Table) -> None:
    """Of the same examples each time."""
    runner = a_runner(table, by_events=True)

    reading, again = timed(runner, 2), timed(runner, 2)

    assert len(reading.arrivals_s) == PLAN.total
    assert steady_rate(reading) == pytest.approx(table.rate(config(2)), rel=0.05)
    assert reading.arrivals_s == again.arrivals_s


def test_the_clock_moves_by_what_a_pass_takes(table: Table) -> None:
    """And by nothing else."""
    clock = ReplayClock()
    runner = ReplayRunner(table, DrawnNoise(QUIET, 0), clock)

    reading = timed(runner, 2)

    assert clock() == pytest.approx(reading.total_s + PASS_S)


def test_gating_more_examples_takes_longer(table: Table) -> None:
    """Two epochs of them."""
    clock = ReplayClock()
    runner = ReplayRunner(table, DrawnNoise(QUIET, 0), clock)

    verdict = runner.gate(config(1), examples=512)
    short_s = clock()
    runner.gate(config(1), examples=5_120)

    assert isinstance(verdict, Verdict)
    assert verdict.passed
    assert verdict.examples == 512
    assert clock() - short_s > 5 * short_s


def test_what_is_weighed_is_the_tables_memory(table: Table) -> None:
    """Whole epochs are read to their end where that is asked."""
    runner = a_runner(table)

    short = runner.weigh(config(4), examples=0)
    whole = runner.weigh(config(4), examples=512)

    assert isinstance(short, MemoryReading)
    assert isinstance(whole, MemoryReading)
    assert short.peak_bytes == table.answers[config(4)].peak_bytes
    assert len(whole.epoch_end_bytes) == 2


def test_others_slow_down_what_lacks_cpus_only(table: Table) -> None:
    """One worker on 2.5 cores leaves others more than they take."""
    busy = Noise(scatter=0.0, drift=0.0, bursts=0.9, burst_share=0.4)
    runner = a_runner(table, busy)

    rates = {
        workers: {round(steady_rate(timed(runner, workers)), 2) for _ in range(40)}
        for workers in (1, 4)
    }

    assert len(rates[1]) == 1
    slow, fast = sorted(rates[4])
    assert slow == pytest.approx(0.6 * fast, rel=0.05)


def test_a_recorded_failure_comes_in_its_own_pass() -> None:
    """What passed before it still passes."""
    crash = Failure(kind="crashed", phase="timed", message="it died")
    recorded = a_recorded_table()
    runner = a_runner(replace(recorded, broken={config(2): crash}))

    gated = runner.gate(config(2), examples=64)
    read = runner.time(config(2), verdict=RIGHT, purpose="search", plan=PLAN)

    assert isinstance(gated, Verdict)
    assert read == crash


def test_a_refused_config_is_never_timed_or_weighed() -> None:
    """Whoever asks for it all the same is told so."""
    lost = Finding(code="missing_ids", count=1, message="lost: 3")
    wrong = Verdict(
        passed=False, examples=9, of=9, epochs=2, compared="rows", findings=(lost,)
    )
    runner = a_runner(replace(a_recorded_table(), broken={config(2): wrong}))
    named = "2 workers, prefetch 2, batch 64"

    assert runner.gate(config(2), examples=64) == wrong
    with pytest.raises(
        ValueError, match=f"^a config whose data is wrong is never timed: {named}$"
    ):
        runner.time(config(2), verdict=wrong, purpose="search", plan=PLAN)
    with pytest.raises(ValueError, match=f"^the gate refuses {named}: it has no speed"):
        runner.time(config(2), verdict=RIGHT, purpose="search", plan=PLAN)
    with pytest.raises(
        ValueError, match=f"^the gate refuses {named}: it is never weighed$"
    ):
        runner.weigh(config(2), examples=0)
