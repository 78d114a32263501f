"""The readings of a study as a table, and what is said where there is none."""

from __future__ import annotations

import fcntl
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

import autoloader
from autoloader.errors import StoredFileError
from autoloader.search.record import Record
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, MemoryReading, Outcome, Reading, Status
from tests.fakes import a_machine
from tests.report.fakes import MISSING, measured, reading, refused, verdict
from tests.search.looped import loop

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = LoaderConfig.canonical(num_workers=1, batch_size=None)
TWO = LoaderConfig.canonical(num_workers=2, batch_size=8, persistent_workers=True)

COLUMNS = [
    "trial", "source", "num_workers", "prefetch_factor", "pin_memory",
    "persistent_workers", "batch_size", "status", "purpose", "replaced_because", "kept",
    "cache", "epoch_rate", "steady_rate", "first_batch_s", "warm_s", "end_s", "total_s",
    "wait_p50_s", "wait_p99_s", "wait_max_s", "batches", "examples", "epochs",
    "own_cpu", "foreign_cpu", "stolen_cpu", "throttled_cpu", "storage_bytes",
    "peak_memory_bytes", "begun_s", "begun_at",
]  # fmt: skip


def stored(folder: Path, *outcomes: Outcome) -> Path:
    """Write outcomes as a study does; return its file."""
    with Record(folder) as record:
        for outcome in outcomes:
            record.add(outcome)
    return folder / "outcomes.jsonl"


def raced(rate: float) -> Reading:
    """Return a reading of the rounds."""
    return reading(rate, "race")


def test_each_reading_is_a_row_in_the_order_they_were_taken(tmp_path: Path) -> None:
    """First ones with their trial, those of rounds where they were read."""
    with Record(tmp_path) as record:
        record.add(measured(0, ONE, [100.0], "given"))
        record.add(measured(1, TWO, [200.0], "yours"))
        record.add_reading(1, raced(210.0))
        record.add_reading(0, raced(110.0))

    frame = autoloader.readings(tmp_path)

    assert list(frame.columns) == COLUMNS
    assert frame["trial"].tolist() == [0, 1, 1, 0]
    assert frame["epoch_rate"].round().tolist() == [100, 200, 210, 110]
    assert frame["purpose"].tolist() == ["search", "search", "race", "race"]
    assert frame["source"].tolist() == ["given", "yours", "yours", "given"]
    assert frame["persistent_workers"].tolist() == [False, True, True, False]


def test_what_is_not_known_is_na(tmp_path: Path) -> None:
    """Columns keep their type: whole numbers stay whole beside it."""
    zero = LoaderConfig(num_workers=0, batch_size=None)
    bare = replace(measured(0, zero, [100.0]), memory=None)

    frame = autoloader.readings(stored(tmp_path, bare, measured(1, TWO, [100.0])))

    assert frame["prefetch_factor"].isna().tolist() == [True, False]
    assert frame["batch_size"].isna().tolist() == [True, False]
    assert frame["peak_memory_bytes"].isna().tolist() == [True, False]
    assert frame["storage_bytes"].isna().all()
    assert frame["replaced_because"].isna().all()
    assert {str(frame[name].dtype) for name in COLUMNS} == {
        "Int64", "Float64", "boolean", "string",
    }  # fmt: skip


def test_a_trial_that_is_written_again_repeats_no_reading(tmp_path: Path) -> None:
    """It was weighed once more, say; rows then have the memory that is known last."""
    first = measured(0, TWO, [100.0, 120.0])
    weighed = MemoryReading(
        full_queue_bytes=5, epoch_end_bytes=(9,), queued_bytes=0, queue_was_full=True
    )

    path = stored(tmp_path, first, replace(first, memory=weighed))
    frame = autoloader.readings(path)

    assert frame["epoch_rate"].round().tolist() == [100, 120]
    assert frame["peak_memory_bytes"].tolist() == [9, 9]


def test_a_config_that_failed_later_keeps_its_rows(tmp_path: Path) -> None:
    """With the fate that it came to."""
    first = measured(0, TWO, [100.0])
    failure = Failure(kind="crashed", phase="timed", message="a worker left")
    failed = replace(first, status=Status.CRASHED, failure=failure, readings=())

    frame = autoloader.readings(stored(tmp_path, first, failed))

    assert frame["status"].tolist() == ["crashed"]
    assert frame["epoch_rate"].round().tolist() == [100]


def test_when_trials_and_readings_began_is_told(tmp_path: Path) -> None:
    """By the study's time and the time of day; an older record does not say."""
    began = "2026-05-04T03:02:01.000+00:00"
    trial = measured(0, ONE, [100.0], "given")
    timed = replace(
        trial,
        readings=tuple(
            replace(item, begun_s=12.5, begun_at=began) for item in trial.readings
        ),
        begun_s=11.0,
        begun_at="2026-05-04T03:01:59.500+00:00",
    )
    file = stored(tmp_path, timed, measured(1, TWO, [200.0], "yours"))

    readings, trials = autoloader.readings(file), autoloader.trials(file)

    assert readings["begun_s"].tolist() == [12.5, pd.NA]
    assert readings["begun_at"].tolist() == [began, pd.NA]
    assert trials["begun_s"].tolist() == [11.0, pd.NA]
    assert trials["begun_at"].tolist() == ["2026-05-04T03:01:59.500+00:00", pd.NA]


def test_a_study_without_readings_has_all_columns(tmp_path: Path) -> None:
    """And no row."""
    refused = Outcome(
        number=0, config=TWO, status=Status.REFUSED, source="given", isolation="fork",
        seconds=1.0, verdict=verdict(),
    )  # fmt: skip

    frame = autoloader.readings(stored(tmp_path, refused))

    assert list(frame.columns) == COLUMNS
    assert frame.empty


def test_a_running_study_is_read_as_far_as_it_is_written(tmp_path: Path) -> None:
    """Its lock is not asked for, a torn line is skipped, the file stays as it is."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    torn = path.read_bytes() + b'{"schema": 1, "record": "rea'
    path.write_bytes(torn)

    with (tmp_path / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        frame = autoloader.readings(tmp_path)

    assert len(frame) == 1
    assert path.read_bytes() == torn


def test_a_last_line_of_rubbish_is_skipped(tmp_path: Path) -> None:
    """A block of zeros after a power failure, ended by a later line end."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    path.write_bytes(path.read_bytes() + b"\0\0\0\n")

    assert len(autoloader.readings(path)) == 1


def test_scope_and_machine_come_along(tmp_path: Path) -> None:
    """As far as the study's folder tells: of a tune, the kind of hardware."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    study = tmp_path / "study.json"

    study.write_text(json.dumps({"scope": {"seed": 1}, "key": {"machine": "cpu-x"}}))
    tuned = autoloader.readings(path)
    study.write_text(json.dumps({"scope": {}, "machine": a_machine().to_dict()}))
    told = autoloader.readings(path)
    study.write_text("[]")
    bare = autoloader.readings(path)
    study.write_text("{")
    torn = autoloader.readings(path)

    assert tuned.attrs == {"scope": {"seed": 1}, "machine": {"key": "cpu-x"}}
    assert told.attrs["machine"]["key"] == a_machine().key
    assert told.attrs["machine"]["logical_cpus"] == 2
    assert bare.attrs == torn.attrs == {}


def recommendation(folder: Path, study: object) -> Path:
    """Write a small recommendation that names a study."""
    file = folder / "autoloader.yaml"
    data = {
        "schema": 1,
        "dataset": "data.py:train",
        "dataloader": TWO.dataloader_kwargs(),
        "target": {"met": True},
        "machine": a_machine().to_dict(),
        "study": study,
    }
    file.write_text(yaml.safe_dump(data))
    return file


def test_a_recommendation_leads_to_its_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the file, else in the working folder."""
    beside, working = tmp_path / "beside", tmp_path / "working"
    beside.mkdir()
    working.mkdir()
    monkeypatch.chdir(working)
    file = recommendation(beside, {"name": "train-12"})

    stored(working / ".autoloader" / "train-12", measured(0, TWO, [100.0]))
    from_working = autoloader.readings(file)
    stored(beside / ".autoloader" / "train-12", measured(0, TWO, [300.0]))
    from_beside = autoloader.readings(str(file))

    assert from_working["epoch_rate"].round().tolist() == [100]
    assert from_beside["epoch_rate"].round().tolist() == [300]


def test_a_recommendation_whose_study_is_gone_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what to name instead."""
    monkeypatch.chdir(tmp_path)
    file = recommendation(tmp_path, {"name": "train-12"})

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(file)

    place = tmp_path / ".autoloader"
    assert caught.value.message == f"the study train-12 of {file} is not in {place}"
    assert caught.value.hint == "name the study's folder itself"


@pytest.mark.parametrize("study", [None, {}, {"name": "../else"}, {"name": 3}])
def test_a_recommendation_without_a_study_is_told(
    tmp_path: Path, study: object
) -> None:
    """A name that leads elsewhere is none."""
    file = recommendation(tmp_path, study)

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(file)

    assert caught.value.message == f"{file} does not say which study it came from"
    assert caught.value.hint == "name the study's folder itself"


def test_a_file_that_is_no_recommendation_is_told(tmp_path: Path) -> None:
    """As `load` tells it."""
    file = tmp_path / "some.yaml"
    file.write_text("a: 1\n")

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(file)

    assert caught.value.message == f"{file} is no recommendation: it lacks 'schema'"


def test_a_folder_without_a_study_names_those_nearby(tmp_path: Path) -> None:
    """Or says what makes one."""
    empty = tmp_path / "empty"
    empty.mkdir()
    study = tmp_path / "all" / "train-12"
    stored(study, measured(0, TWO, [100.0]))

    with pytest.raises(StoredFileError) as nothing:
        autoloader.readings(empty)
    with pytest.raises(StoredFileError) as nearby:
        autoloader.readings(tmp_path / "all")

    message = f"there is no study in {empty}: it has no outcomes.jsonl"
    assert nothing.value.message == message
    kept = "`autoloader tune` and `autoloader measure` keep studies in .autoloader"
    assert nothing.value.hint == kept
    assert nearby.value.hint == f"studies are in {study}"


def test_a_path_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the studies of the working folder."""
    monkeypatch.chdir(tmp_path)
    stored(tmp_path / ".autoloader" / "train-12", measured(0, TWO, [100.0]))

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings("none")

    assert caught.value.message == "there is no study at none"
    assert caught.value.hint == "studies are in .autoloader/train-12"


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (
            "no json",
            "line 1 is no JSON: Expecting value: line 1 column 1 (char 0)",
            "the file was changed; lines before it are whole",
        ),
        (
            '{"schema": 99}',
            "line 1 has schema 99, this version reads 1",
            "upgrade the package, or measure again",
        ),
        (
            "[]",
            "line 1 has schema None, this version reads 1",
            "upgrade the package, or measure again",
        ),
        (
            '{"schema": 1, "record": "trial"}',
            "line 1 is no outcome: it lacks 'outcome'",
            "it was written by another version, or changed since",
        ),
        (
            '{"schema": 1, "record": "trial", "outcome": []}',
            "line 1 is no outcome: outcome must be a mapping, got list",
            "it was written by another version, or changed since",
        ),
    ],
)
def test_a_damaged_file_is_told_with_its_line(
    tmp_path: Path, line: str, message: str, hint: str
) -> None:
    """Only the last line may be half written."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    path.write_text(f"{line}\n{path.read_text()}")

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(path)

    assert caught.value.message == f"{path}, {message}"
    assert caught.value.hint == hint


def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the system's reason."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(path)

    assert caught.value.message == f"{path} cannot be read: Permission denied"


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first line of a study's file."""
    first, *others = path.read_text().splitlines()
    data = json.loads(first)
    change(data)
    path.write_text("\n".join([json.dumps(data), *others, ""]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda data: data.update(record="note"),
            "record must be 'trial' | 'reading', got 'note'",
        ),
        (
            lambda data: data.update(record="reading", number=0, reading={}),
            "it is a reading of trial 0, which is not there",
        ),
        (
            lambda data: data.update(record="reading", number=[0], reading={}),
            "number must be int, got [0]",
        ),
        (lambda data: data.update(record="reading"), "it lacks 'number'"),
        (
            lambda data: data["outcome"]["readings"][0].update(counts="x"),
            "outcome.readings[0].counts must be a list, got 'x'",
        ),
        (
            lambda data: data["outcome"]["readings"][0].update(total_s=10**400),
            "outcome.readings[0].total_s must be a finite number, got <a number of "
            "1329 bits>",
        ),
        (
            lambda data: data["outcome"]["readings"][0].update(counts=[250]),
            "reading.counts must have 4 items, as arrivals_s, got 1",
        ),
        (
            lambda data: data["outcome"]["readings"][0].update(counts=[-1] * 4),
            "reading.counts must be at least 0, got -1",
        ),
        (
            lambda data: data["outcome"]["readings"][0].update(warm_batches=-2),
            "reading.warm_batches must be at least 0, got -2",
        ),
        (
            lambda data: data["outcome"].update(number=2**63),
            "trial must have at most 64 bits, got 9223372036854775808",
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_field(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    """With dots from the line's top, before any table is made of it."""
    path = stored(tmp_path, measured(0, TWO, [100.0]), measured(1, TWO, [100.0]))
    changed(path, change)

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(path)

    assert caught.value.message == f"{path}, line 1 is no outcome: {words}"
    assert caught.value.hint == "it was written by another version, or changed since"


def test_a_line_that_is_nested_too_deep_is_told(tmp_path: Path) -> None:
    """Python gives up on it, and says so in its own way."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    path.write_bytes(b"[" * 100_000 + b"\n" + path.read_bytes())

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(path)

    assert caught.value.message.startswith(f"{path}, line 1 is no JSON: maximum recur")


def test_a_machine_that_is_none_is_told(tmp_path: Path) -> None:
    """With the file that it stands in."""
    path = stored(tmp_path, measured(0, TWO, [100.0]))
    study = tmp_path / "study.json"
    study.write_text(json.dumps({"machine": {**a_machine().to_dict(), "kernel": 6}}))

    with pytest.raises(StoredFileError) as caught:
        autoloader.readings(path)

    assert caught.value.message == f"{study}: machine.kernel must be str, got 6"


def test_the_table_can_be_worked_with(tmp_path: Path) -> None:
    """As the manual shows."""
    frame = autoloader.readings(stored(tmp_path, measured(0, TWO, [100.0, 120.0])))

    counted = frame[frame["replaced_because"].isna()]
    found = counted.groupby("trial")["epoch_rate"].describe()

    assert isinstance(found, pd.DataFrame)
    assert found["mean"].round().tolist() == [110]


def test_each_trial_is_a_row_with_its_fate(tmp_path: Path) -> None:
    """In order of their numbers; a rate is the median of the race, if there was one."""
    failure = Failure(kind="hung", phase="gate", message="nothing came")
    hung = Outcome(
        number=2, config=ONE, status=Status.HUNG, source="search", isolation="fresh",
        seconds=30.0, failure=failure,
    )  # fmt: skip
    with Record(tmp_path) as record:
        record.add(measured(0, ONE, [100.0], "yours"))
        record.add(refused(1, replace(TWO, num_workers=3), MISSING))
        record.add(hung)
        record.add(measured(3, TWO, [200.0]))
        for rate in (210.0, 230.0, 220.0):
            record.add_reading(3, raced(rate))

    frame = autoloader.trials(tmp_path)

    assert frame["trial"].tolist() == [0, 1, 2, 3]
    assert frame["status"].tolist() == ["measured", "refused", "hung", "measured"]
    assert frame["findings"].tolist() == [pd.NA, "missing_ids", pd.NA, pd.NA]
    assert frame["failure"].tolist() == [pd.NA, pd.NA, "hung", pd.NA]
    assert frame["epoch_rate"].round().tolist() == [100, pd.NA, pd.NA, 220]
    assert frame["readings"].tolist() == [1, 0, 0, 4]
    assert frame["raced"].tolist() == [0, 0, 0, 3]
    assert frame["verified_examples"].tolist() == [512, 1600, pd.NA, 512]
    assert frame["seconds"].tolist() == [1, 1, 30, 1]
    assert frame["peak_memory_bytes"].notna().tolist() == [True, False, False, True]
    assert frame["loop_rate"].isna().all()


def test_a_study_without_trials_has_all_columns(tmp_path: Path) -> None:
    """And no row, in any of the tables."""
    path = tmp_path / "outcomes.jsonl"
    path.write_bytes(b"")

    frames = (
        autoloader.trials(path),
        autoloader.loops(path),
        autoloader.readings(path),
    )

    assert [len(frame) for frame in frames] == [0, 0, 0]
    assert {"trial", "status", "epoch_rate"} <= set(frames[0].columns)
    assert {"trial", "loop_rate", "wait_share"} <= set(frames[1].columns)


def test_each_training_loop_is_a_row(tmp_path: Path) -> None:
    """A quarter of each batch's time is waited here; trials have the medians."""
    looped = replace(
        measured(0, TWO, [100.0]),
        loops=(loop(2, wait_s=0.05, step_s=0.15), loop(2, wait_s=0.05, step_s=0.15)),
    )
    path = stored(tmp_path, looped, measured(1, ONE, [100.0]))

    frame, trials = autoloader.loops(path), autoloader.trials(path)

    assert frame["trial"].tolist() == [0, 0]
    assert frame["wait_share"].tolist() == pytest.approx([0.25, 0.25])
    assert frame["loop_rate"].tolist() == pytest.approx([40, 40])
    assert frame["compute_s"].tolist() == pytest.approx([0.15, 0.15])
    assert frame["utilisation"].isna().all()
    assert trials["loops"].tolist() == [2, 0]
    assert trials["wait_share"].tolist() == [pytest.approx(0.25), pd.NA]
