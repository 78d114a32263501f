"""What a command hands on: one object without passwords, and what was asked for."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoloader.cli import main
from autoloader.commands.output import write_json
from autoloader.errors import UsageError
from autoloader.tune_values import TuneRequest

Raising = Callable[[Exception], None]


@pytest.fixture
def raising(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Raising:
    """Return what makes the tune of a dataset's file end by an exception."""

    def end_by(exc: Exception) -> None:
        def tune(*_given: Any) -> None:
            raise exc

        monkeypatch.setattr("autoloader.tuning.tune", tune)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.py").touch()
    return end_by


def test_an_object_has_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    """An exception of a driver may say one."""
    said = "no answer from postgres://user:secret@host/x"

    write_json({"failed": [{"message": said}], "passed": False})

    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {
        "failed": [{"message": "no answer from postgres://user:***@host/x"}],
        "passed": False,
    }


def test_of_an_object_that_cannot_be_written_nothing_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Half of one would be read as another."""
    with pytest.raises(ValueError, match=r"^Out of range float values are not JSON"):
        write_json({"passed": True, "rate": math.nan})

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("flag", ["--json", "--quiet"])
def test_an_error_says_no_password(
    flag: str, raising: Raising, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the object nor the line on stderr, whether message or hint had one."""
    hint = "try {'password': 's3cret'}"
    raising(UsageError("no answer from postgres://user:s3cret@host/x", hint=hint))

    code = main(["tune", "--dataset", "data.py:train", flag])

    said = capsys.readouterr()
    assert code == 2
    assert said.err == (
        "autoloader: no answer from postgres://user:***@host/x\n"
        "  hint: try {'password': ***}\n"
    )
    wanted = {
        "error": {
            "kind": "UsageError",
            "message": "no answer from postgres://user:***@host/x",
            "hint": "try {'password': ***}",
        },
        "exit_code": 2,
    }
    assert said.out == (f"{json.dumps(wanted)}\n" if flag == "--json" else "")


def test_the_traceback_of_a_bug_says_no_password(
    raising: Raising, capsys: pytest.CaptureFixture[str]
) -> None:
    """People are asked to send it."""
    raising(ZeroDivisionError("of postgres://user:s3cret@host/x"))

    code = main(["tune", "--dataset", "data.py:train"])

    told = "ZeroDivisionError: of postgres://user:***@host/x"
    said = capsys.readouterr()
    assert code == 70
    assert said.out == ""
    assert "\nTraceback (most recent call last):\n" in said.err
    assert said.err.endswith(
        f"\n{told}\nautoloader: this is a bug of autoloader: {told}\n"
    )
    assert "s3cret" not in said.err


@pytest.mark.parametrize(
    ("flags", "asked", "memory_bytes"),
    [(["--memory", "3GiB"], True, 3 * 2**30), ([], False, None)],
)
def test_memory_is_asked_for_where_it_is_named(
    flags: list[str],
    asked: bool,
    memory_bytes: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it is what the machine leaves, which is no part of the study."""
    requests: list[TuneRequest] = []

    def tune(request: TuneRequest, *_rest: Any) -> None:
        requests.append(request)
        msg = "it is enough to know what was asked for"
        raise UsageError(msg)

    monkeypatch.setattr("autoloader.tuning.tune", tune)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.py").touch()

    assert main(["tune", "--dataset", "data.py:train", "--quiet", *flags]) == 2
    (request,) = requests
    assert request.is_memory_asked == asked
    assert request.target.memory_bytes is not None
    assert memory_bytes in {None, request.target.memory_bytes}
