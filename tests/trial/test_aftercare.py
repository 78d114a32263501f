"""Nothing is left behind, and nothing of others is taken away."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoloader.errors import UsageError
from autoloader.measure.proc import process_stat, processes_of_session
from autoloader.trial import aftercare
from autoloader.trial.aftercare import (
    SessionBook,
    SharedMemoryWatch,
    ask_for_stacks,
    end_session,
    make_tmp,
    remove_folder,
)

OBEDIENT = "import os, signal; os.write(1, b'up\\n'); signal.pause()"

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + OBEDIENT

FAMILY = "import os; os.fork(); os.fork();" + OBEDIENT

CHILD_VARIABLES = {**os.environ, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""What children of ours have among their variables."""


class Session:
    """A process that leads a session of its own and says when it is up."""

    def __init__(self, code: str, *words: str, ours: bool = True, ups: int = 1) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=CHILD_VARIABLES if ours else None,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        for _ in range(ups):
            assert self.process.stdout.readline() == b"up\n"

    @property
    def pid(self) -> int:
        """Process and session id."""
        return self.process.pid

    def close(self) -> None:
        """End it, whatever the test did."""
        end_session(self.pid, patience_s=0.0)
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[type[Session]]:
    """Return what starts sessions; none of them outlives the test."""
    started: list[Session] = []

    class Kept(Session):
        def __init__(
            self, code: str, *words: str, ours: bool = True, ups: int = 1
        ) -> None:
            started.append(self)
            super().__init__(code, *words, ours=ours, ups=ups)

    yield Kept
    for session in started:
        session.close()


def test_a_session_that_obeys_is_terminated(start: type[Session]) -> None:
    """Nothing has to be killed."""
    session = start(OBEDIENT)

    killed = end_session(session.pid)

    assert killed == 0
    assert session.process.wait() == -signal.SIGTERM


def test_a_process_that_ignores_the_request_is_killed(start: type[Session]) -> None:
    """After its time is up, and counted."""
    session = start(STUBBORN)

    killed = end_session(session.pid, patience_s=0.1)

    assert killed == 1
    assert session.process.wait() == -signal.SIGKILL


def test_every_process_of_a_session_is_ended(start: type[Session]) -> None:
    """Workers whose parent is gone are still in their session."""
    session = start(FAMILY, ups=4)
    members = [item.pid for item in processes_of_session(session.pid)]
    os.kill(session.pid, signal.SIGKILL)
    session.process.wait()

    end_session(session.pid)

    assert len(members) == 4
    assert all(
        (stat := process_stat(pid)) is None or stat.state in "ZX" for pid in members
    )


def test_ending_a_session_that_is_over_is_no_matter(start: type[Session]) -> None:
    """It is asked for on every way out."""
    session = start("import os; os.write(1, b'up\\n')")
    session.process.wait()

    assert end_session(session.pid) == 0


def test_a_process_that_does_not_end_is_told_and_not_waited_for(
    start: type[Session],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One that waits for a device ends when the device lets it."""
    session = start(STUBBORN)
    monkeypatch.setattr(aftercare, "KILL_PATIENCE_S", 0.0)
    monkeypatch.setattr(aftercare, "TRACKER_PATIENCE_S", 0.0)
    monkeypatch.setattr(aftercare, "_signal", lambda process, number: None)

    killed = end_session(session.pid, patience_s=0.0)
    monkeypatch.undo()

    assert killed == 1
    assert re.search(rf"process {session.pid} does not end: python", caplog.text)


def test_a_process_that_is_about_to_be_gone_is_not_told(
    start: type[Session],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One that is ending has lost its command line before it is a zombie."""
    session = start(OBEDIENT)
    alive = processes_of_session(session.pid)
    seen = iter([[], [], alive, alive])
    monkeypatch.setattr(aftercare, "processes_of_session", lambda _: next(seen, []))

    end_session(session.pid)

    assert next(seen, None) is None
    assert caplog.text == ""


def test_processes_write_their_stacks_one_after_the_other(
    tmp_path: Path, start: type[Session]
) -> None:
    """A hang is explained by where everything stands; no stack lies within another."""
    log = tmp_path / "stderr.txt"
    session = start(
        "import faulthandler, os, signal\n"
        f"log = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)\n"
        "faulthandler.register(signal.SIGUSR2, file=log, chain=False)\n"
        "def waiting_for_godot(depth):\n"
        "    if depth:\n"
        "        waiting_for_godot(depth - 1)\n"
        "    os.write(1, b'up\\n')\n"
        "    while True:\n"
        "        signal.pause()\n"
        "for _ in range(3):\n"
        "    if not os.fork():\n"
        "        waiting_for_godot(50)\n"
        "waiting_for_godot(50)\n",
        ups=4,
    )

    ask_for_stacks(session.pid, log)
    end_session(session.pid)

    text = log.read_text(encoding="utf-8")
    stacks = text.split("Current thread 0x")[1:]
    assert len(stacks) == 4
    assert {stack.count(" in waiting_for_godot") for stack in stacks} == {51}


def test_a_process_that_does_not_listen_is_left_alone(
    tmp_path: Path, start: type[Session]
) -> None:
    """The signal would end it."""
    session = start("import os, signal\nos.write(1, b'up\\n')\nsignal.pause()\n")

    ask_for_stacks(session.pid, tmp_path / "stderr.txt")

    assert session.process.poll() is None
    end_session(session.pid)


TRACKED = (
    "import multiprocessing.shared_memory, os, signal\n"
    "kept = multiprocessing.shared_memory.SharedMemory(create=True, size=10)\n"
    "os.write(1, kept.name.encode() + b'\\n')\n"
    "signal.pause()\n"
)
"""Holds shared memory that Python's resource tracker removes for it."""


@pytest.mark.parametrize("patience_s", [0.0, 1.0])
def test_the_resource_tracker_ends_last_and_tidies_up(patience_s: float) -> None:
    """Killed with the others, it would leave their shared memory for ever."""
    process = subprocess.Popen(
        [sys.executable, "-c", TRACKED], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    name = process.stdout.readline().decode().strip()
    assert (Path("/dev/shm") / name).exists()
    members = processes_of_session(process.pid)

    end_session(process.pid, patience_s=patience_s)
    process.communicate()

    assert len(members) == 2
    assert aftercare._living(process.pid) == []
    assert not (Path("/dev/shm") / name).exists()


def test_a_tracker_that_does_not_end_is_killed(
    start: type[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for somebody outside the session, say."""
    words = "import multiprocessing.resource_tracker\n"
    session = start(words + STUBBORN)
    monkeypatch.setattr(aftercare, "TRACKER_PATIENCE_S", 0.05)

    killed = end_session(session.pid)

    assert killed == 0
    assert session.process.wait() == -signal.SIGKILL


def test_a_session_that_a_killed_run_left_is_swept(
    tmp_path: Path, start: type[Session]
) -> None:
    """The book on the disk says which are ours."""
    path = tmp_path / "sessions.jsonl"
    session = start(STUBBORN)
    SessionBook(path).note(session.pid)

    swept = SessionBook(path).sweep()

    assert swept == 1
    assert session.process.wait() == -signal.SIGKILL
    assert not path.exists()


def test_forked_workers_are_known_by_the_command_of_their_child(
    tmp_path: Path, start: type[Session]
) -> None:
    """The child's own variables may be hidden, its command line is not."""
    path = tmp_path / "sessions.jsonl"
    session = start(OBEDIENT, "autoloader.child", ours=False)
    SessionBook(path).note(session.pid)

    assert SessionBook(path).sweep() == 1


def test_workers_whose_leader_is_gone_are_swept(
    tmp_path: Path, start: type[Session]
) -> None:
    """The session goes by its leader's number as long as anybody is in it."""
    path = tmp_path / "sessions.jsonl"
    session = start(FAMILY, ups=4)
    SessionBook(path).note(session.pid)
    os.kill(session.pid, signal.SIGKILL)
    session.process.wait()

    assert SessionBook(path).sweep() == 1
    assert aftercare._living(session.pid) == []


@pytest.mark.parametrize(
    "change", [{"start_ticks": 1}, {"start_ticks": 10**15}, {"boot": "another"}]
)
def test_a_session_that_got_a_number_of_ours_is_left_alone(
    tmp_path: Path, start: type[Session], change: dict[str, object]
) -> None:
    """Numbers are used again, and mean nothing after a restart of the machine."""
    path = tmp_path / "sessions.jsonl"
    session = start(OBEDIENT)
    SessionBook(path).note(session.pid)
    entry = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**entry, **change}) + "\n", encoding="utf-8")

    swept = SessionBook(path).sweep()

    assert swept == 0
    assert session.process.poll() is None
    assert not path.exists()


def test_a_daemon_in_a_session_of_our_number_is_left_alone(
    tmp_path: Path, start: type[Session]
) -> None:
    """Where the leader is gone, only what it is tells whose it is."""
    path = tmp_path / "sessions.jsonl"
    session = start(FAMILY, ours=False, ups=4)
    SessionBook(path).note(session.pid)
    os.kill(session.pid, signal.SIGKILL)
    session.process.wait()

    swept = SessionBook(path).sweep()

    assert swept == 0
    assert len(aftercare._living(session.pid)) == 3


@pytest.mark.parametrize(
    "text", ["", "torn", "{}\n[]\nnull\n", '{"boot": 1}\n', "\xff"]
)
def test_a_book_that_cannot_be_read_sweeps_nothing(tmp_path: Path, text: str) -> None:
    """A torn line is no session."""
    path = tmp_path / "sessions.jsonl"
    path.write_bytes(text.encode("latin-1"))

    assert SessionBook(path).sweep() == 0
    assert not path.exists()


def test_a_missing_book_sweeps_nothing(tmp_path: Path) -> None:
    """A first run has none."""
    assert SessionBook(tmp_path / "sessions.jsonl").sweep() == 0


def test_a_session_that_is_over_is_not_noted(
    tmp_path: Path, start: type[Session]
) -> None:
    """There is nothing to sweep."""
    path = tmp_path / "sessions.jsonl"
    session = start("import os; os.write(1, b'up\\n')")
    session.process.wait()

    SessionBook(path).note(session.pid)

    assert not path.exists()


def test_a_disk_that_refuses_the_book_does_not_end_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is an aid for the next start, no more."""
    SessionBook(tmp_path / "gone" / "sessions.jsonl").note(os.getpid())

    assert f"session {os.getpid()} is not noted" in caplog.text


@pytest.fixture
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in the place of `/dev/shm`."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(aftercare, "SHM", folder)
    return folder


def dead_pid() -> int:
    """Return the id of a process that began just now and is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_files_of_processes_that_are_gone_are_removed(shm: Path) -> None:
    """By PyTorch's own naming; anything else belongs to somebody."""
    older = dead_pid()
    (shm / "torch_1_before_0").touch()
    watch = SharedMemoryWatch()
    dead, living = dead_pid(), os.getpid()
    left = [f"torch_{dead}_12345_0", f"torch_{dead}_678_1"]
    others = [
        "torch_1_before_0",
        f"torch_{older}_12345_0",
        f"torch_{living}_12345_0",
        f"torch_{dead}",
        f"torch_{dead}_",
        "torch_²_1_0",
        f"sem.torch_{dead}_1",
        f"psm_{dead}_1",
        f"mytorch_{dead}_1_0",
    ]
    for name in [*left, *others]:
        (shm / name).touch()

    removed = watch.sweep()

    assert removed == sorted(left)
    assert {item.name for item in shm.iterdir()} == set(others)


def test_files_of_another_user_are_left_alone(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where they could be removed."""
    watch = SharedMemoryWatch()
    (shm / f"torch_{dead_pid()}_1_0").touch()
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert watch.sweep() == []


@pytest.mark.parametrize(
    ("first", "last", "is_between"),
    [
        (100, 110, True),
        (105, 110, False),
        (100, 104, False),
        (32000, 110, True),
        (32000, 90, False),
        (None, 110, True),
    ],
)
def test_ids_wrap_around(first: int | None, last: int | None, is_between: bool) -> None:
    """After the largest id the small ones are given out again."""
    found = aftercare._began_between(105, first, last)

    assert found is is_between


def test_a_system_without_shared_memory_has_nothing_to_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no such folder outside Linux."""
    monkeypatch.setattr(aftercare, "SHM", tmp_path / "none")

    assert SharedMemoryWatch().sweep() == []


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in the place of `/tmp`, however long its path is."""
    monkeypatch.setattr(aftercare, "SHORT_ROOTS", (tmp_path, tmp_path / "var"))
    monkeypatch.setattr(aftercare, "SOCKET_BYTES", 1000)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_temporary_folder_has_a_short_path_and_is_private() -> None:
    """Sockets in it allow 107 bytes, and multiprocessing adds about 35 of its own."""
    folder = make_tmp()

    try:
        assert len(str(folder)) <= 60
        assert folder.stat().st_mode & 0o777 == 0o700
        assert f"autoloader-{os.getpid()}-" in folder.name
    finally:
        remove_folder(folder)
    assert not folder.exists()


def test_only_folders_of_runs_that_are_gone_are_removed(root: Path) -> None:
    """A folder that merely has such a name is somebody's."""
    own = make_tmp()
    number, namespace, _ = own.name.removeprefix("autoloader-").split("-")
    dead = dead_pid()
    left = root / f"autoloader-{dead}-{namespace}-abcd_123"
    others = [
        root / f"autoloader-{dead}-{namespace}-notes",
        root / f"autoloader-{dead}-{namespace}1-abcd_123",
        root / f"autoloader-{number}-{namespace}-abcd_123",
        root / f"autoloader-{dead}-backup",
        root / "autoloader-2024",
    ]
    for folder in [left, *others]:
        folder.mkdir(mode=0o700)
    open_to_all = root / f"autoloader-{dead}-{namespace}-abcd_124"
    open_to_all.mkdir(mode=0o755)
    link = root / f"autoloader-{dead}-{namespace}-abcd_125"
    link.symlink_to(others[0])
    (left / "file").touch()

    newest = make_tmp()

    assert set(root.iterdir()) == {own, newest, *others, open_to_all, link}


def test_folders_that_are_left_anywhere_are_removed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier run may have found no room in the first place."""
    named = root / "named"
    monkeypatch.setenv("TMPDIR", str(named))
    _, namespace = aftercare._prefix().removeprefix("autoloader-").split("-")[:2]
    left = [
        folder / f"autoloader-{dead_pid()}-{namespace}-abcd_123"
        for folder in (root, named, root / "var")
    ]
    for folder in left:
        folder.mkdir(mode=0o700, parents=True)

    make_tmp()

    assert not [folder for folder in left if folder.exists()]


def test_a_folder_that_is_named_is_taken_where_the_systems_own_cannot_be(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TMPDIR first, then what the system has beside `/tmp`."""
    named, other = root / "named", root / "other"
    named.mkdir()
    other.mkdir()
    monkeypatch.setattr(aftercare, "SHORT_ROOTS", (root / "none", other))

    monkeypatch.setenv("TMPDIR", str(named))
    by_name = make_tmp()
    monkeypatch.setenv("TMPDIR", str(root / "gone"))
    by_system = make_tmp()

    assert by_name.parent == named
    assert by_system.parent == other


def test_where_no_temporary_folder_can_be_made_each_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path too long for sockets is as good as none."""
    monkeypatch.setattr(aftercare, "SHORT_ROOTS", (root / "none", root / "file"))
    (root / "file").touch()
    long = root / ("t" * 200)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    prefix = f"/{aftercare._prefix()}12345678"
    below = "/r255/123456/torch-shm-dir-123456/manager.sock"
    limit = len(str(root)) + 100
    monkeypatch.setattr(aftercare, "SOCKET_BYTES", limit + len(prefix) + len(below))

    with pytest.raises(UsageError) as caught:
        make_tmp()

    assert str(caught.value) == (
        f"no temporary folder can be made; {root / 'none'}: No such file or directory; "
        f"{long}: its path has {len(str(long))} bytes, and {limit} at most leave room "
        f"for a socket's; {root / 'file'}: Not a directory"
    )
    assert caught.value.hint == "TMPDIR=FOLDER names one that can be, by a short path"
    assert list(long.iterdir()) == []


def test_a_folder_that_is_gone_already_is_no_matter(tmp_path: Path) -> None:
    """It is removed on every way out."""
    remove_folder(tmp_path / "gone")

    assert not (tmp_path / "gone").exists()
