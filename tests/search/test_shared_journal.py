"""A journal in a shared folder outlives writers that leave a torn end."""

import json
import os
from pathlib import Path

import pytest
from optuna.storages import JournalStorage
from optuna.study import StudyDirection

from autoloader.search.shared_journal import SharedJournal


def journal(folder: Path) -> SharedJournal:
    """Open the journal of a folder, as another process would."""
    return SharedJournal(folder / "fleet.journal")


def test_what_one_writes_another_reads(tmp_path: Path) -> None:
    """From the number on that it asks for."""
    one, two = journal(tmp_path), journal(tmp_path)

    one.append_logs([{"a": 1}, {"b": 2}])
    assert list(two.read_logs(0)) == [{"a": 1}, {"b": 2}]
    two.append_logs([{"c": 3}])

    assert list(one.read_logs(2)) == [{"c": 3}]
    assert list(journal(tmp_path).read_logs(1)) == [{"b": 2}, {"c": 3}]
    assert list(two.read_logs(3)) == []


@pytest.mark.parametrize("torn", [b"{", b'{"d": 4}', b"x" * 200_000])
def test_a_torn_end_is_cut_off_by_the_next_writer(tmp_path: Path, torn: bytes) -> None:
    """A line without its end is none, whatever it says."""
    one = journal(tmp_path)
    one.append_logs([{"a": 1}])
    with (tmp_path / "fleet.journal").open("ab") as file:
        file.write(torn)

    assert list(journal(tmp_path).read_logs(0)) == [{"a": 1}]
    one.append_logs([{"b": 2}])

    assert list(journal(tmp_path).read_logs(0)) == [{"a": 1}, {"b": 2}]


def test_a_file_that_is_all_torn_begins_anew(tmp_path: Path) -> None:
    """The first writer was killed in its first line."""
    (tmp_path / "fleet.journal").write_bytes(b'{"op')

    journal(tmp_path).append_logs([{"a": 1}])

    assert (tmp_path / "fleet.journal").read_text() == '{"a":1}\n'


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    """It is not passed over: what followed from it is not known."""
    (tmp_path / "fleet.journal").write_text('{"a":1}\nnothing\n{"b":2}\n')

    with pytest.raises(json.JSONDecodeError):
        list(journal(tmp_path).read_logs(0))


def test_a_study_goes_on_behind_a_torn_end(tmp_path: Path) -> None:
    """Optuna's own backend does not read such a file again."""
    storage = JournalStorage(journal(tmp_path))
    study = storage.create_new_study([StudyDirection.MAXIMIZE], "fleet")
    storage.create_new_trial(study)
    path = tmp_path / "fleet.journal"
    os.truncate(path, path.stat().st_size - 3)

    other = JournalStorage(journal(tmp_path))
    assert other.get_all_trials(study) == []
    other.create_new_trial(study)

    assert len(JournalStorage(journal(tmp_path)).get_all_trials(study)) == 1


def test_the_lock_of_a_path_that_is_not_absolute_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that leads nowhere would let others wait for ever without a pause."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared").mkdir()
    found = SharedJournal(Path("shared/fleet.journal"))

    found._lock.acquire()

    assert (tmp_path / "shared/fleet.journal.lock").exists()
    found._lock.release()
