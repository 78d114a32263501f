"""Write files so that a reader never sees half of one, and nothing is lost.

Knows nothing of what is in them.
"""

import os
import tempfile
from pathlib import Path

from autoloader.errors import StoredFileError, UsageError


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
    one, and what it points to is written.

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
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            dir=target.parent,
            prefix=f".{target.name[:100]}.",
            delete=False,
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask() if old is None else old.st_mode & 0o777)
        temporary.replace(target)
    except OSError as exc:
        msg = f"{path} cannot be written: {exc.strerror}"
        raise StoredFileError(msg, hint=unchanged) from exc
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
