"""Leave nothing behind: no process, no shared memory, no temporary folder.

A trial is a session of its own. The kernel ends trial and workers with their parent
(`child.lifeline`); programs that a dataset runs are found here by session.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import stat
import tempfile
import time
from pathlib import Path

from autoloader.errors import UsageError
from autoloader.measure.proc import (
    ProcessStat,
    process_stat,
    processes_of_session,
)
from autoloader.measure.stacks import ask_one_by_one

_log = logging.getLogger(__name__)

SHM = Path("/dev/shm")  # noqa: S108  # the system's own place for shared memory

SHORT_ROOTS = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
"""Temporary folders of the system: the first is taken before any that is named, the
others after them."""

SOCKET_BYTES = 107
"""Longest path of a socket. Python and PyTorch make theirs in the temporary folder."""

_RANDOM_LETTERS = 8
"""Letters that `tempfile` adds to a name."""

_BELOW_BYTES = len("/r255/123456/torch-shm-dir-123456/manager.sock")
"""Longest path below a temporary folder: a rank's pass, a socket of PyTorch's in it."""

KILL_PATIENCE_S = 5.0
"""Longest wait for killed processes: one that waits for a device ends when it may."""

TRACKER_PATIENCE_S = 5.0
"""Longest wait for Python's resource tracker, which removes what others held in shared
memory once they are gone; killed with them, it would leave that for ever."""

_TRACKER = b"multiprocessing.resource_tracker"


def end_session(session_id: int, *, patience_s: float = 3.0) -> int:
    """End every process of a session: terminate, wait, kill, wait, say so.

    Returns:
        How many processes had to be killed.
    """
    for process in _living_members(session_id):
        _signal(process, signal.SIGTERM)
    killed = len(_wait_for_end(session_id, patience_s))
    if killed:
        _wait_for_end(session_id, KILL_PATIENCE_S, with_signal=signal.SIGKILL)
    for process in _end_trackers(session_id):
        _log.warning("process %s does not end: %s", process.pid, process.name)
    return killed


def _wait_for_end(
    session_id: int, patience_s: float, *, with_signal: signal.Signals | None = None
) -> list[ProcessStat]:
    """Return what lives on after so many seconds; what is new is signalled as well."""
    deadline = time.monotonic() + patience_s
    while living := _living_members(session_id):
        if with_signal is not None:
            for process in living:
                _signal(process, with_signal)
        if time.monotonic() >= deadline:
            break
        time.sleep(0.01)
    return living


def _end_trackers(session_id: int) -> list[ProcessStat]:
    """Let resource trackers end by themselves, and kill them where they do not.

    A process that is ending has no command line any more, though it is no zombie yet:
    it cannot be told from others at once, only by its being gone a moment later.

    Returns:
        What else of the session still lives.
    """
    deadline = time.monotonic() + TRACKER_PATIENCE_S
    while (left := _living(session_id)) and time.monotonic() < deadline:
        time.sleep(0.01)
    others = [process for process in left if not _is_tracker(process.pid)]
    for process in left:
        _signal(process, signal.SIGKILL)
    return others


def _living_members(session_id: int) -> list[ProcessStat]:
    """Return the living processes of a session, resource trackers left out."""
    return [item for item in _living(session_id) if not _is_tracker(item.pid)]


def _is_tracker(pid: int) -> bool:
    try:
        return _TRACKER in (Path("/proc") / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def ask_for_stacks(session_id: int, log: Path) -> None:
    """Make every process of a session that listens write its stacks, one by one.

    A process that does not (Python's own resource tracker, say) would end by it.

    Args:
        session_id: of the trial.
        log: where all of them write.
    """
    pids = [process.pid for process in _living(session_id)]
    ask_one_by_one(pids, log)


def _living(session_id: int) -> list[ProcessStat]:
    found = processes_of_session(session_id)
    own = os.getpid()
    return [item for item in found if item.state not in "ZX" and item.pid != own]


def _signal(process: ProcessStat, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)


class SharedMemoryWatch:
    """Remembers what lay in `/dev/shm` before a trial and removes what it left.

    Only files of PyTorch's own naming are removed, and only where they are this user's
    and carry the id of a process that began since and is gone. Where containers share
    `/dev/shm`, processes of others cannot be seen, but their ids are other ones.
    """

    def __init__(self) -> None:
        self._before = _listed()
        self._first_pid = _last_pid()

    def sweep(self) -> list[str]:
        """Remove what is new, ours and without a living maker; return the names."""
        last = _last_pid()
        removed = []
        for name in sorted(_listed() - self._before):
            maker = _maker(name)
            if maker is None or process_stat(maker) is not None:
                continue
            with contextlib.suppress(OSError):
                is_ours = (SHM / name).lstat().st_uid == os.getuid()
                if is_ours and _began_between(maker, self._first_pid, last):
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
    found = re.fullmatch(r"torch_([0-9]+)_.+", name)
    return None if found is None else int(found[1])


def _last_pid() -> int | None:
    """Return the id of the process that began last, None where it is not told."""
    try:
        text = Path("/proc/loadavg").read_text(encoding="ascii")
    except OSError:
        return None
    return int(text.split()[4]) or None


def _began_between(pid: int, first: int | None, last: int | None) -> bool:
    """Whether an id was given out after `first` and up to `last`; ids wrap around."""
    if first is None or last is None:
        return True
    return first < pid <= last if first <= last else pid > first or pid <= last


class SessionBook:
    """Sessions of a run, on disk, so that the next start can sweep after a kill."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, session_id: int) -> None:
        """Add a session with its leader's start time, as well as the disk allows."""
        leader = process_stat(session_id)
        if leader is None:
            return
        entry = {
            "boot": _boot_id(),
            "session": session_id,
            "start_ticks": leader.start_ticks,
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as exc:
            _log.warning("session %s is not noted: %s", session_id, exc)

    def sweep(self) -> int:
        """End what an earlier run left alive; return how many sessions had processes.

        A session counts as left only while its number has not been given to a younger
        leader (ids are used again), and only where its processes are children of ours.
        """
        swept = 0
        for session, ticks in self._lines():
            leader = process_stat(session)
            is_reused = leader is not None and leader.start_ticks != ticks
            members = [
                item
                for item in _living(session)
                if item.start_ticks >= ticks and _is_child_of_ours(item.pid)
            ]
            if members and not is_reused:
                end_session(session)
                swept += 1
        with contextlib.suppress(OSError):
            self._path.unlink()
        return swept

    def _lines(self) -> list[tuple[int, int]]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return []
        found = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                if data["boot"] == _boot_id():
                    found.append((int(data["session"]), int(data["start_ticks"])))
        return found


def _is_child_of_ours(pid: int) -> bool:
    """Whether a process is a child of this package, or a worker of one.

    A forked worker keeps the child's command line, one started afresh its variables.
    """
    folder = Path("/proc") / str(pid)
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return _CHILD in words or _CHILD_VARIABLE in variables


_CHILD = b"autoloader.child"
_CHILD_VARIABLE = b"PYTORCH_NVML_BASED_CUDA_CHECK=1"


def _boot_id() -> str | None:
    """Return what names this boot of the system: ids of processes end with it."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return None
    return text.strip()


def make_tmp() -> Path:
    """Make a temporary folder with a short path, since sockets in it allow 107 bytes.

    In `/tmp` where that can be: what TMPDIR names often has a long path. Folders of
    earlier runs whose process is gone are removed first, wherever they may lie.

    Raises:
        UsageError: no folder can be written, or their paths are too long; says which.
    """
    refused = []
    roots = dict.fromkeys((SHORT_ROOTS[0], *_named_roots(), *SHORT_ROOTS[1:]))
    for root in roots:
        with contextlib.suppress(OSError):
            _remove_left(root)
    for root in roots:
        why_not = _too_long(root)
        if why_not is None:
            try:
                made = tempfile.mkdtemp(prefix=_prefix(), dir=root)
            except OSError as exc:
                why_not = exc.strerror
            else:
                return Path(made)
        refused.append(f"{root}: {why_not}")
    msg = f"no temporary folder can be made; {'; '.join(refused)}"
    raise UsageError(msg, hint="TMPDIR=FOLDER names one that can be, by a short path")


def _named_roots() -> list[Path]:
    """Return the folders that the usual variables name."""
    named = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    return [Path(name).absolute() for name in named if name]


def _too_long(root: Path) -> str | None:
    """Return what is said of a folder whose path leaves no room for a socket's."""
    length = len(os.fsencode(root))
    most = SOCKET_BYTES - len(f"/{_prefix()}") - _RANDOM_LETTERS - _BELOW_BYTES
    if length <= most:
        return None
    return f"its path has {length} bytes, and {most} at most leave room for a socket's"


def _remove_left(root: Path) -> None:
    """Remove folders of earlier runs whose process is gone.

    Those that have our name, mode and user, and were made in this container (where
    processes of others cannot be seen).
    """
    made = re.compile(rf"autoloader-([0-9]+)-{_namespace()}-[a-z0-9_]{{8}}")
    for old in root.glob("autoloader-*"):
        found = made.fullmatch(old.name)
        with contextlib.suppress(OSError):
            info = old.lstat()
            is_ours = stat.S_ISDIR(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o700
            if found is None or not is_ours or info.st_uid != os.getuid():
                continue
            if process_stat(int(found[1])) is None:
                remove_folder(old)


def _prefix() -> str:
    """Return how the names of this process's temporary folders begin."""
    return f"autoloader-{os.getpid()}-{_namespace()}-"


def _namespace() -> int:
    """Return what names the set of processes that can be seen; 0 where nothing does."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def remove_folder(path: Path) -> None:
    """Remove a temporary folder of ours, whatever is left in it."""
    shutil.rmtree(path, ignore_errors=True)
