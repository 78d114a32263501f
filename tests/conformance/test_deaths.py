"""Workers that sleep never look for their parent: they are ended with it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
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


def start(
    folder: Path, method: str, hang_after: str, dataset: str = "Sleeps"
) -> subprocess.Popen[bytes]:
    """Start a check of workers that never come back from an example."""
    return subprocess.Popen(
        [
            sys.executable, "-m", "autoloader", "check", "--quiet", "--batch-size", "8",
            "--dataset", f"{DATASETS / 'deaths.py'}:{dataset}",
            "--start-method", method, "--config", "num_workers=2",
            "--hang-after", hang_after,
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def workers_read(folder: Path, count: int) -> list[int]:
    """Return the processes of a check, once so many workers are in the user's code."""
    log = "\n".join(
        path.read_text()
        for path in folder.glob(".autoloader/check/trials/*/stdout.txt")
    )
    return living(sessions(folder)) if log.count("asleep") >= count else []


@pytest.fixture
def checks() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Give a place for checks that are running; none is left after the test."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for check in running:
        check.kill()
        check.wait()


@pytest.mark.full
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("victim", ["parent", "host", "trial"])
def test_sleeping_workers_end_with_whoever_is_killed(
    victim: str, method: str, tmp_path: Path, checks: list[subprocess.Popen[bytes]]
) -> None:
    """The kernel ends them: the parent is stopped meanwhile, and does nothing."""
    check = start(tmp_path, method, "200s")
    checks.append(check)
    found = wait_for(lambda: workers_read(tmp_path, 2), "workers that sleep")
    host, trial = sessions(tmp_path)[:2]
    os.kill(check.pid, signal.SIGKILL if victim == "parent" else signal.SIGSTOP)

    if victim != "parent":
        os.kill(host if victim == "host" else trial, signal.SIGKILL)

    wait_for(lambda: not living([trial]), "the end of trial and workers")
    assert len(found) >= 4  # host, trial, two workers, and the server of forkserver
    if victim != "trial":
        wait_for(lambda: not living([host]), "the end of the host")


@pytest.mark.full
def test_the_next_check_ends_what_a_killed_one_left(tmp_path: Path) -> None:
    """A program that the dataset runs asks the kernel for nothing."""
    check = start(tmp_path, "fork", "200s", dataset="RunsProgram")
    wait_for(lambda: workers_read(tmp_path, 2), "workers that wait for their programs")
    numbers = sessions(tmp_path)
    os.kill(check.pid, signal.SIGKILL)
    check.wait()
    programs = living(numbers)

    again = start(tmp_path, "fork", "6s")
    try:
        wait_for(lambda: not living(numbers), "the end of every process")
    finally:
        again.wait(timeout=200)
        for pid in living(numbers):
            os.kill(pid, signal.SIGKILL)
    assert programs


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
