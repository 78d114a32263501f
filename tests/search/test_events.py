"""The simulated loader against what can be worked out on paper."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.search.batch_costs import Draws
from autoloader.search.events import SimulatedPass, simulate
from autoloader.search.simulated import Cost, SimulatedLoader
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan


def config(workers: int, prefetch: int = 2, **more: bool) -> LoaderConfig:
    """Return a config of ten examples a batch."""
    return LoaderConfig.canonical(
        num_workers=workers, prefetch_factor=prefetch, batch_size=10, **more
    )


def loader(**costs: object) -> SimulatedLoader:
    """Return a loader that costs nothing but what is named."""
    free: dict[str, object] = {
        "cores": 8.0,
        "example_cpu": Cost(mean_s=0.0),
        "example_bytes": 0,
        "batch_s": 0.0,
        "handover_s": 0.0,
        "fork_s": 0.0,
        "start_s": 0.0,
        "end_s": 0.0,
    }
    return SimulatedLoader(**{**free, **costs})  # type: ignore[arg-type]


def run(
    what: SimulatedLoader, settings: LoaderConfig, *, seed: int = 0
) -> SimulatedPass:
    """Return a pass of 400 batches."""
    plan = PassPlan(warm_batches=100, steady_batches=200, tail_batches=100)
    return simulate(what, settings, plan, draws=Draws(seed=seed))


def rate(seen: SimulatedPass) -> float:
    """Return the batches a second of the steady window."""
    return 200 / (seen.arrivals_s[299] - seen.arrivals_s[99])


def test_without_workers_a_batch_takes_all_that_its_examples_take() -> None:
    """One after another: waiting, the store, and the CPU."""
    what = loader(
        example_cpu=Cost(mean_s=0.002), example_wait=Cost(mean_s=0.01), store_s=0.001
    )

    seen = run(what, config(0))

    assert seen.arrivals_s[0] == pytest.approx(0.13)
    assert seen.total_s == pytest.approx(400 * 0.13)


@pytest.mark.parametrize("workers", [1, 3, 40])
def test_workers_that_wait_deliver_in_proportion(workers: int) -> None:
    """Far beyond the cores."""
    what = loader(cores=2.0, example_wait=Cost(mean_s=0.01))

    assert rate(run(what, config(workers))) == pytest.approx(workers * 10, rel=0.02)


@pytest.mark.parametrize(("cores", "workers"), [(2.0, 5), (4.0, 4), (1.5, 3), (0.5, 1)])
def test_work_that_burns_cpu_stops_at_the_cores(cores: float, workers: int) -> None:
    """All of them are busy, none twice."""
    what = loader(cores=cores, example_cpu=Cost(mean_s=0.01))

    seen = run(what, config(workers))

    assert rate(seen) == pytest.approx(min(cores, workers) * 10, rel=0.02)
    assert seen.cpu_s == pytest.approx(400 * 0.1)


def test_fewer_workers_than_cores_leave_cores_idle() -> None:
    """A worker is one process."""
    what = loader(cores=8.0, example_cpu=Cost(mean_s=0.01))

    assert rate(run(what, config(3))) == pytest.approx(30, rel=0.02)


def test_a_store_that_is_read_by_one_at_a_time_is_a_ceiling() -> None:
    """However many stand before it."""
    what = loader(store_s=0.001, example_wait=Cost(mean_s=0.002))

    rates = [rate(run(what, config(workers))) for workers in (1, 8, 30)]

    assert rates[0] == pytest.approx(1 / 0.03, rel=0.02)
    assert rates[1:] == pytest.approx([100, 100], rel=0.02)


def test_a_store_that_crowds_is_slower_with_more_workers() -> None:
    """More is worse, beyond the few that keep it busy."""
    what = loader(store_s=0.001, store_crowding=0.2)

    few, many = (rate(run(what, config(workers))) for workers in (2, 12))

    assert many < few / 2


def test_the_main_process_takes_over_one_batch_at_a_time() -> None:
    """What it does for each is a ceiling, and costs its own CPU."""
    what = loader(example_wait=Cost(mean_s=0.001), handover_s=0.02)

    assert rate(run(what, config(16))) == pytest.approx(50, rel=0.02)


def test_bytes_are_taken_over_at_a_rate() -> None:
    """Ten examples of a megabyte at a gigabyte a second: 10 ms."""
    what = loader(
        example_bytes=1_000_000,
        collate_bytes_per_s=1e12,
        handover_bytes_per_s=1e9,
    )

    assert rate(run(what, config(4))) == pytest.approx(100, rel=0.02)


def test_a_busy_consumer_is_a_ceiling_and_arrivals_are_before_its_work() -> None:
    """The first batch arrives as without it."""
    what = loader(example_wait=Cost(mean_s=0.001), consume_s=0.005)

    seen = run(what, config(4))

    assert seen.arrivals_s[0] == pytest.approx(0.01)
    assert rate(seen) == pytest.approx(20, rel=0.02)


def test_pinned_memory_is_moved_faster_and_pinned_by_a_thread_beside() -> None:
    """Consuming 20 ms instead of 50, the pinning of 10 ms going on meanwhile."""
    what = loader(
        consume_s=0.005,
        consume_pinned=0.4,
        example_bytes=1_000_000,
        collate_bytes_per_s=1e12,
        pin_bytes_per_s=1e9,
    )

    assert rate(run(what, config(4, pin_memory=True))) == pytest.approx(50, rel=0.02)


def test_too_many_to_run_slow_each_other_down() -> None:
    """By the stated share where they are twice the cores."""
    what = loader(cores=2.0, example_cpu=Cost(mean_s=0.01), switching=0.25)

    calm, crowded = (rate(run(what, config(workers))) for workers in (2, 4))

    assert crowded == pytest.approx(calm / 1.25, rel=0.02)


def test_workers_start_one_after_another_and_then_prepare_at_once() -> None:
    """Three forks of 20 ms; the last one's 50 ms end last; none gets a task before."""
    what = loader(fork_s=0.02, start_s=0.05, example_wait=Cost(mean_s=0.01))

    seen = run(what, config(3))

    assert seen.arrivals_s[0] == pytest.approx(0.07 + 0.1)
    assert seen.arrivals_s[2] == pytest.approx(0.11 + 0.1)


def test_kept_workers_neither_start_nor_end() -> None:
    """They run already when the epoch that is read begins."""
    costs = {"fork_s": 0.02, "start_s": 0.05, "end_s": 0.03}
    what = loader(example_wait=Cost(mean_s=0.01), **costs)

    kept = run(what, config(3, persistent_workers=True))
    fresh = run(what, config(3))

    assert kept.arrivals_s[0] == pytest.approx(0.1)
    assert kept.total_s == pytest.approx(kept.arrivals_s[-1])
    assert fresh.total_s == pytest.approx(fresh.arrivals_s[-1] + 3 * 0.03)


@given(
    workers=st.integers(1, 9),
    prefetch=st.integers(1, 4),
    consume_ms=st.sampled_from([0, 1, 3, 12]),
    seed=st.integers(0, 5),
)
def test_queues_are_those_of_pytorchs_iterator(
    workers: int, prefetch: int, consume_ms: int, seed: int
) -> None:
    """Round robin, so many outstanding, in order: the recurrence that follows of it."""
    what = loader(
        example_wait=Cost(mean_s=0.01, shape="pareto", tail=2.1),
        consume_s=consume_ms / 1000,
    )
    idle = loader(example_wait=what.example_wait)
    plan = PassPlan(warm_batches=1, steady_batches=59, tail_batches=0)
    alone = simulate(idle, config(0), plan, draws=Draws(seed=seed)).arrivals_s
    costs = [after - before for before, after in pairwise((0.0, *alone))]

    seen = simulate(what, config(workers, prefetch), plan, draws=Draws(seed=seed))

    made: list[float] = []
    delivered: list[float] = []
    for number, cost in enumerate(costs):
        put = number - workers * prefetch
        task_s = delivered[put] if put >= 0 else 0.0
        free_s = made[number - workers] if number >= workers else 0.0
        made.append(max(task_s, free_s) + cost)
        asked_s = delivered[-1] + 10 * what.consume_s if delivered else 0.0
        delivered.append(max(made[-1], asked_s))
    assert seen.arrivals_s == pytest.approx(delivered)


def test_batches_are_delivered_in_order_however_late_one_is() -> None:
    """A slow batch holds up the others; deeper queues let fewer workers stand idle."""
    what = loader(example_wait=Cost(mean_s=0.01, shape="pareto", tail=2.1))

    shallow, deep = (run(what, config(8, prefetch), seed=3) for prefetch in (1, 8))

    assert list(shallow.arrivals_s) == sorted(shallow.arrivals_s)
    assert deep.total_s < shallow.total_s


def test_whole_epochs_are_read_one_after_the_other() -> None:
    """Each starts and ends its workers; the last batch is as small as it is."""
    what = loader(example_wait=Cost(mean_s=0.01), fork_s=0.1, end_s=0.05)
    plan = PassPlan(warm_batches=2, steady_batches=8, tail_batches=1, epochs=3)

    seen = simulate(what, config(1), plan, epoch_counts=(10, 10, 4))

    assert seen.counts == (10, 10, 4) * 3
    assert seen.epoch_ends_s == pytest.approx((0.39, 0.78, 1.17))
    assert seen.total_s == pytest.approx(1.17)
    assert seen.arrivals_s[3] == pytest.approx(0.39 + 0.2)


def test_examples_cost_the_same_in_each_pass_and_wait_anew() -> None:
    """All passes of a study read one list; another study has another."""
    cost = Cost(mean_s=0.01, shape="lognormal", tail=1.0)
    reading, waiting = loader(example_cpu=cost), loader(example_wait=cost)
    plan = PassPlan(warm_batches=1, steady_batches=9, tail_batches=0)

    def arrivals(what: SimulatedLoader, seed: int, turn: int) -> tuple[float, ...]:
        return simulate(
            what, config(0), plan, draws=Draws(seed=seed, turn=turn)
        ).arrivals_s

    assert arrivals(reading, 1, 1) == arrivals(reading, 1, 2)
    assert arrivals(reading, 1, 1) != arrivals(reading, 2, 1)
    assert arrivals(waiting, 1, 1) == arrivals(waiting, 1, 1)
    assert arrivals(waiting, 1, 1) != arrivals(waiting, 1, 2)


def test_level_costs_have_exactly_the_mean_that_they_should() -> None:
    """So that a short window gives the rate of a long one."""
    what = loader(example_cpu=Cost(mean_s=0.01, shape="pareto", tail=2.2))
    plan = PassPlan(warm_batches=1, steady_batches=99, tail_batches=0)

    seen = simulate(what, config(0), plan, draws=Draws(period=100))

    assert seen.total_s == pytest.approx(100 * 0.1)


def test_costs_that_come_again_are_the_same_in_each_round() -> None:
    """A window of one period meets each of them once, wherever it begins."""
    what = loader(example_cpu=Cost(mean_s=0.01, shape="lognormal", tail=1.5))
    plan = PassPlan(warm_batches=0, steady_batches=35, tail_batches=0)

    seen = simulate(what, config(0), plan, draws=Draws(period=10)).arrivals_s

    windows = [seen[first + 10] - seen[first] for first in range(24)]
    steps = [later - earlier for earlier, later in pairwise(seen)]
    assert windows == pytest.approx([10 * 0.1] * 24)
    assert steps[:10] == pytest.approx(steps[10:20])
    assert max(steps) > 1.2 * min(steps)
