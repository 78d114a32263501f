"""Write files so that a reader never sees half of one, and nothing is lost.

Knows nothing of what is in them.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from autoloader.errors import StoredFileError, UsageError


def check_writable(path: Path) -> None:
    """Raise where a file could not be written at `path`, before any work is done.

    Raises:
        UsageError: the folder is missing, is no folder, or refuses a file.
    """
    folder = path.absolute().parent
    if path.is_dir():
        msg = f"--out {path} is a folder, and a file is needed"
        raise UsageError(msg, hint=f"--out {path / 'autoloader.yaml'}")
    if not folder.is_dir():
        msg = f"--out {path} cannot be written: there is no folder {folder}"
        raise UsageError(msg, hint=f"mkdir -p {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        msg = f"--out {path} cannot be written: {exc.strerror}"
        raise UsageError(msg, hint="name another place with --out") from exc
    if path.exists() and not os.access(path, os.W_OK):
        msg = f"--out {path} cannot be written: it is read-only"
        raise UsageError(msg, hint="name another place with --out")


def write_whole(path: Path, text: str) -> None:
    """Write a text file through a temporary sibling; an old file stays until then.

    The mode of an existing file is kept; a new one's follows the umask.

    Raises:
        StoredFileError: the disk refuses; the old file, if any, is untouched.
    """
    folder = path.absolute().parent
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=folder, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(
            path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        )
        temporary.replace(path)
    except OSError as exc:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        msg = f"{path} cannot be written: {exc.strerror}"
        raise StoredFileError(msg, hint="what stood there before is unchanged") from exc


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
