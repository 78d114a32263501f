"""What a command hands on: one object without passwords, and what was asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from autoloader.cli import main
from autoloader.commands.output import write_json
from autoloader.errors import UsageError
from autoloader.tuning import TuneRequest


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
