"""Optuna's journal as a file in a folder that several machines see.

As Optuna's own backend, but for an end that its writer, killed or out of space, left
torn: Optuna's stays broken by it for good. Here the next writer cuts it off. The lock
is Optuna's: a symbolic link, which all versions of NFS make at once or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from optuna.storages.journal import BaseJournalBackend, JournalFileSymlinkLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SharedJournal(BaseJournalBackend):
    """Appends operations to a file, and reads those of others.

    Args:
        path: absolute path of the file; made where it is missing.

    Raises:
        OSError: it cannot be made, or opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # a link to a path that is not absolute would lead nowhere
        self._lock = JournalFileSymlinkLock(str(path.absolute()))
        self._offsets = {0: 0}
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """Yield the operations from a number on; a line without its end is none yet.

        Raises:
            OSError: it cannot be read.
            ValueError: a line is no operation: it is damaged, or was cut meanwhile.
        """
        number = log_number_from if log_number_from in self._offsets else 0
        with self._path.open("rb") as file:
            file.seek(self._offsets[number])
            for line in file:
                if not line.endswith(b"\n"):
                    return
                operation = json.loads(line)
                self._offsets[number + 1] = self._offsets[number] + len(line)
                if number >= log_number_from:
                    yield operation
                number += 1

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append operations; they are on the disk when this returns."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        self._lock.acquire()
        try:
            with self._path.open("r+b") as file:
                _cut_torn_end(file.fileno())
                file.seek(0, os.SEEK_END)
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        finally:
            with contextlib.suppress(RuntimeError):  # taken for left behind by another
                self._lock.release()


def _cut_torn_end(descriptor: int) -> None:
    """Cut off what stands behind the last end of a line."""
    end = size = os.fstat(descriptor).st_size
    while end:
        begin = max(0, end - 65536)
        found = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    if end < size:
        os.ftruncate(descriptor, end)
