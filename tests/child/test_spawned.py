"""What begins with a new interpreter ends with its parent, and tells where it is."""

import os
import signal
import subprocess
import sys
from multiprocessing import util
from pathlib import Path

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


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("stuck", ["runs", "unpickles"])
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
        asked_first = [
            wait_for(lambda pid=pid: catches_signal(pid, signal.SIGUSR2), "a start")  # type: ignore[misc]
            for pid in pids
            if method != "fork"
        ]

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
    assert all(asked_first)


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
