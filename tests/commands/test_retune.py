"""`autoloader retune`: what is told before anything is started, and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.cli import main
from autoloader.commands import places, retune
from autoloader.errors import StoredFileError
from autoloader.export.recommendation import Recommendation
from autoloader.measure import machine as read_machine
from autoloader.retune_values import RetuneRequest, RetuneResult
from tests.export.test_baseline import a_file
from tests.export.test_history import NIGHT
from tests.fakes import a_machine

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.values.machine import Machine

FLAGS = {"dataset": "json:loads", "target": "95%", "budget": "3m"}


def put(path: Path, **sections: Any) -> Path:
    """Write a recommendation that was asked for in its own folder."""
    request = {"folder": ".", "flags": FLAGS}
    Recommendation(a_file(**{"request": request, **sections}).data).write(path)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a recommendation in a folder of its own."""
    return put(tmp_path / "autoloader.yaml")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RetuneRequest]:
    """Return what was asked for; every night holds, and nothing is started."""
    found: list[RetuneRequest] = []

    def night(request: RetuneRequest, machine: Machine, *, quiet: bool) -> RetuneResult:
        found.append(request)
        return RetuneResult(file=request.file, night=NIGHT, drifts=(), tuned=None)

    monkeypatch.setattr(retune, "_night", night)
    return found


def said(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    """Run the command, and return its exit code and what it says on stderr."""
    code = main(["retune", *flags])
    return code, capsys.readouterr().err


def test_the_request_is_made_of_the_file(
    file: Path, asked: list[RetuneRequest]
) -> None:
    """In the folder that the tune ran in, wherever the command is started."""
    code = main(["retune", str(file)])

    (request,) = asked
    assert code == 0
    assert request.file == file
    assert request.tune.source.spec == "json:loads"
    assert request.tune.budget_s == 180
    assert request.tune.section == {"folder": ".", "flags": FLAGS}
    assert request.baseline.config == request.recommendation.config
    assert (request.out, request.is_verify_only, request.changed_exit) == (
        None,
        False,
        10,
    )


def test_a_budget_of_one_night_is_not_kept(
    file: Path, asked: list[RetuneRequest]
) -> None:
    """The file goes on saying what it was asked for."""
    main(["retune", str(file), "--budget", "1m", "--changed-exit", "0"])

    (request,) = asked
    assert request.tune.budget_s == 60
    assert request.tune.section == {"folder": ".", "flags": FLAGS}
    assert request.changed_exit == 0


def test_a_proposal_keeps_how_its_folder_is_reached(
    file: Path, asked: list[RetuneRequest], tmp_path: Path
) -> None:
    """From its own place, which may be another."""
    (tmp_path / "new").mkdir()

    main(["retune", str(file), "--out", str(tmp_path / "new/x.yaml"), "--only-verify"])

    (request,) = asked
    assert request.out == tmp_path / "new/x.yaml"
    assert request.tune.section == {"folder": "..", "flags": FLAGS}
    assert request.is_verify_only


def test_a_folder_means_the_file_of_this_hardware(
    tmp_path: Path, asked: list[RetuneRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or, where there is none, one that will be; the nearest says what is asked."""
    here = a_machine(2)
    monkeypatch.setattr(read_machine, "read_machine", lambda: here)
    other = replace(here, cpu_model="Other CPU")
    nearest = put(tmp_path / other.file_name, machine=other.to_dict())

    main(["retune", str(tmp_path)])
    own = put(tmp_path / here.file_name, machine=here.to_dict())
    main(["retune", str(tmp_path)])

    first, second = asked
    assert first.file == tmp_path / here.file_name
    assert first.recommendation.data["machine"]["cpu_model"] == "Other CPU"
    assert second.file == own
    assert second.recommendation.data["machine"]["cpu_model"] == "Test CPU"
    assert nearest.exists()


@pytest.mark.usefixtures("asked")
def test_people_and_programs_are_told_what_came_of_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One object on stdout, or lines."""
    main(["retune", str(file), "--json"])
    found = json.loads(capsys.readouterr().out)
    main(["retune", str(file)])
    lines = capsys.readouterr().out

    assert found["verdict"] == "holds"
    assert found["changes"][0]["field"] == "kernel"
    assert found["tune"] is None
    assert "The recommendation holds: 2.00 times as fast as PyTorch's" in lines
    assert "kernel was 6.1, now 6.8" in lines


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"request": {"folder": "gone", "flags": FLAGS}},
            "request.folder leads to {folder}/gone: No such file or directory",
        ),
        (
            {"request": {"folder": ".", "flags": {"target": "95%"}}},
            "request.flags: it names no dataset",
        ),
        (
            {"request": {"folder": ".", "flags": {"dataset": "gone.py:x"}}},
            "request.flags: there is no file gone.py",
        ),
        (
            {"request": {"folder": ".", "flags": {**FLAGS, "target": "step"}}},
            "request.flags: --target step needs the training step, and there is no "
            "--step",
        ),
        (
            {"request": {"folder": ".", "flags": {**FLAGS, "seed": "x"}}},
            "request.flags: argument --seed: invalid int value: 'x'",
        ),
    ],
    ids=["folder", "dataset", "file", "step", "seed"],
)
def test_a_request_that_cannot_be_repeated_is_the_files_fault(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sections: dict[str, Any],
    message: str,
) -> None:
    """Exit 5, with the place in the file."""
    file = put(tmp_path / "autoloader.yaml", **sections)

    code, err = said(capsys, str(file))

    assert code == StoredFileError.exit_code
    assert f"{file}: {message.format(folder=tmp_path)}" in " ".join(err.split())


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["none.yaml"], 2, "there is no recommendation at "),
        (["FILE", "--changed-exit", "256"], 2, "--changed-exit must be at most 255"),
        (["FILE", "--changed-exit", "x"], 2, "--changed-exit must be a whole number"),
        (["FILE", "--budget", "soon"], 2, "a duration such as 90s, 3m or 1h30m"),
        (["FILE", "--out", "gone/new.yaml"], 2, "there is no folder "),
    ],
)
def test_wrong_use_is_told_before_anything_starts(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    code: int,
    message: str,
) -> None:
    """The flag, the value, the rule."""
    given = [str(file) if item == "FILE" else item for item in flags]
    found, err = said(capsys, *given)

    assert found == code
    assert message in err


@pytest.mark.usefixtures("asked")
def test_a_password_is_asked_for_and_can_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is never in the file."""
    flags = {**FLAGS, "arg": {"token": "***"}}
    file = put(tmp_path / "autoloader.yaml", request={"folder": ".", "flags": flags})

    without, err = said(capsys, str(file))
    given, _ = said(capsys, str(file), "--arg", "token=secret")

    assert (without, given) == (5, 0)
    assert "holds --arg token without its password" in err
    assert "secret" not in file.read_text()


def test_an_interrupted_night_begins_anew(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says that nothing was changed."""

    def interrupt(*_arguments: object, **_keywords: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(retune, "_night", interrupt)

    code, err = said(capsys, str(file))

    assert code == 130
    assert "interrupted; the file is as it was; the same command begins anew" in err


def test_out_means_a_file_or_this_hardwares_own_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is what ends in a slash, and is made then, or is there."""
    monkeypatch.setattr(read_machine, "read_machine", lambda: a_machine(2))
    monkeypatch.chdir(tmp_path)

    made = places.place_for("settings/")
    there = places.place_for("settings")

    assert str(places.place_for("new.yaml")) == "new.yaml"
    assert str(made) == str(there) == "settings/test-2cpu-none.yaml"
    assert not places.is_folder(tmp_path / ("x" * 300))
