"""Locks of the machine and of a file: who holds them, and that none goes stale."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.trial.locks import VARIABLE, file_lock, machine_lock

HOLD = """
import sys
from autoloader.trial.locks import machine_lock
with machine_lock("tune", waits=False):
    print("held", flush=True)
    sys.stdin.read()
"""
"""Holds the machine until its stdin ends."""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the machine's lock a file of the test's own."""
    path = tmp_path / "lock"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def holder() -> subprocess.Popen[str]:
    """Start a process that holds the machine."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.usefixtures("lock")
def test_one_measures_at_a_time_and_the_other_is_told_who() -> None:
    """What it does, its number, since when; the way out."""
    with holder() as process:
        with pytest.raises(UsageError) as caught, machine_lock("tune", waits=False):
            pass
        process.communicate("")

    assert caught.value.message.startswith(
        "another autoloader measures on this machine: "
        f"tune, process {process.pid}, since 20"
    )
    assert caught.value.hint == (
        "two at once would measure each other; --wait waits for it"
    )


@pytest.mark.usefixtures("lock")
def test_a_killed_holder_leaves_no_stale_lock() -> None:
    """The kernel gives it back, though its name still stands there."""
    with holder() as process:
        process.send_signal(signal.SIGKILL)
        process.wait()

    with machine_lock("tune", waits=False):
        pass


def test_who_waits_gets_it_when_the_other_is_done(lock: Path) -> None:
    """And is told for whom."""
    told: list[str] = []
    order: list[str] = []
    process = holder()

    def end(who: str) -> None:
        told.append(who)
        threading.Thread(target=process.communicate, args=("",)).start()

    with machine_lock("measure", waits=True, on_wait=end):
        order.append(lock.read_text())
    process.wait()

    assert f"tune, process {process.pid}" in told[0]
    assert '"doing": "measure"' in order[0]
    assert lock.read_text() == ""


def test_other_users_can_lock_it_too(lock: Path) -> None:
    """Whatever the umask of the first one."""
    before = os.umask(0o077)
    try:
        with machine_lock("tune", waits=False):
            pass
    finally:
        os.umask(before)

    assert stat.S_IMODE(lock.stat().st_mode) == 0o666


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"doing": 3}', "\x00" * 20, "[" * 4000]
)
def test_what_anybody_wrote_there_is_no_name(lock: Path, text: str) -> None:
    """The file may be written by all."""
    lock.write_text(text)
    with lock.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError) as caught, machine_lock("tune", waits=False):
            pass

    assert caught.value.message == (
        "another autoloader measures on this machine: a process that does not say which"
    )


def test_a_name_that_is_none_is_not_repeated(lock: Path) -> None:
    """Only what a command is called."""
    lock.write_text(
        '{"doing": "rm -rf /", "pid": 7, "since": "2026-11-30T02:00:00+00:00"}'
    )
    with lock.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError) as caught, machine_lock("tune", waits=False):
            pass

    assert caught.value.message == (
        "another autoloader measures on this machine: "
        "a command, process 7, since 2026-11-30 02:00"
    )


def test_a_lock_that_cannot_be_opened_is_told(lock: Path) -> None:
    """A link is not followed: anybody may have put it there."""
    lock.symlink_to("elsewhere")

    with pytest.raises(UsageError) as caught, machine_lock("tune", waits=False):
        pass

    assert caught.value.message == (
        f"the lock {lock} cannot be used: Too many levels of symbolic links"
    )
    assert caught.value.hint == "AUTOLOADER_LOCK=FILE names another one"


def test_a_file_system_without_locks_is_told(
    lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some network file systems are."""

    def refuse(*_arguments: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)

    with pytest.raises(UsageError) as caught, machine_lock("tune", waits=False):
        pass

    assert caught.value.message == (
        f"the lock {lock} cannot be used: Function not implemented"
    )


def test_a_file_is_worked_on_by_one(tmp_path: Path) -> None:
    """The second one is told what it is about, not where the lock is."""
    path, called = tmp_path / "history", tmp_path / "autoloader.yaml"

    with (
        file_lock(path, called=called),
        pytest.raises(UsageError) as caught,
        file_lock(path, called=called),
    ):
        pass
    with file_lock(path, called=called):
        pass

    assert caught.value.message == f"another autoloader works on {called}"
    assert caught.value.hint == "wait for it, or end it"
