"""What each knob does by itself, and what is not known of it."""

from __future__ import annotations

from typing import Any

from autoloader.measure.intervals import Interval
from autoloader.report.knob_rows import KnobRow, knob_rows
from tests.report.fakes import config, crashed

SPACE = {
    "num_workers": [0, 9],
    "prefetch_factor": [2, 4],
    "pin_memory": [False],
    "persistent_workers": [False, True],
    "batch_size": [64],
}


def effect(value: object, ratio: float, **others: Any) -> dict[str, Any]:
    """Return what a neighbour does otherwise, as the file has it."""
    return {"value": value, "rate_ratio": ratio, "memory_bytes": None, **others}


def said(rows: tuple[KnobRow, ...]) -> list[tuple[str, str]]:
    """Return what is another in each row, with its note."""
    return [(row.said, row.note) for row in rows]


def test_neighbours_that_were_not_tried_are_named() -> None:
    """The nearest two on either side; what has no other value is fixed."""
    knobs = {"num_workers": [effect(3, 0.8), effect(9, 1.2)]}

    rows = knob_rows(knobs, SPACE, config(4))

    assert said(rows) == [
        ("workers 2", "not tried"),
        ("workers 3", ""),
        ("workers 5", "not tried"),
        ("workers 6", "not tried"),
        ("prefetch 4", "not tried"),
        ("pinned", "fixed: no"),
        ("kept yes", "not tried"),
        ("batch", "fixed: 64"),
    ]


def test_a_neighbour_without_a_speed_is_told_by_its_fate() -> None:
    """It was tried."""
    failed = [crashed(3, config(4, persistent_workers=True), "no")]

    rows = knob_rows({}, SPACE, config(4), failed)

    assert ("kept yes", "crashed") in said(rows)


def test_without_workers_nothing_is_prefetched_or_kept() -> None:
    """That is no knob then."""
    rows = knob_rows({}, SPACE, config(0))

    assert ("prefetch", "nothing without workers") in said(rows)
    assert ("kept", "nothing without workers") in said(rows)


def test_a_ratio_has_its_interval_where_the_file_has_one() -> None:
    """Files of older versions have none."""
    paired = effect(2, 0.9, low=0.85, high=0.95, memory_bytes=-7)
    knobs = {"prefetch_factor": [effect(4, 1.1)], "num_workers": [paired]}

    rows = knob_rows(knobs, {}, config(3))

    assert [(row.said, row.ratio, row.memory_bytes) for row in rows if row.ratio] == [
        ("workers 2", Interval(median=0.9, low=0.85, high=0.95), -7),
        ("prefetch 4", Interval(median=1.1, low=None, high=None), None),
    ]
