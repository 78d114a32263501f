"""What a study left in its folder, read as one value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from autoloader.errors import StoredFileError
from autoloader.export.study_files import read_study, study_behind
from autoloader.search.record import Record
from autoloader.values.outcome import Status
from tests.export.test_readings import recommendation
from tests.report.fakes import config, measured, reading, refused

if TYPE_CHECKING:
    from pathlib import Path

ZERO, TWO = config(0), config(2)


def study(folder: Path, *rates: float) -> Path:
    """Write a study in which two workers were raced at these rates."""
    home = folder / ".autoloader" / "data-train-1"
    with Record(home) as record:
        record.add(measured(0, ZERO, [50.0]))
        record.add(measured(1, TWO, [100.0]))
        for rate in rates:
            record.add_reading(1, reading(rate, "race"))
    return home


def file_of(folder: Path) -> Path:
    """Write a recommendation that names the study."""
    return recommendation(folder, {"name": "data-train-1"})


def test_trials_have_the_readings_of_the_race(tmp_path: Path) -> None:
    """As the study itself knew them."""
    home = study(tmp_path, 110.0, 120.0)

    found = read_study(home)

    assert found.folder == home
    assert [item.number for item in found.outcomes] == [0, 1]
    assert len(found.outcomes[1].raced) == 2
    assert [item.outcome.number for item in found.taken] == [0, 1, 1, 1]
    assert found.state == {}


def test_a_trial_that_was_refused_later_has_none(tmp_path: Path) -> None:
    """They are still among what was taken: something ran."""
    home = study(tmp_path, 110.0)
    with Record(home) as record:
        record.add(refused(1, TWO))

    found = read_study(home)

    assert found.outcomes[1].status is Status.REFUSED
    assert found.outcomes[1].readings == ()
    assert [item.outcome.status for item in found.taken[1:]] == [Status.REFUSED] * 2


def test_the_state_is_as_it_stands(tmp_path: Path) -> None:
    """Unchecked: what is made of it is checked."""
    home = study(tmp_path)
    (home / "study.json").write_text(json.dumps({"finished": True}))

    assert read_study(home).state == {"finished": True}


def test_the_study_behind_a_file_has_its_readings(tmp_path: Path) -> None:
    """To the six digits of a file."""
    study(tmp_path, 110.0, 1000 / 9)

    found = study_behind(file_of(tmp_path), TWO, [110.0, 111.111])

    assert found is not None
    assert len(found.outcomes) == 2


def test_a_study_that_began_anew_is_found_where_it_was_put_aside(
    tmp_path: Path,
) -> None:
    """The newer one has other readings; a damaged one aside is passed by."""
    home = study(tmp_path, 110.0)
    with Record(home) as record:
        record.begin_anew()
        record.add(measured(0, TWO, [130.0]))
    (home / "outcomes.9.jsonl").write_text("rubbish\n{}\n")

    old = study_behind(file_of(tmp_path), TWO, [110.0])
    gone = study_behind(file_of(tmp_path), TWO, [115.0])

    assert old is not None
    assert old.path.name == "outcomes.1.jsonl"
    assert gone is None


def test_a_damaged_study_behind_a_file_is_told(tmp_path: Path) -> None:
    """It is there, and cannot be read."""
    home = study(tmp_path, 110.0)
    path = home / "outcomes.jsonl"
    path.write_text("rubbish\n" + path.read_text())

    with pytest.raises(StoredFileError) as caught:
        study_behind(file_of(tmp_path), TWO, [110.0])

    assert caught.value.message.startswith(f"{path}, line 1 is no JSON: ")
