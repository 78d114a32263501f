"""`autoloader report`: what it writes, where, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autoloader
from autoloader.cli import main
from autoloader.export.history import add_night, history_of, history_path
from tests.export.test_history import NIGHT
from tests.imported import packages_in
from tests.report.html.reading import Reader
from tests.report.replayed import Replayed, replay_into


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Give a study on disk, replayed once."""
    return replay_into(tmp_path_factory.mktemp("studied"), spec="data.py:train")


@pytest.fixture
def file(studied: Replayed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of its file, study and all, in the working folder."""
    shutil.copytree(studied.file.parent, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("autoloader.yaml")


def written(path: Path) -> Reader:
    """Return a page, read."""
    return Reader(path.read_text(encoding="utf-8"))


def test_a_page_is_written_beside_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The terminal says the verdict, and where the page is."""
    assert main(["report", str(file)]) == 0

    said = capsys.readouterr().out
    assert "\nTarget met: " in said
    assert "page      autoloader.html (" in said
    assert written(Path("autoloader.html")).all("h1")[0].text == "data.py:train"


def test_a_page_of_ours_is_replaced(file: Path) -> None:
    """As often as people like."""
    assert main(["report", str(file)]) == 0
    before = Path("autoloader.html").stat().st_ino

    assert main(["report", str(file)]) == 0
    assert Path("autoloader.html").stat().st_ino != before


def test_a_file_that_is_no_page_of_ours_is_left_alone(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody's own page may have this name."""
    Path("autoloader.html").write_text("<h1>mine</h1>")

    assert main(["report", str(file)]) == 2

    assert Path("autoloader.html").read_text() == "<h1>mine</h1>"
    assert capsys.readouterr().err == (
        "autoloader: autoloader.html is there, and is no page of this command: it "
        "stays as it is\n  hint: --out names another place\n"
    )


def test_a_page_never_replaces_what_it_is_made_of(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even where that says it is a page."""
    before = file.read_bytes()

    assert main(["report", str(file), "--out", str(file.resolve())]) == 2

    assert file.read_bytes() == before
    assert f"--out {file.resolve()} is what the page is made of" in (
        capsys.readouterr().err
    )


def test_a_folder_has_its_page_in_the_working_folder(
    file: Path, studied: Replayed
) -> None:
    """Named as the study."""
    folder = Path(".autoloader") / studied.folder.name

    assert main(["report", str(folder)]) == 0

    page = written(Path(f"{studied.folder.name}.html"))
    assert page.all("h1")[0].text == "data.py:train"
    assert len(page.all("svg")) == 5


def test_json_is_one_object_and_writes_no_page_unless_one_is_named(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For programs."""
    assert main(["report", str(file), "--json"]) == 0
    alone: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert main(["report", str(file), "--json", "--out", "x.html"]) == 0
    named: dict[str, Any] = json.loads(capsys.readouterr().out)

    assert alone["page"] is None
    assert not Path("autoloader.html").exists()
    assert named["page"] == "x.html"
    assert written(Path("x.html")).data()["dataset"] == "data.py:train"
    assert {**alone, "page": ""} == {**named, "page": ""}
    assert alone["state"] == "met"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (None, 2, "there is no recommendation at autoloader.yaml"),
        ("a: [\n", 5, "autoloader.yaml is no YAML in line 2: "),
        ("a: 1\n", 5, "autoloader.yaml is no recommendation: it lacks 'schema'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_as_everywhere(
    text: str | None,
    code: int,
    message: str,
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And no page is written."""
    file.unlink()
    if text is not None:
        file.write_text(text)

    assert main(["report", str(file)]) == code

    assert capsys.readouterr().err.startswith(f"autoloader: {message}")
    assert not Path("autoloader.html").exists()


def test_a_damaged_study_is_told_with_its_line(
    file: Path, studied: Replayed, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no missing one: somebody changed it."""
    outcomes = Path(".autoloader") / studied.folder.name / "outcomes.jsonl"
    lines = outcomes.read_text().splitlines()
    outcomes.write_text("\n".join(["{}", *lines]) + "\n")

    assert main(["report", str(file)]) == 5

    assert "outcomes.jsonl, line 1 has schema None, this version reads 1" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["a.yaml", "--compare", "b.yaml", "c.yaml"],
        ["a.yaml", "--history", "a.yaml"],
    ],
)
def test_a_file_or_two_to_compare_are_needed(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One of both."""
    assert main(["report", *flags]) == 2

    assert capsys.readouterr().err == (
        "autoloader: report takes a FILE, or --compare A B, or --history FILE\n"
        "  hint: autoloader report autoloader.yaml\n"
    )


def test_two_files_are_compared_in_the_terminal_and_as_a_page(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page is written where one is named."""
    shutil.copy(file, "later.yaml")

    assert main(["report", "--compare", str(file), "later.yaml"]) == 0
    said = capsys.readouterr().out
    assert (
        main(["report", "--compare", str(file), "later.yaml", "--out", "c.html"]) == 0
    )
    told = capsys.readouterr().out

    assert "settings" in said
    assert "the same" in said
    assert "page          c.html" in told
    assert written(Path("c.html")).all("h1")[0].text == "autoloader.yaml and later.yaml"
    assert not Path("autoloader.html").exists()


def test_a_comparison_is_one_object_too(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the names of its files."""
    assert main(["report", "--compare", str(file), str(file), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["before"]["file"] == found["after"]["file"] == "autoloader.yaml"
    assert found["differences"] == []
    assert found["page"] is None


def test_a_history_is_drawn_beside_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file itself need not be there: a night may have been the last one."""
    monkeypatch.chdir(tmp_path)
    add_night(Path("autoloader.yaml"), NIGHT)

    assert main(["report", "--history", "autoloader.yaml"]) == 0

    assert "page      autoloader.history.html" in capsys.readouterr().out
    found = written(Path("autoloader.history.html"))
    assert found.all("h1")[0].text == "autoloader.yaml"


def test_a_history_is_one_object_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page is written where one is named."""
    file, page = tmp_path / "autoloader.yaml", tmp_path / "nights.html"
    add_night(file, NIGHT)

    assert main(["report", "--history", str(file), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    flags = ["--json", "--out", str(page)]
    assert main(["report", "--history", str(file), *flags]) == 0
    with_page = json.loads(capsys.readouterr().out)

    assert alone["nights"] == [NIGHT.to_dict()]
    assert alone["page"] is None
    assert with_page["page"] == str(page)
    assert page.exists()
    assert not (tmp_path / "autoloader.history.html").exists()


def test_a_file_without_nights_has_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What makes one is named."""
    file = tmp_path / "autoloader.yaml"

    assert main(["report", "--history", str(file)]) == 5

    assert capsys.readouterr().err == (
        f"autoloader: {file} has no history: autoloader.yaml.history.jsonl is not "
        "there\n  hint: `autoloader retune FILE` adds a line to it every night\n"
    )


def test_a_history_is_not_written_over_by_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is what it is the history of."""
    file = tmp_path / "autoloader.yaml"
    add_night(file, NIGHT)
    history = history_path(file)

    assert main(["report", "--history", str(file), "--out", str(history)]) == 2

    assert "is what the page is made of" in capsys.readouterr().err
    assert history_of(file) == (NIGHT,)


def test_a_report_is_written_without_anything_heavy(file: Path) -> None:
    """Neither torch nor optuna nor pandas is loaded for a page."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "autoloader", "report", str(file)],
        env={**os.environ, "PYTHONPATH": str(Path(autoloader.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = packages_in(done.stderr)
    assert "jinja2" in loaded
    assert loaded & {"numpy", "optuna", "pandas", "torch"} == set()
