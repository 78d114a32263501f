"""Optuna's journal is a copy: it is mended where it can be, and missed by nobody."""

import os
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from autoloader.search.journal import Journal


def trial(number: int, status: str = "measured") -> FrozenTrial:
    """Return a finished trial that carries its number."""
    return optuna.trial.create_trial(
        state=TrialState.COMPLETE,
        value=float(number),
        user_attrs={"number": number, "status": status},
    )


def told(path: Path) -> list[tuple[int, str]]:
    """Return number and status of each trial, as Optuna's own tools read them."""
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(path))
    )
    found = optuna.load_study(study_name=path.parent.name, storage=storage).trials
    return [(item.user_attrs["number"], item.user_attrs["status"]) for item in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a journal with two trials."""
    path = tmp_path / "optuna.log"
    Journal(path, [trial(0)]).add(trial(1))
    return path


def test_trials_are_told_in_order(path: Path) -> None:
    """By whatever way they came in; no lock is left beside them."""
    assert told(path) == [(0, "measured"), (1, "measured")]
    assert list(path.parent.iterdir()) == [path]


def test_a_journal_that_agrees_is_kept(path: Path) -> None:
    """It is appended to, so that a dashboard goes on reading it."""
    before = path.read_bytes()

    Journal(path, [trial(0), trial(1)]).add(trial(2))

    assert path.read_bytes().startswith(before)
    assert [number for number, _ in told(path)] == [0, 1, 2]


def tear(path: Path) -> None:
    """Cut the last line short."""
    path.write_bytes(path.read_bytes()[:-10])


def spoil(path: Path) -> None:
    """Put a line into it that is none."""
    path.write_bytes(b"\0\0\0\n" + path.read_bytes())


def end_badly(path: Path) -> None:
    """Add a line that is none, whole as lines go."""
    path.write_bytes(path.read_bytes() + b"garbage\n")


def empty(path: Path) -> None:
    """Leave nothing in it."""
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil_it", [tear, spoil, end_badly, empty, Path.unlink])
def test_a_damaged_journal_is_written_anew(
    path: Path, spoil_it: Callable[[Path], None]
) -> None:
    """A killed writer, a full disk, somebody who tidied up."""
    spoil_it(path)

    Journal(path, [trial(0), trial(1)])

    assert told(path) == [(0, "measured"), (1, "measured")]


@pytest.mark.parametrize(
    "known", [[trial(0)], [trial(0), trial(1, "refused")], [trial(1), trial(0)]]
)
def test_a_journal_that_differs_is_written_anew(
    path: Path, known: list[FrozenTrial]
) -> None:
    """What is recorded is right, a later fate included."""
    Journal(path, known)

    assert [number for number, _ in told(path)] == [
        item.user_attrs["number"] for item in known
    ]
    assert told(path)[-1][1] == known[-1].user_attrs["status"]


@pytest.mark.parametrize("spoil_it", [empty, Path.unlink])
def test_a_journal_that_goes_while_it_is_open_comes_again(
    path: Path, spoil_it: Callable[[Path], None]
) -> None:
    """With all that it had told."""
    open_one = Journal(path, [trial(0), trial(1)])
    spoil_it(path)

    open_one.add(trial(2))

    assert [number for number, _ in told(path)] == [0, 1, 2]


def test_a_disk_that_refuses_is_told_and_ends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was missed is written as soon as there is room."""
    open_one = Journal(path, [trial(0), trial(1)])

    def refuse(_descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        open_one.add(trial(2))
    open_one.add(trial(3))

    assert (
        f"Optuna's journal {path} is not written: [Errno 28] No space left on device"
        in caplog.text
    )
    assert [number for number, _ in told(path)] == [0, 1, 2, 3]


def test_a_lock_that_a_killed_run_left_is_no_obstacle(path: Path) -> None:
    """Optuna's own would be waited for, for half a minute."""
    (path.parent / "optuna.log.lock").symlink_to(path)

    Journal(path, [trial(0), trial(1)]).add(trial(2))

    assert [number for number, _ in told(path)] == [0, 1, 2]


def test_the_end_takes_the_place_of_what_was_told_before(path: Path) -> None:
    """Under the same name, and by lines that are added: a dashboard reads on."""
    open_one = Journal(path, [trial(0), trial(1)])
    before = path.read_bytes()

    open_one.conclude([trial(0), trial(1, "refused")], about={"state": "met"})

    assert told(path) == [(0, "measured"), (1, "refused")]
    assert path.read_bytes().startswith(before)
    assert studies(path)[0].user_attrs == {"state": "met"}
    assert len(studies(path)) == 1
    Journal(path, [trial(0), trial(1, "refused")])
    assert path.read_bytes().startswith(before)


def test_the_end_is_told_where_the_journal_has_gone(path: Path) -> None:
    """It is written anew, whole."""
    open_one = Journal(path, [trial(0), trial(1)])
    path.unlink()

    open_one.conclude([trial(0), trial(1)], about={})

    assert told(path) == [(0, "measured"), (1, "measured")]


def test_an_end_that_the_disk_refuses_ends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The recommendation is written nevertheless."""
    open_one = Journal(path, [trial(0), trial(1)])

    def refuse(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        open_one.conclude([trial(0)], about={})

    assert "No space left on device" in caplog.text


def studies(path: Path) -> list[optuna.study.StudySummary]:
    """Return what a dashboard lists."""
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(path))
    )
    return optuna.get_all_study_summaries(storage=storage)
