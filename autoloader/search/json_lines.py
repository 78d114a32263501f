"""Files of JSON lines that are appended to: whole lines, synced, a torn end cut off.

What a line says is its writer's (`search.record`, `export.history`).
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def append_line(path: Path, data: Mapping[str, Any]) -> None:
    """Append one line; it is on the disk when this returns.

    Raises:
        OSError: the disk refuses; what stood there before is still whole.
    """
    line = json.dumps(data, allow_nan=False) + "\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with _opened(path, flags) as descriptor:
        before = os.fstat(descriptor).st_size
        try:
            _write_whole(descriptor, line.encode())
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, before)
            raise


def whole_lines(path: Path) -> tuple[list[bytes], int]:
    """Return the lines of a file, and the bytes of a torn one at its end.

    Torn is what no newline ends, and a last line that is no JSON.

    Raises:
        OSError: it cannot be read.
    """
    lines = path.read_bytes().split(b"\n")
    torn = len(lines.pop())
    if lines and not _is_json(lines[-1]):
        torn += len(lines.pop()) + 1
    return lines, torn


def cut_end(path: Path, count: int) -> None:
    """Cut so many bytes off the end of a file; none leave it as it is.

    Raises:
        OSError: the disk refuses.
    """
    if not count:
        return
    with path.open("r+b") as file:
        file.truncate(os.fstat(file.fileno()).st_size - count)
        os.fsync(file.fileno())


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
