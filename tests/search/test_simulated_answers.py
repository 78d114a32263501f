"""True rates of simulated configs: what they are, and that no luck is left in them."""

from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from autoloader.search import simulated_answers as answers_module
from autoloader.search.simulated import Cost, SimulatedLoader
from autoloader.search.simulated_answers import NEAR, simulated_answers
from autoloader.search.space import Space
from autoloader.search.tables import Answer
from autoloader.search.workloads import WORKLOADS
from autoloader.values.config import LoaderConfig
from tests.fakes import a_scope, some_facts

LONG = a_scope(10**6)
"""An epoch that no simulation reads whole."""

WAITING = SimulatedLoader(
    cores=64, example_cpu=Cost(mean_s=0.0001), example_wait=Cost(mean_s=0.01)
)
"""Workers bring what they are."""


def config(
    workers: int, *, prefetch: int = 2, kept: bool = True, size: int = 32
) -> LoaderConfig:
    """Return a config of batch 32."""
    return LoaderConfig.canonical(
        num_workers=workers,
        prefetch_factor=prefetch,
        persistent_workers=kept,
        batch_size=size,
    )


def answers(
    loader: SimulatedLoader, *configs: LoaderConfig, examples: int = 10**6
) -> dict[LoaderConfig, Answer]:
    """Return how configs do."""
    return simulated_answers(
        loader, configs, facts=some_facts(), scope=a_scope(examples)
    )


def rates_of(
    name: str, workers: range, *, prefetch: int = 2, kept: bool = True
) -> list[float]:
    """Return the true rates of a workload of the bench, by workers."""
    workload = next(item for item in WORKLOADS if item.name == name)
    size = workload.batch_size[0]
    configs = [
        config(count, prefetch=prefetch, kept=kept, size=size) for count in workers
    ]
    found = answers(workload.loader, *configs, examples=workload.examples)
    batches = -(-workload.examples // size)
    return [workload.examples / found[item].epoch_s(batches) for item in configs]


def worst_dip(rates: list[float]) -> float:
    """Return by how much a rate lies below that of fewer workers, at most."""
    return max(
        1 - rate / best
        for rate, best in zip(rates, accumulate(rates, max), strict=True)
    )


@pytest.mark.parametrize("prefetch", [2, 4])
@pytest.mark.parametrize("kept", [False, True])
def test_heavy_tails_leave_no_dents_in_the_true_rates(
    prefetch: int, *, kept: bool
) -> None:
    """Up to the ceiling each worker helps; a dip of 1.5 % would be luck."""
    rates = rates_of("skewed-8", range(1, 13), prefetch=prefetch, kept=kept)

    assert worst_dip(rates) < 0.015
    assert rates[0] == pytest.approx(162, rel=0.02)
    assert rates[-1] > 7 * rates[0]


@pytest.mark.parametrize("name", ["skewed-32", "store-16"])
def test_many_workers_with_heavy_tails_differ_by_what_they_bring(name: str) -> None:
    """From 40 to 64, each at most a few percent faster than the one before."""
    rates = rates_of(name, range(40, 65))

    steps = [later / earlier for earlier, later in pairwise(rates)]
    assert worst_dip(rates) < 0.015
    assert max(steps) < 1.04


def test_an_even_cost_has_the_rate_that_paper_says() -> None:
    """No matter how many configs are asked for at once."""
    few = answers(WAITING, config(8))[config(8)]
    many = answers(WAITING, *map(config, range(1, 17)))[config(8)]

    assert 32 / few.batch_s == pytest.approx(8 / 0.0101, rel=0.03)
    assert many == few


def test_a_sharp_ceiling_stays_sharp() -> None:
    """Averaging neighbours must not wear off where the CPUs end."""
    loader = SimulatedLoader(
        cores=16, example_cpu=Cost(mean_s=0.006, shape="lognormal", tail=0.5)
    )
    found = answers(loader, *(config(count, size=64) for count in range(1, 25)))

    at_the_cores, beyond = (
        64 / found[config(count, size=64)].batch_s for count in (16, 24)
    )

    assert at_the_cores == pytest.approx(16 / 0.006, rel=0.05)
    assert at_the_cores > 0.98 * beyond


def test_workers_that_are_kept_differ_by_their_start_alone() -> None:
    """Once the queue rules a pass, nobody can tell them apart."""
    found = answers(WAITING, config(4), config(4, kept=False))
    kept, fresh = found[config(4)], found[config(4, kept=False)]

    assert kept.batch_s == fresh.batch_s
    assert kept.first_s < fresh.first_s
    assert kept.end_s == 0.0 < fresh.end_s
    assert fresh.start_s == 0.0 < kept.start_s


def test_a_start_is_no_matter_of_luck() -> None:
    """Heavy tails scatter the first batches: the start is that of equal costs."""
    tailed = SimulatedLoader(
        cores=8, example_cpu=Cost(mean_s=0.006, shape="lognormal", tail=1.5)
    )
    even = SimulatedLoader(cores=8, example_cpu=Cost(mean_s=0.006))

    uneven, level = (
        answers(loader, config(6, kept=False))[config(6, kept=False)]
        for loader in (tailed, even)
    )

    assert uneven.first_s == pytest.approx(level.first_s)
    assert uneven.batch_s > level.batch_s
    assert uneven.own_cpu < level.own_cpu


def test_a_short_epoch_is_simulated_whole() -> None:
    """Nine batches keep eight workers busy for two waves, not for one and an eighth."""
    even = SimulatedLoader(cores=64, example_cpu=Cost(mean_s=0.01))

    found = answers(even, config(8), config(9), examples=9 * 32)

    assert found[config(8)].epoch_s(9) == pytest.approx(2 * 0.32, rel=0.05)
    assert found[config(9)].epoch_s(9) == pytest.approx(0.32, rel=0.05)


def test_an_epoch_without_a_known_end_has_a_steady_rate() -> None:
    """As a long one."""
    endless = replace(a_scope(), epoch_examples=None, of=None)

    found = simulated_answers(WAITING, [config(8)], facts=some_facts(), scope=endless)

    assert found == answers(WAITING, config(8))


def test_configs_that_differ_in_more_than_workers_are_not_averaged() -> None:
    """Deeper queues help where costs have tails: that is no luck."""
    loader = SimulatedLoader(
        cores=8, example_cpu=Cost(mean_s=0.006, shape="lognormal", tail=1.5)
    )
    shallow = [config(count) for count in range(6, 10)]
    deep = [config(count, prefetch=8) for count in range(6, 10)]

    both, alone = answers(loader, *shallow, *deep), answers(loader, *shallow)

    assert all(both[item] == alone[item] for item in shallow)
    assert all(
        both[more].batch_s < both[fewer].batch_s * 0.97
        for more, fewer in zip(deep, shallow, strict=True)
    )


def test_rates_of_nearly_as_many_workers_lie_on_a_line() -> None:
    """A dent of a tenth in one of them is worn off; a line is left as it is."""
    smoothed = answers_module._smoothed
    line = {count: 1.0 / count for count in range(40, 65)}
    dented = {**line, 52: line[52] * 1.1}

    assert smoothed(line, NEAR) == pytest.approx(line)
    assert smoothed(dented, NEAR)[52] == pytest.approx(line[52], rel=0.015)
    assert smoothed(dented, 0.0) == pytest.approx(dented)


def test_without_workers_there_are_no_neighbours() -> None:
    """One process is another thing than one worker."""
    space = Space(
        num_workers=(0, 2),
        prefetch_factor=(2,),
        pin_memory=(False,),
        persistent_workers=(False,),
        batch_size=(32,),
    )

    found = simulated_answers(WAITING, space.configs(), facts=some_facts(), scope=LONG)

    assert 32 / found[config(0)].batch_s == pytest.approx(1 / 0.0101, rel=0.02)
