"""What begins with a new interpreter ends with its parent, and tells where it is."""

import ctypes
import os
import signal
import subprocess
import sys
from multiprocessing import util
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from autoloader.child import lifeline, spawned
from autoloader.measure.proc import catches_signal, process_stat
from tests.waiting import wait_for

PARENT = """
import multiprocessing
import sys
import time

from autoloader.child.lifeline import pass_on
from autoloader.child.spawned import begin_spawned_as_forked


class Stuck:
    # what a worker gets: it hangs before any of it is run
    def __reduce__(self):
        return time.sleep, (600,)


if __name__ == "__main__":
    pass_on()
    begin_spawned_as_forked()
    begin_spawned_as_forked()
    context = multiprocessing.get_context(sys.argv[1])
    argument = {"runs": 600, "unpickles": Stuck()}[sys.argv[2]]
    workers = [context.Process(target=time.sleep, args=(argument,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    print(*(worker.pid for worker in workers), flush=True)
    time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs, or may run again."""
    found = process_stat(pid)
    return found is not None and found.state not in "ZX"


def tells_where_it_is(pid: int) -> bool:
    """Whether a process has run what is put before its program."""
    return catches_signal(pid, signal.SIGUSR2)


@pytest.mark.parametrize(
    ("method", "stuck"),
    [
        ("fork", "runs"),  # nothing is unpickled there
        ("spawn", "runs"),
        ("spawn", "unpickles"),
        ("forkserver", "runs"),
        ("forkserver", "unpickles"),
    ],
)
def test_stuck_workers_end_with_a_killed_parent(
    method: str, stuck: str, tmp_path: Path
) -> None:
    """However they were started, and before they have got what they are to do."""
    script = tmp_path / "script.py"
    script.write_text(PARENT, encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, str(script), method, stuck], stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    try:
        if method != "fork":
            wait_for(lambda: all(map(tells_where_it_is, pids)), "their start")

        parent.kill()
        parent.wait()

        wait_for(lambda: not [pid for pid in pids if is_alive(pid)], "their end")
    finally:
        parent.kill()
        parent.stdout.close()
        parent.wait()
        for pid in pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
    assert len(pids) == 2


WRAPPED = """
import multiprocessing
import sys

from autoloader.child.spawned import begin_spawned_as_forked


if __name__ == "__main__":
    begin_spawned_as_forked()
    multiprocessing.set_executable(sys.argv[1])
    worker = multiprocessing.get_context("spawn").Process(target=print, args=("runs",))
    worker.start()
    worker.join()
    print(worker.exitcode)
"""


@pytest.mark.slow
def test_a_worker_behind_a_script_runs(tmp_path: Path) -> None:
    """`multiprocessing.set_executable` may name one that does not `exec` Python."""
    script, wrapper = tmp_path / "script.py", tmp_path / "wrapper"
    script.write_text(WRAPPED, encoding="utf-8")
    wrapper.write_text(f'#!/bin/sh\n{sys.executable} "$@"\nexit $?\n')
    wrapper.chmod(0o700)

    done = subprocess.run(
        [sys.executable, str(script), str(wrapper)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert done.stdout.split() == ["runs", "0"]


@pytest.mark.parametrize(
    ("now", "is_there", "may_be_between", "stays"),
    [
        (7, True, False, True),
        (8, True, False, False),
        (8, True, True, True),
        (8, False, True, False),
        (1, True, True, False),
    ],
)
def test_who_has_lost_its_parent_leaves(
    now: int,
    is_there: bool,
    may_be_between: bool,
    stays: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its parent is another by then, unless one stood between from the start."""
    left: list[int] = []

    def look(_pid: int, _signal: int) -> None:
        if not is_there:
            raise ProcessLookupError

    monkeypatch.setattr(ctypes, "CDLL", MagicMock())  # asks nothing of the kernel
    monkeypatch.setattr(os, "getppid", lambda: now)
    monkeypatch.setattr(os, "kill", look)
    monkeypatch.setattr(os, "_exit", left.append)

    lifeline.die_with_parent(7, may_be_between=may_be_between)

    assert left == ([] if stays else [1])


def test_the_resource_tracker_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has to outlive the others, to remove what they held."""
    started: list[list[bytes | str]] = []

    def note(_path: object, arguments: list[bytes | str], _fds: object) -> int:
        started.append(list(arguments))
        return 4711

    monkeypatch.setattr(util, "spawnv_passfds", note)
    spawned.begin_spawned_as_forked()
    tracker = ["python", "-c", "from multiprocessing.resource_tracker import main"]
    worker = ["python", "-c", "from multiprocessing.spawn import spawn_main; spawn()"]

    pids = [util.spawnv_passfds(b"python", words, ()) for words in (tracker, worker)]

    assert pids == [4711, 4711]
    assert started[0] == tracker
    assert started[1][:2] == worker[:2]
    program = str(started[1][2])
    assert program.endswith(f"\n{worker[2]}")
    assert str(lifeline.__file__) in program
    assert f", {os.getpid()})" in program


def test_a_package_without_files_starts_workers_as_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is imported out of an archive, say."""
    before = util.spawnv_passfds
    monkeypatch.setattr(lifeline, "__file__", str(tmp_path / "lifeline.py"))

    spawned.begin_spawned_as_forked()

    assert util.spawnv_passfds is before
