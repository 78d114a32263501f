"""Leave nothing behind: no process, no shared memory, no temporary folder.

A trial is a session of its own. The kernel ends forked processes with their parent
(`child.lifeline`); what was spawned, or hangs in the kernel, is found here by session.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from autoloader.measure.proc import ProcessStat, process_stat, processes_of_session

SHM = Path("/dev/shm")  # noqa: S108  # the system's own place for shared memory


def end_session(session_id: int, *, patience_s: float = 3.0) -> int:
    """End every process of a session: terminate, wait, kill, wait.

    Returns:
        How many processes had to be killed.
    """
    living = _living(session_id)
    for stat in living:
        _signal(stat, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while living and time.monotonic() < deadline:
        time.sleep(0.01)
        living = _living(session_id)
    killed = len(living)
    while living:
        for stat in living:
            _signal(stat, signal.SIGKILL)
        time.sleep(0.01)
        living = _living(session_id)
    return killed


def ask_for_stacks(session_id: int) -> None:
    """Make every process of a session write its stacks to its stderr."""
    for stat in _living(session_id):
        _signal(stat, signal.SIGUSR2)
    time.sleep(0.3)


def _living(session_id: int) -> list[ProcessStat]:
    own = os.getpid()
    found = processes_of_session(session_id)
    return [stat for stat in found if stat.state not in "ZX" and stat.pid != own]


def _signal(stat: ProcessStat, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(stat.pid, number)


_TMP_PREFIX = "autoloader-"


class SharedMemoryWatch:
    """Remembers what lay in `/dev/shm` before a trial and removes what it left.

    Only files of PyTorch's and multiprocessing's own naming that carry the id of a
    process which is gone are removed; anything else belongs to somebody.
    """

    def __init__(self) -> None:
        self._before = _listed()

    def sweep(self) -> list[str]:
        """Remove what is new, ours and without a living maker; return the names."""
        removed = []
        for name in sorted(_listed() - self._before):
            maker = _maker(name)
            if maker is not None and process_stat(maker) is None:
                with contextlib.suppress(OSError):
                    (SHM / name).unlink()
                    removed.append(name)
        return removed


def _listed() -> set[str]:
    try:
        return {entry.name for entry in SHM.iterdir()}
    except OSError:
        return set()


def _maker(name: str) -> int | None:
    """Return the process id in `torch_PID_random_number`, None for other names."""
    parts = name.split("_")
    if parts[0] == "torch" and len(parts) >= 3 and parts[1].isdigit():
        return int(parts[1])
    return None


class SessionBook:
    """Sessions of a run, on disk, so that the next start can sweep after a kill."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, session_id: int) -> None:
        """Add a session with its leader's start time."""
        stat = process_stat(session_id)
        if stat is None:
            return
        entry = {
            "boot": _boot_id(),
            "session": session_id,
            "start_ticks": stat.start_ticks,
        }
        line = json.dumps(entry)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def sweep(self) -> int:
        """End what an earlier run left alive; return how many sessions had processes.

        A session counts as left only while its number has not been given to a younger
        leader: ids are used again.
        """
        swept = 0
        for line in self._lines():
            session, ticks = line
            leader = process_stat(session)
            reused = leader is not None and leader.start_ticks != ticks
            members = [stat for stat in _living(session) if stat.start_ticks >= ticks]
            if members and not reused:
                end_session(session)
                swept += 1
        with contextlib.suppress(OSError):
            self._path.unlink()
        return swept

    def _lines(self) -> list[tuple[int, int]]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except OSError:
            return []
        found = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                if data["boot"] != _boot_id():
                    continue
                found.append((int(data["session"]), int(data["start_ticks"])))
        return found


def _boot_id() -> str | None:
    """Return what names this boot of the system: process ids mean nothing beyond it."""
    try:
        return (
            Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        )
    except OSError:
        return None


def make_tmp() -> Path:
    """Make a temporary folder with a short path, since sockets in it allow 107 bytes.

    Folders of earlier runs whose process is gone are removed on the way.
    """
    root = Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())  # noqa: S108
    for old in root.glob(f"{_TMP_PREFIX}*"):
        pid = old.name.removeprefix(_TMP_PREFIX).split("-")[0]
        with contextlib.suppress(OSError):
            ours = old.lstat().st_uid == os.getuid() and old.is_dir()
            if ours and pid.isdigit() and process_stat(int(pid)) is None:
                remove_folder(old)
    return Path(tempfile.mkdtemp(prefix=f"{_TMP_PREFIX}{os.getpid()}-", dir=root))


def remove_folder(path: Path) -> None:
    """Remove a temporary folder of ours, whatever is left in it."""
    shutil.rmtree(path, ignore_errors=True)
