"""Log folders of passes: numbered on, kept where they say something.

Also reads a death without an answer out of what is left: exit code, stage, log.
"""

import contextlib
from pathlib import Path

from autoloader.child.failures import signal_name
from autoloader.child.stages import StageBoard
from autoloader.measure.proc import ProcessStat
from autoloader.trial.watchdog import ChildStopped
from autoloader.values.job import PassOrder
from autoloader.values.outcome import Failure

STOPPED_HINT = (
    "somebody, or a scheduler, stopped it: what pauses autoloader has to pause all of "
    "its processes"
)
"""The way out for whoever stops one process of ours."""


def last_number(folder: Path) -> int:
    """Return the number of the last pass with a log: none is ever overwritten."""
    numbers = [entry.name.partition("-")[0] for entry in folder.glob("*-*")]
    return max((int(number) for number in numbers if number.isdigit()), default=0)


def tidy(logs: Path) -> None:
    """Remove a log folder of a pass that came to its end and said nothing."""
    for path in logs.iterdir():
        if path.name == "stage" or path.stat().st_size == 0:
            path.unlink()
    with contextlib.suppress(OSError):
        logs.rmdir()


def how_ended(code: int) -> str:
    """Return how a process ended, by its exit code; negative: a signal."""
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    return f"left with exit code {code}"


def death(
    code: int,
    order: PassOrder,
    logs: Path,
    board: StageBoard,
    *,
    who: str = "trial",
    kind: str = "crashed",
) -> Failure:
    """Return the failure that an end without an answer stands for.

    Args:
        code: exit code; negative: the signal that ended the process.
        order: what it was doing.
        logs: where it printed.
        board: the stage that it was last known in.
        who: `trial` or `host`.
        kind: kind of the failure.
    """
    stage, done = board.read()
    by_signal = signal_name(-code) if code < 0 else None
    how = how_ended(code)
    memory = "SIGKILL is often the kernel, out of memory"
    return Failure(
        kind=kind,
        phase=order.kind,
        message=f"the {who}'s process {how} while {stage.words}, after {done} batches",
        hint=memory if by_signal == "SIGKILL" else None,
        exit_code=code if code >= 0 else None,
        signal=by_signal,
        log=str(logs),
    )


def stopped(
    exc: ChildStopped, order: PassOrder, logs: Path, *, who: str, kind: str = "hung"
) -> Failure:
    """Return the failure of a pass of which a process was stopped.

    Args:
        exc: what was seen.
        order: what the pass was doing.
        logs: where it printed.
        who: the process that was stopped, as people know it.
        kind: kind of the failure.
    """
    return Failure(
        kind=kind,
        phase=order.kind,
        message=exc.told(who),
        hint=STOPPED_HINT,
        signal="SIGSTOP",
        log=str(logs),
    )


def who_is(process: ProcessStat, *, trial_pid: int | None, host_pid: int) -> str:
    """Return a process of a pass as people know it.

    Args:
        process: one of them.
        trial_pid: the trial, which is the host as well where it was not forked; None:
            it has not started.
        host_pid: the host.
    """
    if process.pid == trial_pid:
        return "the trial's process"
    if process.pid == host_pid:
        return "the host's process"
    if process.name.startswith(_PYTHONS):
        if trial_pid is None:  # there are no workers yet
            return f"a process that the dataset started ({process.pid})"
        return f"a worker's process ({process.pid})"
    return f"a program that the dataset runs ({process.name!r}, {process.pid})"


_PYTHONS = ("python", "pt_data_worker")
"""What the kernel calls workers: as they were started, or as PyTorch names them."""
