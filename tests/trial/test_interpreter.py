"""Children run under the flags of their parent."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autoloader.trial.child import Child
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]

SAYS = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r});"
    "import json; from autoloader.trial.interpreter import interpreter_flags;"
    "print(json.dumps([interpreter_flags(), list(sys.flags), sys.warnoptions,"
    "sorted(map(str, sys._xoptions.items()))]))"
)
"""Prints the flags that a child gets, and all that they make of an interpreter."""


def said(*flags: str, **variables: str) -> list[object]:
    """Return what a Python with these flags says of itself."""
    others = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
    done = subprocess.run(
        [sys.executable, *flags, "-c", SAYS],
        env={**others, **variables},
        capture_output=True,
        check=True,
        text=True,
    )
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["-I"],
        ["-E"],
        ["-s"],
        ["-P"],
        ["-E", "-s"],
        ["-O"],
        ["-OO", "-B"],
        ["-b"],
        ["-bb"],
        ["-W", "error"],
        ["-W", "error::UserWarning", "-W", "ignore:of a thing:FutureWarning"],
        ["-X", "dev"],
        ["-X", "dev", "-W", "default", "-bb"],
        ["-X", "utf8=1", "-X", "tracemalloc=3", "-X", "importtime"],
        ["-X", "faulthandler"],
    ],
    ids=" ".join,
)
def test_an_interpreter_under_the_flags_that_are_found_is_the_same(
    flags: list[str],
) -> None:
    """The same modules, asserts, warnings and modes; and so is a child of it."""
    found, *state = said(*flags)

    assert isinstance(found, list)
    again, *state_of_child = said(*found)
    assert state_of_child == state
    assert again == found
    assert bool(found) == bool(flags)


def test_flags_that_variables_stand_for_are_not_lost() -> None:
    """They are inherited, or ignored by both."""
    variables = {"PYTHONWARNINGS": "error::UserWarning", "PYTHONOPTIMIZE": "1"}
    found, *state = said(**variables)

    assert isinstance(found, list)
    _, flags, warnings, options = said(*found, **variables)

    assert [flags, options] == [state[0], state[2]]
    assert isinstance(warnings, list)
    assert set(warnings) == {"error::UserWarning"}


def test_a_child_is_started_under_the_flags_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before what it is to run, and its environment is the same."""
    monkeypatch.setattr("sys.warnoptions", ["error::ResourceWarning"])
    child = Child("host", logs=tmp_path, tmp=tmp_path)

    line = Path(f"/proc/{child.pid}/cmdline")
    wait_for(lambda: b"autoloader.child" in line.read_bytes(), "its start")
    words = line.read_bytes().decode().split("\0")
    child.kill()

    assert "-Werror::ResourceWarning" in words[1 : words.index("-m")]
    assert words[words.index("-m") + 1] == "autoloader.child"
