"""Locks that the kernel gives back, whatever becomes of their holder: none goes stale.

One for the machine, since two that measure at once would measure each other; one for a
file that is worked on. Both are `flock`, on files that stay where they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VARIABLE = "AUTOLOADER_LOCK"
"""Names another file: containers of one host that see the same one share its lock."""

_MACHINE = "/tmp/autoloader.lock"  # noqa: S108  # one for all users: TMPDIR may be a job's
"""The file of a machine's lock."""


_MOST_BYTES = 4096
"""Of what a holder says of itself."""


@contextlib.contextmanager
def machine_lock(
    doing: str, *, waits: bool, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the machine for the time of a `with`: nobody else measures on it.

    Args:
        doing: what the holder does, for those who find it: `tune`.
        waits: whether it is waited for where another one holds it.
        on_wait: told who holds it, before it is waited for.

    Raises:
        UsageError: another one holds it, or the file cannot be used.
    """
    path = Path(os.environ.get(VARIABLE) or _MACHINE)
    elsewhere = f"{VARIABLE}=FILE names another one"
    with _opened(path, hint=elsewhere, mode=0o666) as descriptor:
        if not _is_taken(descriptor, path, hint=elsewhere):
            who = f"another autoloader measures on this machine: {_holder(descriptor)}"
            if not waits:
                hint = "two at once would measure each other; --wait waits for it"
                raise UsageError(who, hint=hint)
            if on_wait is not None:
                on_wait(who)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        _say(descriptor, doing)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)


@contextlib.contextmanager
def file_lock(path: Path, *, called: Path) -> Iterator[None]:
    """Hold a file for the time of a `with`.

    Args:
        path: the file that is locked; made where it is missing.
        called: the file that it stands for.

    Raises:
        UsageError: another process holds it, or it cannot be used.
    """
    elsewhere = "work in a folder on a local disk that may be written to"
    with _opened(path, hint=elsewhere) as descriptor:
        if not _is_taken(descriptor, path, hint=elsewhere):
            msg = f"another autoloader works on {called}"
            raise UsageError(msg, hint="wait for it, or end it")
        yield


@contextlib.contextmanager
def _opened(path: Path, *, hint: str, mode: int | None = None) -> Iterator[int]:
    """Open a lock's file.

    Args:
        path: the file; made where it is missing.
        hint: the way out where it cannot be.
        mode: of a file that is made; None: as the umask has it.

    Raises:
        UsageError: the system refuses.
    """
    try:
        descriptor = _open(path, mode)
    except OSError as exc:
        msg = f"the lock {path} cannot be used: {exc.strerror}"
        raise UsageError(msg, hint=hint) from exc
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, mode: int | None) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        # without O_CREAT first: in a sticky folder that is refused for another's file
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            if mode is not None:
                os.fchmod(descriptor, mode)
            return descriptor


def _is_taken(descriptor: int, path: Path, *, hint: str) -> bool:
    """Take the lock if it is free; whether it is this process's now.

    Raises:
        UsageError: the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as exc:
        msg = f"the lock {path} cannot be used: {exc.strerror}"
        raise UsageError(msg, hint=hint) from exc
    return True


def _say(descriptor: int, doing: str) -> None:
    """Write who holds it, for those who find it held; a full disk keeps it unsaid."""
    since = datetime.now().astimezone().isoformat(timespec="minutes")
    text = json.dumps({"doing": doing, "pid": os.getpid(), "since": since})
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _holder(descriptor: int) -> str:
    """Return who holds it, as far as it says; anybody may have written there."""
    try:
        told = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
        doing, pid = str(told["doing"]), int(told["pid"])
        since = datetime.fromisoformat(told["since"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "a process that does not say which"
    name = doing if doing.isidentifier() else "a command"
    return f"{name}, process {pid}, since {since:%Y-%m-%d %H:%M}"
