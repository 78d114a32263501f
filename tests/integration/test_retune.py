"""A night in real processes: what holds stays, other data is tuned for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import autoloader
from autoloader.export.baseline import read_baseline
from autoloader.export.history import history_of
from autoloader.export.recommendation import load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone

DATASET = """
import time
from pathlib import Path

from torch.utils.data import Dataset


class Files(Dataset):
    def __init__(self, is_listed):
        found = sorted(Path("files").iterdir())
        self.paths = found if is_listed else [Path(f"files/{n:03}") for n in range(96)]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        time.sleep(float(Path("seconds").read_text()))
        return int(self.paths[index].read_text()), index % 7


def listed():
    return Files(True)


def fixed():
    return Files(False)
"""
"""Reads files slowly: those of a folder, or those of a list of its own."""


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "autoloader", *flags],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tune once, from a folder beside the file's own."""
    folder = tmp_path_factory.mktemp("tuned")
    work = folder / "work"
    (work / "files").mkdir(parents=True)
    for number in range(96):
        (work / f"files/{number:03}").write_text(str(number))
    (work / "seconds").write_text("0.004")
    (work / "data.py").write_text(DATASET)
    done = run(
        work, "tune", "--dataset", "data.py:listed", "--batch-size", "8",
        "--num-workers", "2", "--prefetch-factor", "2", "--budget", "8s",
        "--target", "100", "--out", "../autoloader.yaml",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def file(tuned: Path, tmp_path: Path) -> Path:
    """Return the recommendation in a copy of the folder: no path of it is absolute."""
    shutil.copytree(tuned, tmp_path / "moved")
    return tmp_path / "moved/autoloader.yaml"


def night(file: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    """Run a night from the folder of the file, and return its code and what it says."""
    done = run(file.parent, "retune", file.name, "--json", *flags)
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


@pytest.mark.slow
def test_a_night_on_which_nothing_changed_holds(file: Path) -> None:
    """Exit 0, the file untouched, a line in the history, every reading kept.

    Too noisy a machine may say so instead: other tests have had their part of it.
    """
    before = file.read_bytes()

    code, found = night(file, "--budget", "20s")

    assert (code, found["verdict"]) in {(0, "holds"), (6, "undecided")}
    assert file.read_bytes() == before
    (told,) = history_of(file)
    assert (told.exit_code, told.rounds) == (code, found["rounds"])
    assert told.rate == found["rate"]
    assert told.changes == ()
    (folder,) = (file.parent / "work/.autoloader").glob("retune-*")
    frame = autoloader.readings(folder)
    rivals = {rival.name for rival in read_baseline(load(file), file).rivals}
    assert set(frame["source"]) == {"stored", *rivals}


@pytest.mark.full
def test_a_dataset_that_lost_a_file_is_tuned_again_or_fails(file: Path) -> None:
    """One file fewer in a folder is other data; one that a list names is a fault."""
    old = yaml.safe_load(file.read_text())
    (file.parent / "work/files/050").unlink()

    code, found = night(file)
    flags = old["request"]["flags"]
    flags["dataset"] = "data.py:fixed"
    fixed = {**old, "dataset": "data.py:fixed", "request": {**old["request"]}}
    other = file.with_name("fixed.yaml")
    other.write_text(yaml.safe_dump(fixed))
    failed, error = night(other)

    new = yaml.safe_load(file.read_text())
    assert found["reason"] == "other data: length was 96, now 95"
    assert (code, found["verdict"]) in {(0, "renewed"), (10, "rewritten")}
    assert new["scope"]["length"] == 95
    assert new["request"] == {
        **old["request"],
        "flags": {**flags, "dataset": "data.py:listed"},
    }
    kept = file.with_name(found["kept"])
    assert yaml.safe_load(kept.read_text())["scope"]["length"] == 96
    assert failed == 3
    assert "files/050" in error["error"]["message"]
    assert [item.verdict for item in history_of(other)] == ["dataset_fails"]


@pytest.mark.full
def test_a_dataset_that_grew_is_tuned_again(file: Path) -> None:
    """Its length is named, old and new."""
    (file.parent / "work/files/096").write_text("96")

    code, found = night(file)

    assert found["reason"] == "other data: length was 96, now 97"
    assert (code, found["verdict"]) in {(0, "renewed"), (10, "rewritten")}
    assert yaml.safe_load(file.read_text())["scope"]["length"] == 97


@pytest.mark.full
def test_a_new_torch_is_named_and_holds(file: Path) -> None:
    """The race tells that it is as fast: nothing is tuned."""
    changed(file, "versions", torch="2.0.0")
    before = file.read_bytes()

    code, found = night(file, "--budget", "20s")

    assert (code, found["verdict"]) == (0, "holds")
    (change,) = found["changes"]
    assert (change["field"], change["old"]) == ("torch", "2.0.0")
    assert file.read_bytes() == before


@pytest.mark.full
def test_other_hardware_is_tuned_for_apart(file: Path) -> None:
    """A file of another machine is left alone, unless another place is named."""
    changed(file, "machine", cpu_model="Another CPU")
    before = file.read_bytes()

    code, refused = night(file)
    proposed, found = night(file, "--out", "here.yaml")

    assert code == 5
    assert "is for another-2cpu-none, this machine is " in refused["error"]["message"]
    assert (proposed, found["verdict"], found["wrote"]) == (10, "proposed", "here.yaml")
    assert file.read_bytes() == before
    here = yaml.safe_load(file.with_name("here.yaml").read_text())
    assert here["machine"]["cpu_model"] != "Another CPU"


@pytest.mark.full
def test_slower_storage_is_tuned_for_on_the_third_night(file: Path) -> None:
    """Two slow nights may be others' load: every ratio is as it was."""
    (file.parent / "work/seconds").write_text("0.010")

    nights = [night(file, "--budget", "20s") for _ in range(3)]

    assert [(code, found["verdict"]) for code, found in nights[:2]] == [
        (0, "holds")
    ] * 2
    assert [found["pace"] for _, found in nights] == ["slow"] * 3
    code, last = nights[2]
    assert (code, last["verdict"]) in {(0, "renewed"), (10, "rewritten")}
    assert [item.exit_code for item in history_of(file)] == [0, 0, code]


def changed(file: Path, section: str, **parts: str) -> None:
    """Write other values into a recommendation, as another machine would have."""
    data = yaml.safe_load(file.read_text())
    data[section].update(parts)
    file.write_text(yaml.safe_dump(data))
