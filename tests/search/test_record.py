"""Outcomes on disk: whole lines only, one writer, nothing lost."""

import errno
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.errors import StoredFileError, UsageError
from autoloader.search.record import Record
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Reading, Status, Verdict

READING = Reading(
    purpose="search",
    num_workers=2,
    kept=False,
    arrivals_s=(0.5, 1.0),
    counts=(8, 8),
    warm_batches=1,
    steady_batches=1,
    total_s=1.5,
    epoch_examples=101,
)

PASSED = Verdict(passed=True, examples=101, of=101, epochs=2, compared="rows")


def outcome(number: int) -> Outcome:
    """Return a measured outcome of a config of its own."""
    return Outcome(
        number=number,
        config=LoaderConfig.canonical(num_workers=number, batch_size=8),
        status=Status.MEASURED,
        source="model",
        isolation="fork",
        seconds=1.0,
        verdict=PASSED,
        readings=(READING,),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a study's folder that is not there yet."""
    return tmp_path / "study"


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a study's file; each of them must be whole."""
    text = (folder / "outcomes.jsonl").read_text(encoding="ascii")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def with_two(folder: Path) -> Path:
    """Write a study of two outcomes, and return its file."""
    with Record(folder) as record:
        record.add(outcome(0))
        record.add(outcome(1))
    return folder / "outcomes.jsonl"


def test_outcomes_are_there_when_the_study_is_opened_again(folder: Path) -> None:
    """In the order of their numbers, whatever the order of their writing."""
    with Record(folder) as record:
        record.add(outcome(1))
        record.add(outcome(0))

    with Record(folder) as record:
        assert record.outcomes == (outcome(0), outcome(1))


def test_a_failure_is_kept_without_the_passwords_that_it_says(folder: Path) -> None:
    """In the file and in what is known of it, in its message and in its hint."""
    failure = Failure(
        kind="worker_exception",
        phase="gate",
        message="no answer from postgres://user:s3cret@host/x",
        hint="its config was {'password': 's3cret'}",
    )
    failed = replace(
        outcome(0), status=Status.CRASHED, verdict=None, readings=(), failure=failure
    )
    kept = replace(
        failure,
        message="no answer from postgres://user:***@host/x",
        hint="its config was {'password': ***}",
    )
    with Record(folder) as record:
        record.add(failed)

        assert record.outcomes == (replace(failed, failure=kept),)

    (line,) = lines_of(folder)
    assert Outcome.from_dict(line["outcome"]) == replace(failed, failure=kept)


def test_a_study_belongs_to_its_owner(folder: Path) -> None:
    """Ids and paths of a user's data are nobody else's."""
    Record(folder).__exit__(None, None, None)

    assert folder.stat().st_mode & 0o777 == 0o700


def test_an_outcome_is_found_by_its_config(folder: Path) -> None:
    """What was not tried is told apart."""
    config, other = outcome(1).config, outcome(2).config
    with Record(folder) as record:
        record.add(outcome(1))

        assert record.of_config(config) == record[config] == outcome(1)
        assert record.of_config(other) is None
        with pytest.raises(KeyError, match=re.escape(repr(other))):
            record[other]


def test_an_outcome_of_the_same_number_takes_the_place_of_the_old_one(
    folder: Path,
) -> None:
    """A config that fails its verification is refused afterwards."""
    with Record(folder) as record:
        record.add(outcome(0))
        later = Outcome.from_dict({**outcome(0).to_dict(), "seconds": 9.0})
        record.add(later)

    with Record(folder) as record:
        assert record.outcomes == (later,)


def test_readings_are_added_to_the_right_outcome(folder: Path) -> None:
    """At once, and when the study is opened again."""
    again = Reading.from_dict({**READING.to_dict(), "purpose": "race"})
    with Record(folder) as record:
        record.add(outcome(0))
        record.add(outcome(1))
        record.add_reading(0, again)
        record.add_reading(1, READING)
        before = record.outcomes

    with Record(folder) as record:
        assert record.outcomes == before
    assert before[0].readings == (READING, again)
    assert before[1].readings == (READING, READING)


def test_a_reading_of_an_unknown_trial_is_not_written(folder: Path) -> None:
    """The file would be refused when it is opened again."""
    with Record(folder) as record:
        record.add(outcome(0))

        with pytest.raises(KeyError, match=r"^7$"):
            record.add_reading(7, READING)

    assert len(lines_of(folder)) == 1


@pytest.mark.parametrize(
    "tail",
    [
        b'{"schema": 1, "record": "tri',
        b"\x00" * 100,
        b"garbage\n",
        b"\n",
        b'{"schema": 1, "rec\n{"sche',
    ],
)
def test_a_torn_last_line_is_cut(folder: Path, tail: bytes) -> None:
    """What a killed writer left half done is gone, and the study goes on behind it."""
    path = with_two(folder)
    whole = path.read_bytes()
    path.write_bytes(whole + tail)

    with Record(folder) as record:
        assert record.outcomes == (outcome(0), outcome(1))
        assert path.read_bytes() == whole
        record.add(outcome(2))

    assert [line["outcome"]["number"] for line in lines_of(folder)] == [0, 1, 2]


def test_a_study_whose_only_line_is_torn_is_empty(folder: Path) -> None:
    """The first outcome was being written."""
    folder.mkdir()
    path = folder / "outcomes.jsonl"
    path.write_bytes(b'{"schema"')

    with Record(folder) as record:
        assert record.outcomes == ()
    assert path.read_bytes() == b""


def change(**values: Any) -> Callable[[str], str]:
    """Return what changes fields of a line."""
    return lambda line: json.dumps({**json.loads(line), **values})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda line: line[:-20], "Expecting"),
        (lambda line: "", "Expecting value: line 1 column 1 (char 0)"),
        (lambda line: "[]", "list indices must be integers or slices, not str"),
        (change(schema=2), "schema 2 is not 1"),
        (lambda line: "{}", "it lacks 'schema'"),
        (change(outcome={}), "Outcome lacks the field 'number'"),
        (
            change(record="reading", number=5, reading=READING.to_dict()),
            "it is a reading of trial 5, which is not there",
        ),
        (
            lambda line: line.replace('"num_workers": 0', '"num_workers": -1'),
            "Outcome.config cannot be used: num_workers must be a whole number of at "
            "least 0, got -1",
        ),
        (
            lambda line: line.replace('"passed": true', '"passed": false'),
            "Outcome.verdict cannot be used: a verdict passes where it has no "
            "findings, and only there",
        ),
    ],
)
def test_a_bad_line_in_the_middle_is_refused_with_its_number(
    folder: Path, spoil: Callable[[str], str], words: str
) -> None:
    """Nothing is guessed, and nothing is cut that stands before something whole."""
    path = with_two(folder)
    first, second = path.read_text(encoding="ascii").splitlines()
    path.write_text(f"{spoil(first)}\n{second}\n", encoding="ascii")
    before = path.read_bytes()

    with Record(folder) as record, pytest.raises(StoredFileError) as caught:
        record.outcomes  # noqa: B018  # the look itself is the test

    assert str(caught.value).startswith(f"{path}, line 1 is no outcome: {words}")
    assert caught.value.hint == (
        "start anew with --fresh; the file is kept under another name"
    )
    assert path.read_bytes() == before


def test_a_last_line_of_a_later_version_is_refused_and_not_cut(folder: Path) -> None:
    """It is whole: somebody else wrote it on purpose."""
    path = with_two(folder)
    first, second = path.read_text(encoding="ascii").splitlines()
    path.write_text(f"{first}\n{change(schema=2)(second)}\n", encoding="ascii")
    before = path.read_bytes()

    sentence = f"{path}, line 2 is no outcome: schema 2 is not 1"
    with (
        Record(folder) as record,
        pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"),
    ):
        record.add(outcome(2))

    assert path.read_bytes() == before


def test_a_damaged_study_can_be_put_aside(folder: Path) -> None:
    """The way out that is offered is open."""
    path = with_two(folder)
    damaged = b"{}\n" + path.read_bytes()
    path.write_bytes(damaged)

    with Record(folder) as record:
        record.begin_anew()
        record.add(outcome(5))

        assert record.outcomes == (outcome(5),)

    assert (folder / "outcomes.1.jsonl").read_bytes() == damaged


def test_beginning_anew_keeps_what_was(folder: Path) -> None:
    """Each time under another name."""
    with Record(folder) as record:
        record.add(outcome(0))
        record.begin_anew()
        record.add(outcome(1))
        record.begin_anew()

        assert record.outcomes == ()

    assert not (folder / "outcomes.jsonl").exists()
    kept = [
        json.loads((folder / name).read_text(encoding="ascii"))["outcome"]["number"]
        for name in ("outcomes.1.jsonl", "outcomes.2.jsonl")
    ]
    assert kept == [0, 1]


def test_beginning_anew_where_nothing_was_changes_nothing(folder: Path) -> None:
    """A first run is no special case."""
    with Record(folder) as record:
        record.begin_anew()

    assert [item.name for item in folder.iterdir()] == ["lock"]


def test_a_second_opener_is_refused(folder: Path) -> None:
    """Two writers would mix their readings."""
    with Record(folder), pytest.raises(UsageError) as caught:
        Record(folder)

    assert str(caught.value) == f"another autoloader works on the study in {folder}"
    assert caught.value.hint == "wait for it, or end it"


def test_a_study_that_was_closed_can_be_opened(folder: Path) -> None:
    """The lock is given back, whatever ended the first."""
    with pytest.raises(ZeroDivisionError), Record(folder):
        _ = 1 / 0

    with Record(folder) as record:
        assert record.outcomes == ()


def test_a_full_disk_leaves_a_whole_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written of the line is taken back, and the way out is said."""
    path = with_two(folder)
    whole, write = path.read_bytes(), os.write
    written: list[int] = []

    def fill_up(descriptor: int, data: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(write(descriptor, bytes(data[:50])))
        return written[0]

    with Record(folder) as record:
        monkeypatch.setattr(os, "write", fill_up)
        with pytest.raises(StoredFileError) as caught:
            record.add(outcome(2))
        monkeypatch.undo()

        assert record.outcomes == (outcome(0), outcome(1))

    assert written == [50]
    assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert caught.value.hint == (
        "free some space and run the same command: it goes on from here"
    )
    assert path.read_bytes() == whole


def test_an_outcome_that_cannot_be_synced_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may refuse as late as that."""

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Record(folder) as record:
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(StoredFileError, match=r"cannot be written: Input/output"):
            record.add(outcome(0))
        monkeypatch.undo()

        assert record.outcomes == ()

    assert lines_of(folder) == []


def test_a_folder_that_goes_during_the_run_is_an_error_of_the_file(
    folder: Path,
) -> None:
    """Somebody tidied up."""
    with Record(folder) as record:
        (folder / "lock").unlink()
        folder.rmdir()

        sentence = (
            f"{folder / 'outcomes.jsonl'} cannot be written: No such file or directory"
        )
        with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
            record.add(outcome(0))


def test_a_link_in_the_place_of_the_file_is_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    """Outcomes go nowhere else."""
    with Record(folder) as record:
        (folder / "outcomes.jsonl").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(
            StoredFileError, match=r"cannot be written: Too many levels"
        ):
            record.add(outcome(0))

    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file stands in its way."""
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "study"

    with pytest.raises(UsageError) as caught:
        Record(folder)

    assert str(caught.value) == (
        f"the study's folder {folder} cannot be used: Not a directory"
    )
    assert caught.value.hint == "work in a folder on a local disk"


def test_a_folder_that_cannot_be_locked_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network disks know no locks; that is nobody else's work on the study."""

    def refuse(_file: object, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)

    sentence = f"the study's folder {folder} cannot be used: No locks available"
    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        Record(folder)


def test_a_file_that_cannot_be_read_gives_the_lock_back(folder: Path) -> None:
    """The next one to try is not told of another autoloader."""
    folder.mkdir()
    (folder / "outcomes.jsonl").mkdir()
    sentence = f"the study's folder {folder} cannot be used: Is a directory"

    for _ in range(2):
        with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
            Record(folder)


def test_a_study_that_begins_anew_is_not_said_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison has a folder of its own each time."""

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Record(folder, goes_on=False) as record:
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(StoredFileError) as caught:
            record.add(outcome(0))
        monkeypatch.undo()

    assert caught.value.hint == (
        "free some space and run the same command: it begins anew"
    )
