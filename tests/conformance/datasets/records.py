"""Marked records, and the files that hold them: written once, whole or not at all."""

import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.conformance.canary import PIXELS, TEXT

LENGTH = 101
"""Examples: a prime, so that no batch size and no number of workers divides it."""

SIZE = 64
"""Bytes of a record."""

SPARE = 8
"""Records behind the last one: a read that starts too far on finds one all the same."""

PAUSE_S = 0.001
"""Time by which a slow file keeps a read waiting."""


def record(index: int) -> bytes:
    """Return the record of an id: marked pixels, id, label, marked text."""
    numbers = index.to_bytes(4, "little") + (7 * index).to_bytes(4, "little")
    return (bytes(PIXELS) + numbers + f"{TEXT} {index}".encode()).ljust(SIZE)


def parsed(data: bytes) -> dict[str, Any]:
    """Return the example that a record holds."""
    pixels = torch.from_numpy(np.frombuffer(data[:16], np.uint8).copy())
    return {
        "id": int.from_bytes(data[12:16], "little"),
        "label": int.from_bytes(data[16:20], "little"),
        "pixels": pixels.reshape(1, 4, 4),
        "text": data[20:SIZE].decode(errors="replace").strip(),
    }


class SlowFile(io.FileIO):
    """A file whose reads come a moment after the seek, as from a busy disk.

    In that moment another process that shares the file can seek elsewhere.
    """

    def readinto(self, buffer: Any) -> int:
        """Read after a pause."""
        time.sleep(PAUSE_S)
        return super().readinto(buffer) or 0

    def read(self, size: int | None = -1) -> bytes:
        """Read after a pause."""
        time.sleep(PAUSE_S)
        return super().read(-1 if size is None else size) or b""


def made(folder: str, name: str, write: Callable[[Path], object]) -> Path:
    """Return the path of a file or folder, made where it is missing.

    Args:
        folder: of the run.
        name: of what is made.
        write: gets the path of a temporary sibling.
    """
    path = Path(folder) / name
    if not path.exists():
        scratch = Path(tempfile.mkdtemp(dir=folder)) / name
        write(scratch)
        try:
            os.rename(scratch, path)  # noqa: PTH104  # a folder may be there by now
        except OSError:
            if not path.exists():
                raise
        shutil.rmtree(scratch.parent)
    return path


def flat_file(folder: str, stride: int = SIZE) -> Path:
    """Return a file with a record at each multiple of `stride`."""

    def write(path: Path) -> None:
        rows = [record(index).ljust(stride, b"\0") for index in range(LENGTH + SPARE)]
        path.write_bytes(b"".join(rows))

    return made(folder, f"records-{stride}.bin", write)
