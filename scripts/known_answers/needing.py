"""A dataset that takes known amounts: files of 64 KiB, compressed and summed up."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

FILES = 1024
FILE_BYTES = 1 << 16
NUMBERS = 150_528
"""Numbers of an example: a picture of 224 by 224."""


class Files(Dataset[Any]):
    """Reads a file for each example; it is made where it is missing."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / "autoloader-known-needs"
        self._folder.mkdir(exist_ok=True)
        content = bytes(range(256)) * (FILE_BYTES // 256)
        for number in range(FILES):
            path = self._folder / f"{number:04d}"
            if not path.is_file() or path.stat().st_size != FILE_BYTES:
                path.write_bytes(content)

    def __len__(self) -> int:
        return FILES

    def __getitem__(self, index: int) -> Any:
        content = (self._folder / f"{index:04d}").read_bytes()
        checked = zlib.crc32(zlib.compress(content, 6))
        return torch.full((NUMBERS,), float(checked % 7)), index
