"""Break something of a run: a process, a file, the disk."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.faults.running import Bench, Run

TORN = b'{"schema": 1, "record": "trial", "outc'
BALLAST_STEP = 1 << 12

OWN_DISK = 'mount -t tmpfs -o size=4m,mode=0700 tmpfs "$1" && echo up && exec cat'
"""What is run in a mount namespace of its own; ends when its input does."""


def signal_of(kind: str) -> signal.Signals:
    """Return the signal of a kind of injection."""
    word = kind.partition("-")[0]
    return {
        "interrupt": signal.SIGINT,
        "terminate": signal.SIGTERM,
        "kill": signal.SIGKILL,
        "stop": signal.SIGSTOP,
    }[word]


def signal_child(run: Run, kind: str, pid: int, session: int) -> None:
    """Kill or stop host, trial or worker; what is held goes on, if it can.

    Args:
        run: whose child it is.
        kind: `kill-host` or the like.
        pid: the process that is held.
        session: its session, led by the trial.
    """
    victim = {
        "host": run.host_of(session),
        "trial": session,
        "reference": session,
        "worker": pid,
    }[kind.partition("-")[2]]
    os.kill(victim, signal_of(kind))
    run.bench.let_go()


def limit_files(run: Run) -> None:
    """Let the command write no more than a few bytes to what it has recorded."""
    size = max(64, len(run.bench.lines()) + 20)
    _, hard = resource.prlimit(run.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (size, hard))


def fill_disk(bench: Bench) -> None:
    """Write until nothing goes onto the disk any more."""
    path = bench.seen / "ballast"
    with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
        while file.write(bytes(BALLAST_STEP)):
            pass


def remove_logs(bench: Bench) -> None:
    """Remove the folder with the logs of all passes."""
    for path in bench.seen.glob(".autoloader/*/trials"):
        shutil.rmtree(path, ignore_errors=True)


def remove_journal(bench: Bench) -> None:
    """Remove Optuna's journal."""
    for path in bench.seen.glob(".autoloader/*/optuna.log"):
        path.unlink()


def damage(bench: Bench, kind: str) -> None:
    """Leave files as a torn write does."""
    if kind == "no-journal":
        remove_journal(bench)
    names = {
        "torn-outcomes": ("outcomes.jsonl",),
        "torn-journal": ("optuna.log",),
        "torn-both": ("outcomes.jsonl", "optuna.log"),
    }.get(kind, ())
    for name in names:
        for path in bench.seen.glob(f".autoloader/*/{name}"):
            with path.open("ab") as file:
                file.write(TORN)


@contextlib.contextmanager
def own_disk(folder: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Mount a small disk at a folder, for commands of a test only.

    Yields:
        What stands before a command so that it works there, and the path by which the
        disk is seen from outside.
    """
    holder = _hold_disk(folder)
    enter = ("nsenter", f"--target={holder.pid}", "--mount", "sh", "-c")
    try:
        yield (
            (*enter, 'cd "$0" && exec "$@"', str(folder)),
            Path(f"/proc/{holder.pid}/root{folder}"),
        )
    finally:
        holder.communicate()


@cache
def has_own_disk(folder: Path) -> bool:
    """Whether this user may mount one."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return False
    try:
        _hold_disk(folder).communicate()
    except OSError:
        return False
    return True


def _hold_disk(folder: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", OWN_DISK, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert holder.stdout is not None
    if holder.stdout.readline() != "up\n":
        holder.communicate()
        msg = "a disk of its own needs a mount namespace, which needs rights"
        raise OSError(msg)
    return holder
