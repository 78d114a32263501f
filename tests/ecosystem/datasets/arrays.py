"""zarr: a chunked array on disk, opened by whoever reads it, or by the constructor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import zarr
from torch.utils.data import Dataset

from tests.conformance.datasets.records import LENGTH, SIZE, made, parsed, record

if TYPE_CHECKING:
    from pathlib import Path


def chunked(folder: str) -> Path:
    """Return an array with a record a row, ten rows a chunk."""

    def write(path: Path) -> None:
        array = zarr.create_array(
            str(path), shape=(LENGTH, SIZE), chunks=(10, SIZE), dtype="uint8"
        )
        rows = b"".join(record(index) for index in range(LENGTH))
        array[:] = np.frombuffer(rows, np.uint8).reshape(LENGTH, SIZE)

    return made(folder, "records.zarr", write)


class OpensZarr(Dataset[Any]):
    """Honest: opens the array in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = chunked(folder)
        self.array: Any = None

    def __len__(self) -> int:
        """Return how many rows there are."""
        return LENGTH

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return a row."""
        if self.array is None:
            self.array = zarr.open_array(str(self.path), mode="r")
        return parsed(bytes(self.array[index]))


class SharesZarr(OpensZarr):
    """Opens it at once, and reads its first row: its event loop runs in a thread."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.array = zarr.open_array(str(self.path), mode="r")
        self.first = torch.from_numpy(np.asarray(self.array[0]))
