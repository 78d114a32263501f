"""Write files so that a reader never sees half of one, and nothing is lost.

Knows nothing of what is in them.
"""

import contextlib
import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from autoloader.errors import StoredFileError, UsageError

if sys.platform != "win32":
    import fcntl

_REFUSALS = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EROFS})
"""What a disk says that takes no more, whatever is written."""

_FULL = _REFUSALS - {errno.EIO, errno.EROFS}

_UNFINISHED = ".autoloader-tmp"
"""End of the name of a file that is being written."""


def check_writable(path: Path, *, flag: str = "--out") -> None:
    """Raise where a file could not be written at `path`, before any work is done.

    Args:
        path: the file.
        flag: the flag that names it.

    Raises:
        UsageError: the folder is missing, is no folder, or refuses a file; or what
            stands at `path` is no file that may be replaced.
    """
    elsewhere = f"name another place with {flag}"
    try:
        target = path.resolve()
        if target.is_dir():
            msg = f"{flag} {path} is a folder, and a file is needed"
            raise UsageError(msg, hint=f"{flag} {path / 'autoloader.yaml'}")
        if target.exists() and not target.is_file():
            msg = f"{flag} {path} is no regular file"
            raise UsageError(msg, hint=elsewhere)
        folder = target.parent
        if folder.exists() and not folder.is_dir():
            msg = f"{flag} {path} cannot be written: {folder} is no folder"
            raise UsageError(msg, hint=elsewhere)
        if not folder.exists():
            msg = f"{flag} {path} cannot be written: there is no folder {folder}"
            raise UsageError(msg, hint=f"mkdir -p {folder}")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        msg = f"{flag} {path} cannot be written: {exc.strerror}"
        raise UsageError(msg, hint=elsewhere) from exc
    if target.exists() and not os.access(target, os.W_OK):
        msg = f"{flag} {path} cannot be written: it is read-only"
        raise UsageError(msg, hint=elsewhere)


def write_whole(path: Path, text: str) -> None:
    """Write a text file through a temporary sibling; an old file stays until then.

    The mode of an existing file is kept; a new one's follows the umask. A link stays
    one, and what it points to is written. What a killed writer left is removed.

    Raises:
        StoredFileError: the disk refuses, or what stands at `path` is no regular file;
            it is untouched then.
    """
    temporary: Path | None = None
    unchanged = "what stood there before is unchanged"
    try:
        target = path.resolve()
        old = target.stat() if target.exists() else None
        if old is not None and not target.is_file():
            msg = f"{path} cannot be written: it is no regular file"
            raise StoredFileError(msg, hint=unchanged)
        _remove_unfinished(target)
        with _unfinished(target) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            mode = 0o666 & ~_umask() if old is None else old.st_mode & 0o777
            temporary.chmod(mode)
            temporary.replace(target)
    except OSError as exc:
        msg = f"{path} cannot be written: {exc.strerror}"
        raise StoredFileError(msg, hint=unchanged) from exc
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def keep_copy(path: Path, copy: Path) -> None:
    """Write a copy of a text file beside it, whole or not at all.

    Raises:
        StoredFileError: the file cannot be read, or the disk refuses the copy.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "it is no UTF-8 text"
        msg = f"{path} cannot be kept as {copy.name}: {why}"
        raise StoredFileError(msg) from exc
    write_whole(copy, text)


@contextlib.contextmanager
def refusals_named(folder: Path) -> Iterator[None]:
    """Say which file a disk refuses, where that happens within.

    Args:
        folder: whose files are meant; what is wrong with others passes through, unless
            the disk is full.

    Raises:
        StoredFileError: instead of the `OSError`.
    """
    try:
        yield
    except OSError as exc:
        told = exc.filename  # may be a descriptor
        named = Path(os.fsdecode(told)) if isinstance(told, str | bytes) else None
        is_below = named is not None and named.is_relative_to(folder)
        if not is_below and exc.errno not in _REFUSALS:
            raise
        msg = f"{named or folder} cannot be used: {exc.strerror}"
        room = "free some space and " if exc.errno in _FULL else ""
        raise StoredFileError(msg, hint=f"{room}run the same command again") from exc


def _unfinished(target: Path) -> IO[str]:
    """Make what will become `target`, and hold it for as long as it is open."""
    while True:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  # the caller closes it
            "w",
            encoding="utf-8",
            dir=target.parent,
            prefix=_prefix(target),
            suffix=_UNFINISHED,
            delete=False,
        )
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another writer took it for one that was left


def _remove_unfinished(target: Path) -> None:
    """Remove what writers left of `target` that were killed: nobody holds it."""
    if sys.platform == "win32":
        return
    made = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]{8}" + _UNFINISHED)
    with contextlib.suppress(OSError):
        left = [path for path in target.parent.iterdir() if made.fullmatch(path.name)]
        for path in left:
            with contextlib.suppress(BlockingIOError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
