"""What a target takes is the product of what was measured."""

from dataclasses import replace

import pytest

from autoloader.errors import UsageError
from autoloader.measure.needs import (
    Demand,
    Needs,
    NeedsBasis,
    memory_line,
    memory_of_rank,
    needs_of,
    workers_for,
)
from tests.measure.needed import BASIS, MIB


def test_a_target_takes_what_its_examples_take() -> None:
    """20,000 a second by eight ranks."""
    found = needs_of(BASIS, Demand(examples_per_s=20_000, ranks=8))

    assert found.cores == pytest.approx(80)
    assert found.workers_per_rank == 25
    assert found.in_flight_per_rank == 50
    assert found.read_bytes_per_s == pytest.approx(2e9)
    assert found.delivered_bytes_per_s == pytest.approx(1.2e10)
    assert found.memory_bytes == 8 * (300 + 25 * 100 + 50 * 40) * MIB
    assert found.shm_bytes == 8 * 51 * 39 * MIB
    assert found.least_ranks == 4
    assert found.is_within_a_rank


def test_more_than_one_training_process_takes_over_needs_more_ranks() -> None:
    """No number of workers mends that."""
    found = needs_of(BASIS, Demand(examples_per_s=20_000))

    assert found.least_ranks == 4
    assert not found.is_within_a_rank


def test_what_was_not_measured_is_not_predicted() -> None:
    """None, where a number would be invented."""
    bare = NeedsBasis(
        cpu_s_per_example=0.004, wall_s_per_example=0.004, bytes_per_example=1_000
    )

    found = needs_of(bare, Demand(examples_per_s=1_000))

    assert found.cores == pytest.approx(4)
    assert found.read_bytes_per_s is None
    assert found.memory_bytes is None
    assert found.shm_bytes is None
    assert found.least_ranks is None
    assert found.is_within_a_rank


def test_what_the_numbers_take_for_granted_is_said() -> None:
    """Ranks and page cache only where they matter."""
    many = needs_of(BASIS, Demand(examples_per_s=20_000, ranks=8)).assumptions
    one = needs_of(
        replace(BASIS, read_bytes_per_example=None), Demand(examples_per_s=100)
    ).assumptions

    assert many[0].startswith("an example takes the CPU time that it took here with 2")
    assert any("each of 8 ranks takes 2,500 examples/s" in said for said in many)
    assert any("page cache" in said for said in many)
    assert not any("ranks" in said or "page cache" in said for said in one)


@pytest.mark.parametrize(
    ("rate", "workers"), [(100.0, 1), (100.1, 2), (199.9, 2), (2_000.0, 20), (1.0, 1)]
)
def test_workers_are_the_fewest_whose_time_is_enough(rate: float, workers: int) -> None:
    """Each has a second a second; rounding adds none."""
    assert workers_for(BASIS, rate) == workers


def test_examples_that_cost_nothing_need_no_worker() -> None:
    """The training process reads them by the way."""
    free = replace(BASIS, wall_s_per_example=0.0)

    found = needs_of(free, Demand(examples_per_s=1_000))

    assert found.workers_per_rank == 0
    assert found.shm_bytes == 0
    assert found.memory_bytes == 300 * MIB


def test_memory_follows_workers_and_what_they_prepare_ahead() -> None:
    """The line and the queue apart, so that other settings can be asked for."""
    assert memory_of_rank(BASIS, 0) == 300 * MIB
    assert memory_of_rank(BASIS, 4) == (300 + 400 + 8 * 40) * MIB
    assert memory_of_rank(BASIS, 4, prefetch_factor=1) == (300 + 400 + 4 * 40) * MIB
    assert memory_of_rank(replace(BASIS, batch_bytes=None), 4) is None


def test_two_weighings_tell_base_and_worker() -> None:
    """The queue of each is taken off first."""
    weighed = {(0, 0): 300.0, (2, 4): 300.0 + 2 * 100 + 4 * 40}

    assert memory_line(weighed, 40.0) == pytest.approx((300.0, 100.0))


def test_many_weighings_are_laid_a_line_through() -> None:
    """None of them counts more than another."""
    weighed = {
        (workers, 2 * workers): 300.0 + workers * 100 + 2 * workers * 40 + off
        for workers, off in ((0, 3), (1, -3), (2, -3), (3, 3))
    }

    base, each = memory_line(weighed, 40.0)

    assert base == pytest.approx(300, abs=4)
    assert each == pytest.approx(100, abs=1)


def test_one_number_of_workers_tells_no_line() -> None:
    """Only what a loader without workers takes is a base by itself."""
    assert memory_line({}, 40.0) == (None, None)
    assert memory_line({(2, 4): 900.0, (2, 8): 1060.0}, 40.0) == (None, None)
    assert memory_line({(0, 0): 300.0}, 40.0) == (300.0, None)


def test_a_basis_and_what_follows_from_it_are_stored_and_read_back() -> None:
    """As YAML and JSON have them."""
    needs = needs_of(BASIS, Demand(examples_per_s=100, ranks=2))

    assert NeedsBasis.from_dict(BASIS.to_dict()) == BASIS
    assert Needs.from_dict(needs.to_dict()) == needs


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"examples_per_s": 0.0}, "examples_per_s must be above 0, got 0"),
        ({"examples_per_s": float("inf")}, "examples_per_s must be above 0, got inf"),
        ({"examples_per_s": 1.0, "ranks": 0}, "ranks must be at least 1, got 0"),
    ],
)
def test_nothing_is_no_demand(demand: dict[str, float], message: str) -> None:
    """Said in whole sentences."""
    with pytest.raises(UsageError) as caught:
        Demand(**demand)  # type: ignore[arg-type]  # what a caller may get wrong

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu_s_per_example": -1.0}, "cpu_s_per_example must be at least 0, got -1"),
        ({"prefetch_factor": 0}, "prefetch_factor must be at least 1, got 0"),
    ],
)
def test_a_basis_that_no_study_wrote_is_refused(
    change: dict[str, float], message: str
) -> None:
    """A file may be edited."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its whole words below
        replace(BASIS, **change)  # type: ignore[arg-type]  # as above

    assert str(caught.value) == message
