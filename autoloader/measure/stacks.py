"""Have processes write where they stand, one by one, so that no stack lies in another.

Only those are asked that listen (`child.stacks`): the signal would end any other. Whom
to ask, and what is read out of the answers, belongs to the callers.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from autoloader.measure.proc import catches_signal, process_stat

LOOK_S = 0.03
"""Time between two looks at a log."""

BUSY_LOOKS = 10
"""Looks in which the log of a process that computes must not grow, until it is written:
it may only have been waiting for a CPU. One that sleeps again has written all of it."""

LONGEST_S = 3.0
"""Longest time for one process, which may have to wait for a CPU first: one that has no
handler of ours must not take the time of the others."""

TOGETHER_S = 10.0
"""Longest time for all processes together."""


def ask_one_by_one(
    pids: Iterable[int], log: Path, *, patience_s: float = TOGETHER_S
) -> None:
    """Make every process that listens write its stacks, each after the one before it.

    Args:
        pids: whom to ask, in this order; a stopped process cannot answer, and is passed
            over.
        log: where all of them write.
        patience_s: longest time that they have together; those that are left then are
            asked without waiting, since stacks that mix say more than none.
    """
    deadline = time.monotonic() + patience_s
    for pid in pids:
        if catches_signal(pid, signal.SIGUSR2) and _state_of(pid) != "T":
            before, until = _size(log), time.monotonic() + LONGEST_S
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGUSR2)
            _wait_until_written(pid, log, before, min(until, deadline))


def _wait_until_written(pid: int, log: Path, before: int, deadline: float) -> None:
    """Wait until a process has written its stacks; until the deadline at most."""
    last, unchanged = before, 0
    while time.monotonic() < deadline:
        time.sleep(LOOK_S)
        now = _size(log)
        unchanged = unchanged + 1 if now == last else 0
        last = now
        # one that runs, or wants to, may not have written all of it
        needed = BUSY_LOOKS if _state_of(pid) == "R" else 1
        if now > before and unchanged >= needed:
            return


def _state_of(pid: int) -> str | None:
    """Return the letter of the state that a process's first thread is in."""
    found = process_stat(pid)
    return None if found is None else found.state


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
