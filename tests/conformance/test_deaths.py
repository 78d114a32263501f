"""Workers that sleep never look for their parent: they are ended with it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autoloader.measure.proc import processes_of_session
from tests.conformance.running import DATASETS, ROOT
from tests.waiting import wait_for


def sessions(folder: Path) -> list[int]:
    """Return the sessions of host and trials, as the run noted them."""
    lines = [
        line
        for book in folder.glob(".autoloader/check/trials/sessions.jsonl")
        for line in book.read_text().splitlines()
    ]
    return [json.loads(line)["session"] for line in lines]


def living(numbers: list[int]) -> list[int]:
    """Return the processes of these sessions that run."""
    found = [stat for number in numbers for stat in processes_of_session(number)]
    return [stat.pid for stat in found if stat.state not in "ZX"]


def start(folder: Path, method: str, hang_after: str) -> subprocess.Popen[bytes]:
    """Start a check of workers that sleep."""
    return subprocess.Popen(
        [
            sys.executable, "-m", "autoloader", "check", "--quiet", "--batch-size", "8",
            "--dataset", f"{DATASETS / 'deaths.py'}:Sleeps", "--start-method", method,
            "--config", "num_workers=2", "--hang-after", hang_after,
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def kill_with_workers(folder: Path, method: str) -> list[int]:
    """Kill a check whose workers sleep; return the sessions that it had."""
    run = start(folder, method, "200s")
    # host, trial, and two workers
    wait_for(lambda: len(living(sessions(folder))) >= 4, "a trial with workers")
    numbers = sessions(folder)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    return numbers


@pytest.mark.full
def test_sleeping_workers_end_with_a_killed_check(tmp_path: Path) -> None:
    """`kill -9` of the command leaves no worker that was forked."""
    numbers = kill_with_workers(tmp_path, "fork")

    wait_for(lambda: not living(numbers), "the end of every process")


@pytest.mark.full
def test_the_next_check_ends_spawned_workers_of_a_killed_one(tmp_path: Path) -> None:
    """No kernel request is passed on to those: they are found by their session."""
    numbers = kill_with_workers(tmp_path, "spawn")

    again = start(tmp_path, "fork", "6s")
    try:
        wait_for(lambda: not living(numbers), "the end of every process")
    finally:
        again.wait(timeout=200)
        for pid in living(numbers):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.full
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_sleeping_workers_end_with_their_trial(method: str, tmp_path: Path) -> None:
    """A check that finds a hang ends with no process of its own left."""
    run = start(tmp_path, method, "6s")
    wait_for(lambda: len(living(sessions(tmp_path))) >= 3, "a trial with a worker")
    numbers = sessions(tmp_path)

    code = run.wait(timeout=200)

    assert code == 1
    assert not living(numbers)
