"""Processes that end with all that they started, however whoever asked them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from autoloader.child.lifeline import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Sequence


def start(command: Sequence[object], **more: Any) -> subprocess.Popen[str]:
    """Start a process in a session of its own; its pipes are of text.

    Args:
        command: program and arguments.
        more: of `subprocess.Popen`.
    """
    me = os.getpid()
    return subprocess.Popen(
        [str(word) for word in command],
        text=True,
        start_new_session=True,
        preexec_fn=lambda: die_with_parent(me),
        **more,
    )


def end(process: subprocess.Popen[str]) -> None:
    """End a process of `start`, and whatever is left in its session's first group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with process:  # closes its pipes
        process.wait()


def run(
    command: Sequence[object], *, limit_s: float | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a process to its end.

    Args:
        command: program and arguments.
        limit_s: seconds that it may take; None: it limits itself.
        more: of `subprocess.Popen`.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was ended.
    """
    process = start(command, **more)
    try:
        out, err = process.communicate(timeout=limit_s)
    except BaseException:
        end(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
