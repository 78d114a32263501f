"""Open files, sockets and decoders that workers inherit, and their honest siblings."""

import os
import signal
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

from tests.conformance.datasets.records import LENGTH, SIZE, flat_file, parsed, record

PAUSE_S = 0.002
"""Time between finding the place and reading there, in which another worker seeks."""

STRIDE = 8192
"""Bytes from record to record where a buffer would hide the race."""


class SharesDescriptor(Dataset[Any]):
    """Seeks and reads through a descriptor opened before the workers start."""

    def __init__(self, folder: str, pause_s: float = PAUSE_S) -> None:
        self.pause_s = pause_s
        self.descriptor = os.open(flat_file(folder), os.O_RDONLY)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        os.lseek(self.descriptor, index * SIZE, os.SEEK_SET)
        if self.pause_s:
            time.sleep(self.pause_s)
        return parsed(os.read(self.descriptor, SIZE))


class ReadsAtOffset(SharesDescriptor):
    """Honest: shares the descriptor, but never its offset."""

    def __getitem__(self, index: int) -> Any:
        return parsed(os.pread(self.descriptor, SIZE, index * SIZE))


class SharesFile(Dataset[Any]):
    """Seeks and reads through a file object opened before the workers start."""

    def __init__(self, folder: str) -> None:
        self.path = flat_file(folder, STRIDE)
        self.file: Any = self.open()

    def open(self) -> Any:
        """Return the file object."""
        return self.path.open("rb", buffering=STRIDE)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        self.file.seek(index * STRIDE)
        time.sleep(PAUSE_S)
        return parsed(self.file.read(SIZE))


class SharesFileOfArrays(SharesFile):
    """Lets numpy read from the file object."""

    def __getitem__(self, index: int) -> Any:
        self.file.seek(index * STRIDE)
        time.sleep(PAUSE_S)
        return parsed(np.fromfile(self.file, np.uint8, SIZE).tobytes())


class SharesFsspecFile(SharesFile):
    """Holds a local file of fsspec, which opens anew where it is unpickled."""

    def open(self) -> Any:
        """Return the file object."""
        return fsspec.filesystem("file").open(str(self.path), "rb")


class OpensInLen(SharesFile):
    """Opens on first use, which is `len()` in the process that starts the workers."""

    def open(self) -> Any:
        """Return nothing yet."""

    def __len__(self) -> int:
        self.file = self.file or super().open()
        return os.fstat(self.file.fileno()).st_size // STRIDE - 8


class OpensOnFirstUse(SharesFile):
    """Honest: opens its file in the process that reads."""

    def open(self) -> Any:
        """Return nothing yet."""

    def __getitem__(self, index: int) -> Any:
        self.file = self.file or super().open()
        return super().__getitem__(index)


class SharesConnection(Dataset[Any]):
    """Asks a server through one connection, which all workers inherit."""

    def __init__(self) -> None:
        self.connection, theirs = socket.socketpair()
        threading.Thread(target=_serve, args=(theirs,), daemon=True).start()

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        self.connection.sendall(index.to_bytes(4, "little"))
        time.sleep(PAUSE_S)
        return parsed(self.connection.recv(SIZE, socket.MSG_WAITALL))


def _serve(connection: socket.socket) -> None:
    while asked := connection.recv(4, socket.MSG_WAITALL):
        connection.sendall(record(int.from_bytes(asked, "little")))


class PoisonsCache(Dataset[Any]):
    """Its worker is killed while it writes an entry of a cache on disk, once.

    Workers alone use the cache, in which an entry that is there counts as whole.

    Args:
        folder: where the cache is, and a note that the kill is done.
        follows_tmpdir: whether the cache is in the temporary folder instead.
        is_silent: whether an entry has its full length from the start.
    """

    def __init__(
        self, folder: str, follows_tmpdir: bool = False, is_silent: bool = False
    ) -> None:
        self.folder = Path(folder)
        self.follows_tmpdir = follows_tmpdir
        self.is_silent = is_silent

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        example = parsed(record(index))
        if get_worker_info() is None:
            return example
        root = Path(tempfile.gettempdir()) if self.follows_tmpdir else self.folder
        path = root / "cache" / f"{index}.pt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self._write(path, example["pixels"], is_last=index == 33)
        return {**example, "pixels": self._read(path)}

    def _write(self, path: Path, pixels: torch.Tensor, *, is_last: bool) -> None:
        if not self.is_silent:
            torch.save(pixels, path)
        else:
            path.write_bytes(pixels.numpy().tobytes())
        note = self.folder / "killed"
        if is_last and not note.exists():
            note.touch()
            whole = path.read_bytes()
            path.write_bytes(whole[:9].ljust(len(whole) if self.is_silent else 0, b"0"))
            os.kill(os.getpid(), signal.SIGKILL)

    def _read(self, path: Path) -> torch.Tensor:
        if not self.is_silent:
            loaded: torch.Tensor = torch.load(path)
            return loaded
        return torch.from_numpy(np.fromfile(path, np.uint8).reshape(1, 4, 4))
