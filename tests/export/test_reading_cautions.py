"""What readings say of themselves before their figures are believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoloader.export.reading_cautions import reading_cautions, worker_cautions
from autoloader.values.outcome import Reading
from tests.fakes import a_machine, some_facts

QUIET = Reading(
    purpose="race",
    num_workers=2,
    kept=False,
    arrivals_s=tuple(float(place) for place in range(1, 15)),
    counts=(8,) * 14,
    warm_batches=4,
    steady_batches=8,
    total_s=14.0,
    epoch_examples=10_000,
    own_cpu=1.9,
)


def codes(*readings: Reading) -> list[str]:
    """Return the codes of the cautions on a machine of two CPUs."""
    return [item["code"] for item in cautions(*readings)]


def cautions(*readings: Reading) -> list[dict[str, Any]]:
    """Return the cautions on a machine of two CPUs."""
    return reading_cautions(readings, some_facts(), a_machine())


def test_quiet_readings_have_no_caution() -> None:
    """Nor has a study without readings."""
    assert codes(QUIET, QUIET) == []
    assert codes() == []


@pytest.mark.parametrize("name", ["foreign_cpu", "stolen_cpu"])
def test_a_busy_machine_is_said_with_the_cpus_that_others_took(name: str) -> None:
    """Programs and hypervisor alike, by the median over readings."""
    busy = replace(QUIET, **{name: 0.9})  # type: ignore[arg-type]  # one of two names

    found = cautions(busy, busy, QUIET)

    assert [item["code"] for item in found] == ["machine_busy"]
    assert found[0]["message"] == "other programs took 0.9 of 2 CPUs meanwhile"
    assert codes(busy, QUIET, QUIET) == []


def test_a_quota_that_stops_the_loader_is_said() -> None:
    """It is the quota then, and not the CPUs, that more workers run into."""
    found = cautions(replace(QUIET, throttled_cpu=0.6))

    assert [item["code"] for item in found] == ["cpu_throttled"]
    assert (
        found[0]["message"] == "the CPU quota stopped 0.6 CPUs' worth of work meanwhile"
    )


def test_windows_of_a_wave_or_two_are_said() -> None:
    """Slow examples leave no time for more; whole epochs need none."""
    short = replace(QUIET, steady_batches=2)

    found = cautions(short, QUIET)

    assert [item["code"] for item in found] == ["short_window"]
    assert found[0]["message"] == (
        "1 of 2 readings have a steady window of a wave or two only: examples are slow"
    )
    assert codes(replace(short, epoch_ends_s=(14.0,))) == []


def test_replaced_readings_are_not_judged() -> None:
    """Another was taken at once, and that one counts."""
    spoiled = replace(QUIET, foreign_cpu=1.5, replaced_because="spoiled")

    assert codes(spoiled, QUIET) == []


@pytest.mark.parametrize(("workers", "ranks"), [(0, 1), (2, 1), (1, 2)])
def test_workers_that_have_a_cpu_each_are_no_caution(workers: int, ranks: int) -> None:
    """Nor does PyTorch warn of them."""
    assert worker_cautions(workers, a_machine(2), ranks=ranks) == []


@pytest.mark.parametrize(("workers", "ranks"), [(6, 1), (3, 2)])
def test_more_workers_than_cpus_are_a_caution(workers: int, ranks: int) -> None:
    """Of all ranks together: PyTorch's warning is kept out of trials."""
    (found,) = worker_cautions(workers, a_machine(2), ranks=ranks)

    assert found == {
        "code": "more_workers_than_cpus",
        "count": 6,
        "message": "6 workers share 2 CPUs: that pays while reading waits; PyTorch may "
        "warn of it when the loader is made",
        "hint": "its warning does not matter here; where training needs CPUs of its "
        "own, fewer workers leave it more",
    }
