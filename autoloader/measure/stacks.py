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

LONGEST_S = 1.0
"""Longest time for one process: a stopped one must not take that of the others."""


def ask_one_by_one(pids: Iterable[int], log: Path, *, patience_s: float) -> None:
    """Make every process that listens write its stacks, each after the one before it.

    Args:
        pids: whom to ask, in this order.
        log: where all of them write.
        patience_s: longest time that they have together; those that are left then are
            asked without waiting, since stacks that mix say more than none.
    """
    deadline = time.monotonic() + patience_s
    for pid in pids:
        if catches_signal(pid, signal.SIGUSR2):
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
        if now > before and unchanged >= (BUSY_LOOKS if _computes(pid) else 1):
            return


def _computes(pid: int) -> bool:
    """Whether the first thread of a process runs, or wants to."""
    found = process_stat(pid)
    return found is not None and found.state == "R"


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
