"""The history: one line a night, whole whatever happens, and what drifts over many."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from autoloader.errors import StoredFileError
from autoloader.export.history import (
    add_night,
    drifts_of,
    history_of,
    history_path,
    series_of,
)
from autoloader.values.fingerprint import Change
from autoloader.values.night import Night

if TYPE_CHECKING:
    from pathlib import Path

NIGHT = Night(
    at="2026-11-30T02:00:00+00:00",
    verdict="holds",
    exit_code=0,
    reason="2.00 times as fast as PyTorch's default, 2.00 times in the study",
    machine="test-2cpu-none",
    file_date="2026-11-01T02:03:00+00:00",
    dataloader={"num_workers": 2, "batch_size": 64},
    changes=(Change(field="kernel", kind="environment", old="6.1", new="6.8"),),
    rounds=6,
    rate=500.0,
    vs_default=2.0,
    vs_second=None,
    level=1.01,
    pace="usual",
    could_see=0.15,
    seconds=42.0,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a recommendation would be."""
    return tmp_path / "autoloader.yaml"


def test_nights_are_read_as_they_were_added(file: Path) -> None:
    """By the recommendation's name, or the history's own."""
    later = replace(NIGHT, verdict="undecided", exit_code=6, rate=None, pace=None)

    add_night(file, NIGHT)
    add_night(file, later)

    assert history_path(file).name == "autoloader.yaml.history.jsonl"
    assert history_of(file) == (NIGHT, later)
    assert history_of(str(history_path(file))) == (NIGHT, later)


def test_without_a_history_no_night_was(file: Path) -> None:
    """That is no error."""
    assert history_of(file) == ()


@pytest.mark.parametrize("tail", [b'{"schema": 1, "at": "20', b"\x00" * 50, b"x\n"])
def test_a_torn_end_is_left_out_and_then_cut(file: Path, tail: bytes) -> None:
    """Reading mends nothing; the next night does."""
    add_night(file, NIGHT)
    path = history_path(file)
    whole = path.read_bytes()
    path.write_bytes(whole + tail)

    before = history_of(file)
    untouched = path.read_bytes()
    add_night(file, NIGHT)

    assert before == (NIGHT,)
    assert untouched == whole + tail
    assert path.read_bytes() == whole * 2


def test_a_full_disk_leaves_what_was_there(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The night is not half written."""
    add_night(file, NIGHT)
    whole = history_path(file).read_bytes()

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(StoredFileError) as caught:
        add_night(file, NIGHT)

    path = history_path(file)
    assert caught.value.message == (
        f"{path} cannot be written: No space left on device"
    )
    assert caught.value.hint == "what stood there before is whole"
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "is no JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "has schema None, this version reads 1"),
        ('{"schema": 2}', "has schema 2, this version reads 1"),
        ('{"schema": 1}', "is no night: night lacks the field 'at'"),
        (
            '{"schema": 1, "at": 3, "verdict": "holds", "exit_code": 0, "reason": "", '
            '"machine": "", "file_date": null, "dataloader": {}}',
            "is no night: night.at must be str, got 3",
        ),
    ],
)
def test_a_damaged_line_is_told_with_its_number(
    file: Path, line: str, why: str
) -> None:
    """And what to do about it."""
    add_night(file, NIGHT)
    path = history_path(file)
    path.write_text(f"{line}\n{path.read_text()}")

    with pytest.raises(StoredFileError) as caught:
        history_of(file)

    assert caught.value.message == f"{path}, line 1 {why}"
    assert caught.value.hint == (
        "move autoloader.yaml.history.jsonl away, and a new history begins"
    )


def test_a_history_that_cannot_be_read_is_told(file: Path) -> None:
    """A folder, say."""
    history_path(file).mkdir()

    with pytest.raises(StoredFileError) as caught:
        history_of(file)

    assert caught.value.message == (
        f"{history_path(file)} cannot be read: Is a directory"
    )


def test_nights_of_another_studys_file_are_another_series() -> None:
    """What a new recommendation does says nothing of the old one."""
    other = replace(NIGHT, file_date="2026-12-01T02:03:00+00:00")

    assert series_of([NIGHT, other, NIGHT], NIGHT.file_date) == (NIGHT, NIGHT)
    assert series_of([NIGHT, other], None) == ()


def test_what_drifts_over_the_nights_is_told() -> None:
    """The rate alone here; nights without a reading are passed over."""
    jitter = (1.0, 1.01, 0.99, 1.005, 0.995)
    nights = [
        replace(NIGHT, rate=500 * 0.98**number, vs_default=2.0 * jitter[number * 3 % 5])
        for number in range(20)
    ]
    nights.insert(4, replace(NIGHT, rate=None, vs_default=None))

    found = drifts_of(nights)

    assert [item.of for item in found] == ["rate"]
    assert found[0].per_night == pytest.approx(-0.02)
    assert found[0].nights == 16


def test_both_are_told_where_both_drift() -> None:
    """Each with half of the error."""
    nights = [
        replace(NIGHT, rate=500 * 0.98**number, vs_default=2.0 * 0.99**number)
        for number in range(8)
    ]

    assert [item.of for item in drifts_of(nights)] == ["rate", "vs_default"]
