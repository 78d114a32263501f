"""`autoloader needs`: a file and a target in, what it takes out."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoloader.cli import main
from tests.measure.needed import BASIS
from tests.report.fakes import MACHINE


def written(folder: Path, **target: Any) -> str:
    """Write a recommendation with the section `needs`, and return its path."""
    path = folder / "autoloader.yaml"
    settings = {"batch_size": 64, "num_workers": 2, "prefetch_factor": 2}
    data = {
        "schema": 1,
        "dataset": "data.py:train",
        "dataloader": settings,
        "target": {"met": True, "ranks": 1, "examples_per_s": 500.0, **target},
        "needs": BASIS.to_dict(),
        "machine": MACHINE.to_dict(),
    }
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return str(path)


def needs_json(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    """Run the command with `--json` and return its object."""
    assert main(["needs", *flags, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_target_and_ranks_are_answered_as_one_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the amounts that it rests on."""
    file = written(tmp_path)

    found = needs_json(capsys, file, "--target", "20000", "--ranks", "8")

    assert found["cores"] == pytest.approx(80)
    assert found["workers_per_rank"] == 25
    assert found["basis"] == BASIS.to_dict()
    assert len(found["assumptions"]) == 6


def test_without_flags_it_is_the_files_own_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is that of all of its ranks together."""
    found = needs_json(capsys, written(tmp_path, ranks=4))

    assert found["examples_per_s"] == 500
    assert found["ranks"] == 4


def test_people_get_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And exit code 0."""
    code = main(["needs", written(tmp_path), "--target", "20000", "--ranks", "8"])

    assert code == 0
    assert "25 a rank" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "target", "message", "hint"),
    [
        (
            ["--target", "95%"],
            {},
            "needs takes a rate such as 20000, got --target 95%",
            "a share of the fastest says nothing of a node",
        ),
        (
            [],
            {"examples_per_s": None},
            "{file} names no rate as its target",
            "--target 20000 names one, for the whole node",
        ),
        (
            ["--target", "1", "--ranks", "0"],
            {},
            "--ranks must be a whole number of at least 1, got '0'",
            None,
        ),
    ],
)
def test_what_names_no_demand_is_wrong_use(
    flags: list[str],
    target: dict[str, Any],
    message: str,
    hint: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, with what to do."""
    file = written(tmp_path, **target)

    code = main(["needs", file, *flags, "--json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 2
    assert error["message"] == message.format(file=file)
    assert error["hint"] == hint


def test_a_file_that_was_written_before_there_were_needs_is_exit_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tuning again writes them."""
    path = Path(written(tmp_path))
    data = yaml.safe_load(path.read_text())
    data["needs"] = {"cpu_s_per_example": 0.1, "wall_s_per_example": 0.1}
    path.write_text(yaml.safe_dump(data))

    code = main(["needs", str(path), "--target", "10", "--json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 5
    assert error["message"] == f"{path}: needs lacks the field 'bytes_per_example'"
