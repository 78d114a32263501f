"""Read a small text file that people edit or an earlier run left: whole, or not at all.

What is in it is decoded elsewhere (`values.decode`, `export.plain_yaml`). Nothing here
waits for a writer, and nothing is read that could not be such a file.
"""

import errno
import os
import stat
from pathlib import Path

MOST_MIB = 1
"""Longest file that people write: a thousand times what a study file has."""


def read_text(path: Path, *, most_mib: int = MOST_MIB) -> str:
    """Return the text of a regular file, without a byte order mark.

    Args:
        path: the file.
        most_mib: what it may have; longer ones are refused unread.

    Raises:
        OSError: there is none, the system refuses, or it is no regular file, too long
            or no UTF-8 text; `strerror` says which.
    """
    data = _read(path, most_mib * 2**20 + 1)
    if len(data) > most_mib * 2**20:
        why = f"it has more than {most_mib} MiB"
        raise OSError(errno.EFBIG, why)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        why = f"it is no UTF-8 text, {exc.reason} at byte {exc.start}"
        raise OSError(errno.EILSEQ, why) from exc


def _read(path: Path, count: int) -> bytes:
    """Return the first bytes of a regular file, so many at most."""
    # a pipe with nobody at its other end is opened as well, and told by its mode
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except ValueError as exc:  # NUL, or a letter that the file system cannot write
        raise OSError(errno.EINVAL, "no file can have this name") from exc
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(count)
    finally:
        os.close(descriptor)
