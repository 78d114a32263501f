"""A parent that holds more files open than `select` can name hears its children."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from autoloader.child.stages import StageBoard
from autoloader.trial.child import Child, ChildDied
from autoloader.trial.watchdog import Patience
from tests.descriptors import MANY, many_descriptors


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_the_end_of_a_child_is_heard_beyond_what_select_can_name(
    has_pidfd: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the pipe of its answers, and by what tells its end where there is that."""
    popen = subprocess.Popen

    def leaving(command: list[str], **keywords: Any) -> subprocess.Popen[bytes]:
        return popen([command[0], "-c", "raise SystemExit(3)"], **keywords)

    monkeypatch.setattr(subprocess, "Popen", leaving)
    if not has_pidfd:
        monkeypatch.setattr("autoloader.trial.child._open_pidfd", lambda pid: None)
    with many_descriptors():
        child = Child("host", logs=tmp_path, tmp=tmp_path)
        board = StageBoard.create(tmp_path / "stage")

        with pytest.raises(ChildDied) as caught:
            child.answer(board, patience=Patience(stall_s=60.0))

        assert child._answers > MANY
        child.kill()
    board.close()
    assert caught.value.code == 3
