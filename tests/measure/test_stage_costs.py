"""Costs of stages, worked out of passes whose costs are known."""

from dataclasses import replace
from typing import Any

import pytest

from autoloader.measure.stage_costs import (
    CostsByStage,
    cached_rate,
    cpu_s_per_example,
    stage_costs,
    window_examples,
)
from autoloader.values.ceiling import CeilingReading
from tests.measure.ceilings import ceiling, reading
from tests.report.fakes import FACTS


def test_the_stages_of_an_example_are_told_apart() -> None:
    """What workers took beside collate is their part of the hand-over."""
    found = stage_costs(
        FACTS, [ceiling(9_000, collate_s=0.0001, main_s=0.00005, workers_s=0.0004)]
    )

    assert found.reading_cpu_s == FACTS.example_cpu_s
    assert found.collate_s == pytest.approx(0.0001)
    assert found.handover_cpu_s == pytest.approx(0.0003)
    assert found.takeover_cpu_s == pytest.approx(0.00005)
    assert found.stages_cpu_s == pytest.approx(
        {"transform": 0.002, "collate": 0.0001, "hand-over": 0.00035}
    )


def test_the_pass_with_the_fewest_workers_tells_the_hand_over() -> None:
    """More of them share CPUs, and take longer for the same."""
    few = ceiling(9_000, workers=1, main_s=0.0001)
    many = ceiling(9_000, workers=8, main_s=0.0009)

    assert stage_costs(FACTS, [many, few]).takeover_cpu_s == pytest.approx(0.0001)


def test_a_loader_without_workers_tells_no_hand_over() -> None:
    """Its training process collates by itself."""
    found = stage_costs(FACTS, [ceiling(9_000, workers=0)])

    assert found.collate_s is not None
    assert found.handover_cpu_s is None
    assert found.takeover_cpu_s is None


def test_without_a_pass_only_reading_is_known() -> None:
    """None, not zero."""
    found = stage_costs(FACTS, [])

    assert found.stages_cpu_s == {"transform": FACTS.example_cpu_s}
    assert CostsByStage.from_dict(found.to_dict()) == found


def test_the_cached_rate_is_that_of_the_window() -> None:
    """What came before it, the start of workers, does not count."""
    found = ceiling(2_000)

    assert window_examples(found) == 1_000
    assert cached_rate(found) == pytest.approx(2_000)


def test_the_cpu_time_of_an_example_is_that_of_all_processes() -> None:
    """Four CPUs for a second that brings a thousand examples."""
    found = cpu_s_per_example(reading(1_000, workers=4, cpu=4.0))

    assert found == pytest.approx(0.004)


def test_a_reading_without_cpu_time_tells_none() -> None:
    """Old ones, and those of systems that do not say it."""
    assert cpu_s_per_example(reading(1_000, workers=4, cpu=0.0)) is None
    empty = replace(reading(1_000, workers=4, cpu=1.0), arrivals_s=(), counts=())
    assert cpu_s_per_example(empty) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"window_batches": 105},
            "window_batches must be above 0 and below 105, the batches that arrived, "
            "got 105",
        ),
        (
            {"collate_s": ()},
            "collate_s and collate_cpu_s must be as long, and not empty, got 0 and 3",
        ),
        ({"batch_examples": 0.0}, "batch_examples must be above 0, got 0"),
    ],
)
def test_a_ceiling_that_contradicts_itself_is_refused(
    change: dict[str, Any], message: str
) -> None:
    """It is read from a pipe and from a disk."""
    data = {**ceiling(2_000).to_dict(), **change}
    known = {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}

    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its whole words below
        CeilingReading(**known)  # type: ignore[arg-type]  # what a file may say

    assert str(caught.value) == message


def test_a_plain_copy_within_collate_belongs_to_the_way_of_a_batch() -> None:
    """What collate takes beyond it is its own; the sum stays the same."""
    plain = ceiling(9_000, collate_s=0.0010, main_s=0.0001, workers_s=0.0012)
    moved = replace(plain, copy_cpu_s=(0.0008 * plain.batch_examples,))

    before = stage_costs(FACTS, [plain]).stages_cpu_s
    found = stage_costs(FACTS, [moved]).stages_cpu_s

    assert found["collate"] == pytest.approx(0.0002)
    assert found["hand-over"] == pytest.approx(0.0011)
    assert sum(found.values()) == pytest.approx(sum(before.values()))


def test_a_copy_that_was_slower_than_collate_leaves_it_nothing() -> None:
    """Never less than nothing: noise is no gain."""
    found = stage_costs(FACTS, [replace(ceiling(9_000), copy_cpu_s=(1.0,))])

    assert found.stages_cpu_s["collate"] == 0.0
