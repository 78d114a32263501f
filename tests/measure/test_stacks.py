"""Processes write their stacks one after the other, and no other is harmed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoloader.measure.proc import process_stat
from autoloader.measure.stacks import ask_one_by_one
from tests.waiting import wait_for

LISTENING = """\
import faulthandler, os, signal, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
faulthandler.register(signal.SIGUSR2, file=log, chain=False)
def waiting(depth):
    if depth:
        waiting(depth - 1)
    os.write(1, b"up\\n")
    while True:
        signal.pause()
waiting(60)
"""

DEAF = "import os, signal\nos.write(1, b'up\\n')\nsignal.pause()\n"

MUTE = """\
import os, signal
signal.signal(signal.SIGUSR2, lambda number, frame: None)
os.write(1, b"up\\n")
while True:
    signal.pause()
"""


class Started:
    """Processes of a test; none of them outlives it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, code: str) -> int:
        """Start one, wait until it is up, and return its id."""
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(self.log)], stdout=subprocess.PIPE
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process.pid

    def close(self) -> None:
        """End them all."""
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Give what starts processes."""
    found = Started(tmp_path / "stderr.txt")
    yield found
    found.close()


def test_no_stack_lies_within_another(started: Started) -> None:
    """Deep ones take many writes each."""
    pids = [started.start(LISTENING) for _ in range(4)]

    ask_one_by_one(pids, started.log, patience_s=60.0)

    stacks = started.log.read_text(encoding="utf-8").split("Current thread 0x")[1:]
    assert len(stacks) == 4
    assert {stack.count(" in waiting\n") for stack in stacks} == {61}


def test_who_does_not_listen_is_left_alone(started: Started) -> None:
    """The signal would end it; one that is gone is no matter."""
    deaf = started.start(DEAF)
    gone = started.start(DEAF)
    started.processes[1].kill()
    started.processes[1].wait()

    ask_one_by_one([deaf, gone, started.start(LISTENING)], started.log, patience_s=60.0)

    assert started.processes[0].poll() is None
    assert started.log.read_text(encoding="utf-8").count("Current thread") == 1


def test_who_is_stopped_is_passed_over(started: Started) -> None:
    """It can neither write nor be waited for."""
    pids = [started.start(LISTENING) for _ in range(2)]
    os.kill(pids[0], signal.SIGSTOP)
    wait_for(lambda: state_of(pids[0]) == "T", "the stop")

    ask_one_by_one(pids, started.log, patience_s=60.0)

    assert started.log.read_text(encoding="utf-8").count("Current thread") == 1
    assert state_of(pids[0]) == "T"


def state_of(pid: int) -> str | None:
    """Return the letter of a process's state."""
    found = process_stat(pid)
    return None if found is None else found.state


def test_who_writes_nothing_is_waited_for_once(started: Started) -> None:
    """When the time is up the others are asked all the same."""
    mute, listening = started.start(MUTE), started.start(LISTENING)

    ask_one_by_one([mute, listening], started.log, patience_s=0.1)

    wait_for(
        lambda: "Current thread" in started.log.read_text(encoding="utf-8"),
        "the stacks of the one that listens",
    )
