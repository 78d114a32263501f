"""A child process is started whole or not at all, and ended for good."""

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autoloader.measure.proc import process_stat, processes_of_session
from autoloader.trial.child import Child
from tests.waiting import wait_for


def descriptors() -> set[str]:
    """Return the descriptors that this process has open."""
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208  # one is the listing's own


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """Return a host that waits for its first order."""
    return Child("host", logs=tmp_path, tmp=tmp_path)


def test_a_killed_child_is_gone_with_all_that_it_opened(tmp_path: Path) -> None:
    """Three hundred trials later, the parent has as many files open as before."""
    before = descriptors()

    child = Child("host", logs=tmp_path, tmp=tmp_path)
    child.kill()

    assert not child.is_alive
    assert process_stat(child.pid) is None
    assert descriptors() == before


def test_ending_a_child_twice_closes_nothing_of_others(child: Child) -> None:
    """An interrupt comes in the middle, and numbers of files are used again."""
    child.kill()
    reader, writer = os.pipe()

    child.kill()

    os.write(writer, b"x")
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    os.close(writer)


def test_what_a_child_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that a dataset runs beside itself is in its session."""
    popen = subprocess.Popen
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )

    def with_family(command: list[str], **keywords: Any) -> subprocess.Popen[bytes]:
        return popen([command[0], "-c", code], **keywords)

    monkeypatch.setattr(subprocess, "Popen", with_family)
    child = Child("reference", logs=tmp_path, tmp=tmp_path)
    log = tmp_path / "stdout.txt"
    wait_for(lambda: log.read_text(encoding="utf-8"), "the start of both")
    members = processes_of_session(child.pid)

    child.kill()

    assert len(members) == 2
    living = [process_stat(item.pid) for item in members]
    assert not [item for item in living if item is not None and item.state not in "ZX"]


def test_a_child_that_cannot_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine allows no further process."""
    before = descriptors()

    def refuse(*_arguments: object, **_keywords: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(BlockingIOError):
        Child("host", logs=tmp_path, tmp=tmp_path)

    assert descriptors() == before


def test_a_machine_without_a_second_pipe_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of open files is reached between the two."""
    before = descriptors()
    pipes = [os.pipe]

    def pipe() -> tuple[int, int]:
        if pipes:
            return pipes.pop()()
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(OSError, match="Too many open files"):
        Child("host", logs=tmp_path, tmp=tmp_path)

    assert descriptors() == before


def test_a_child_is_watched_where_no_descriptor_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is then looked for now and then."""

    def refuse(_pid: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pidfd_open", refuse)
    child = Child("host", logs=tmp_path, tmp=tmp_path)

    assert child.is_alive
    child.kill()
    assert not child.is_alive


def test_a_log_is_made_for_its_owner_only(tmp_path: Path, child: Child) -> None:
    """What a dataset prints may name its data."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    child.kill()

    assert modes == {"stdout.txt": 0o600, "stderr.txt": 0o600}
