"""A folder for each measuring, and what it says."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.search.contenders import Contender
from autoloader.search.measure_folder import make_measure_folder, write_study
from autoloader.values.config import LoaderConfig
from autoloader.values.job import Reference
from autoloader.values.machine import Machine
from tests.fakes import a_machine, a_scope, some_facts

BEGUN = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)


def test_each_measuring_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Two that begin in the same second too; git leaves them out."""
    root = tmp_path / "deep" / ".autoloader"

    first = make_measure_folder(root, BEGUN)
    second = make_measure_folder(root, BEGUN)

    assert first.name == "measure-20260102-150405"
    assert second.name == "measure-20260102-150405-2"
    assert first.is_dir()
    assert first.stat().st_mode & 0o777 == 0o700
    assert (root / ".gitignore").read_text() == "*\n"


def test_a_folder_that_cannot_be_made_is_wrong_use(tmp_path: Path) -> None:
    """A file stands in its way."""
    root = tmp_path / ".autoloader"
    root.write_text("")

    with pytest.raises(UsageError) as caught:
        make_measure_folder(root, BEGUN)

    assert caught.value.message == f"no folder can be made in {root}: File exists"
    assert caught.value.hint == "work in a folder on a local disk"


def test_the_study_says_what_is_measured_where(tmp_path: Path) -> None:
    """Configs by letter, and the whole machine."""
    config = LoaderConfig.canonical(num_workers=2, batch_size=8)
    entered = (Contender(name="A", number=0, source="given", config=config),)
    reference = Reference(
        facts=some_facts(), scope=a_scope(), folder=str(tmp_path), seconds=1.0
    )

    write_study(
        tmp_path,
        dataset="data.py:train",
        reference=reference,
        machine=a_machine(),
        contenders=entered,
    )
    data = json.loads((tmp_path / "study.json").read_text())

    assert data["dataset"] == "data.py:train"
    assert data["configs"] == [item.to_dict() for item in entered]
    assert Machine.from_dict(data["machine"]) == a_machine()
