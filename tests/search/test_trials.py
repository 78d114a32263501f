"""One trial: what it is gated on, whether it is weighed, and what ends it early."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from autoloader.measure.planning import START_S, expected_example_s
from autoloader.search.moments import Moment
from autoloader.search.prediction import shm_free_now
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.trials import (
    LEAST_BATCHES,
    filling_time_s,
    gate_examples,
    run_trial,
    unfit,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Status
from autoloader.values.scope import GATE_EXAMPLES
from tests.fakes import FakeRunner, a_stopwatch, some_facts


def config(workers: int, size: int = 64, prefetch: int = 2) -> LoaderConfig:
    """Return a config."""
    return LoaderConfig.canonical(
        num_workers=workers, batch_size=size, prefetch_factor=prefetch
    )


def a_runner() -> FakeRunner:
    """Return a runner of 250 examples a second."""
    return FakeRunner(rate=lambda item: 250.0)


def stopwatch(
    *,
    example_s: float = 0.004,
    cpu_s: float | None = None,
    limit_s: float = 2.7,
    runner: FakeRunner | None = None,
    shm_free_bytes: Callable[[], int | None] = shm_free_now,
) -> Stopwatch:
    """Return a stopwatch on two CPUs, with the passes of three minutes."""
    facts = some_facts(example_s=example_s, cpu_s=example_s if cpu_s is None else cpu_s)
    found = a_stopwatch(runner or a_runner(), facts=facts)
    found.limit_s = limit_s
    found.shm_free_bytes = shm_free_bytes
    return found


def tried(
    runner: FakeRunner,
    item: LoaderConfig,
    *,
    example_s: float = 0.004,
    memory_bytes: int | None = None,
    shm_free_bytes: Callable[[], int | None] = shm_free_now,
) -> Outcome:
    """Return what came of trying a config."""
    return run_trial(
        stopwatch(example_s=example_s, runner=runner, shm_free_bytes=shm_free_bytes),
        item,
        number=7,
        source="search",
        memory_bytes=memory_bytes,
        clock=runner.clock,
    )


# When it began


def test_trial_and_reading_say_when_they_began() -> None:
    """By the study's own time, and the time of day; the reading after the gate."""
    runner = a_runner()
    timed = stopwatch(runner=runner)
    begun, begin_s = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC), runner.clock()

    def moment() -> Moment:
        passed_s = runner.clock() - begin_s
        return Moment(study_s=100.0 + passed_s, at=begun + timedelta(seconds=passed_s))

    timed.moment = moment

    outcome = run_trial(
        timed, config(2), number=0, source="search", memory_bytes=None,
        clock=runner.clock,
    )  # fmt: skip

    (reading,) = outcome.readings
    assert (outcome.begun_s, outcome.begun_at) == (
        100.0,
        "2026-05-04T03:02:01.000+00:00",
    )
    assert reading.begun_s is not None
    assert 100.0 < reading.begun_s < 100.0 + outcome.seconds


def test_where_nobody_keeps_the_time_nothing_is_said_of_it() -> None:
    """Of a trial, nor of its readings."""
    outcome = tried(a_runner(), config(2))

    assert (outcome.begun_s, outcome.begun_at) == (None, None)
    assert outcome.readings[0].begun_s is None


# Time from example to example


@pytest.mark.parametrize(
    ("workers", "cpu_s", "expected_s"),
    [(0, 0.010, 0.010), (1, 0.010, 0.010), (2, 0.010, 0.005), (8, 0.010, 0.005)],
)
def test_work_that_burns_cpu_is_expected_to_stop_at_the_cpus(
    workers: int, cpu_s: float, expected_s: float
) -> None:
    """Two of them."""
    facts = some_facts(example_s=0.010, cpu_s=cpu_s)

    found = expected_example_s(config(workers), facts=facts, cpus=2.0)

    assert found == pytest.approx(expected_s)


def test_work_that_waits_is_expected_to_go_on() -> None:
    """A tenth of it is CPU time."""
    facts = some_facts(example_s=0.010, cpu_s=0.001)

    found = expected_example_s(config(8), facts=facts, cpus=2.0)

    assert found == pytest.approx(0.010 / 8)


# Gate


def test_quick_examples_are_gated_up_to_the_most() -> None:
    """512 an epoch, and no more."""
    assert gate_examples(config(0), stopwatch(example_s=0.0001)) == GATE_EXAMPLES


def test_slow_examples_are_gated_in_the_time_of_a_pass() -> None:
    """Two epochs of 90 examples of 15 ms take 2.7 s."""
    assert gate_examples(config(0, 16), stopwatch(example_s=0.015)) == 90


def test_workers_share_the_time() -> None:
    """Two read twice as many; at the CPUs a third one reads no more."""
    found = [
        gate_examples(config(workers, 16), stopwatch(example_s=0.015))
        for workers in (1, 2, 3)
    ]

    assert found == [90, 180, 180]


@pytest.mark.parametrize(
    ("workers", "size", "expected"), [(0, 64, 128), (1, 64, 128), (3, 32, 192)]
)
def test_each_worker_is_gated_on_two_batches_however_slow(
    workers: int, size: int, expected: int
) -> None:
    """One alone shows no order between its batches."""
    assert LEAST_BATCHES == 2
    assert gate_examples(config(workers, size), stopwatch(example_s=2.0)) == expected


def test_many_large_batches_are_gated_up_to_the_most_as_well() -> None:
    """Two batches of each of 8 workers would be 1,024 examples."""
    assert gate_examples(config(8), stopwatch(example_s=2.0)) == GATE_EXAMPLES


def test_batches_that_the_dataset_makes_count_with_their_examples() -> None:
    """Where there is no batch size to go by."""
    found = stopwatch(example_s=2.0)
    item = LoaderConfig.canonical(num_workers=2)

    assert found.facts.batch_examples == 1.0
    assert gate_examples(item, found) == 4


def test_a_trial_gates_as_many_examples_as_are_worth_it() -> None:
    """The runner is asked for them."""
    asked: list[int] = []

    class Asked(FakeRunner):
        def gate(self, config: LoaderConfig, *, examples: int):  # type: ignore[no-untyped-def]  # as the class above
            asked.append(examples)
            return super().gate(config, examples=examples)

    tried(Asked(rate=lambda item: 250.0), config(0, 16), example_s=0.015)

    assert asked == [90]


# Weighing


def test_a_queue_fills_in_the_time_of_its_batches() -> None:
    """Workers start; then one batch each in flight, and one in use."""
    found = filling_time_s(config(2), stopwatch(example_s=0.01))

    assert found == pytest.approx(2 * START_S + 5 * 64 * 0.005)


def test_a_queue_that_is_quickly_full_is_weighed_unasked() -> None:
    """It costs little, and people want to know."""
    found = tried(a_runner(), config(2))

    assert found.status is Status.MEASURED
    assert found.memory is not None


@pytest.mark.parametrize(("prefetch", "example_s"), [(2, 0.0118), (8, 0.01)])
def test_a_queue_that_takes_more_than_half_a_pass_is_not_weighed_unasked(
    prefetch: int, example_s: float
) -> None:
    """Two seconds and eleven; what is recommended is weighed at the end in any case."""
    runner = a_runner()

    found = tried(runner, config(2, prefetch=prefetch), example_s=example_s)

    assert found.status is Status.MEASURED
    assert found.memory is None
    assert [kind for kind, _ in runner.calls] == ["gate", "time"]


def test_a_config_far_below_the_budget_is_not_weighed_where_that_takes_long() -> None:
    """Three processes and 17 batches of it cannot take half of 20 GB."""
    runner = a_runner()

    found = tried(
        runner, config(2, prefetch=8), example_s=0.01, memory_bytes=20_000_000_000
    )

    assert found.memory is None


def test_a_memory_budget_is_held_against_each_config_however_slow() -> None:
    """What is over it is not timed."""
    runner = a_runner()

    found = tried(
        runner, config(2, prefetch=8), example_s=0.01, memory_bytes=100_000_000
    )

    assert found.status is Status.OUT_OF_MEMORY
    assert [kind for kind, _ in runner.calls] == ["gate", "weigh"]


# What cannot fit


def test_a_config_whose_batches_cannot_fit_is_not_started() -> None:
    """No pass is made of it; the outcome says what is too little."""
    runner = a_runner()

    found = tried(runner, config(2), shm_free_bytes=lambda: 1000)

    assert found.status is Status.CRASHED
    assert found.failure is not None
    assert (found.failure.kind, found.failure.phase) == (
        "shared_memory_full",
        "prediction",
    )
    assert runner.calls == []


def test_shared_memory_is_that_of_now() -> None:
    """Not of the moment at which the study began."""
    free = [1000, 10**9]
    watch = stopwatch(shm_free_bytes=lambda: free.pop(0))

    before, after = (unfit(config(2), watch, None) for _ in range(2))

    assert isinstance(before, Failure)
    assert after is None
