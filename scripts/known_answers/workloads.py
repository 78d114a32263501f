"""Datasets whose speed is known, or that say where a fault of measuring would be.

Nothing of the package is imported here: the plain loop builds them as well.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parent))

from sliced_clock import install

install()

PHOTOS = Path(__file__).parents[2] / "studies" / "photos" / "dataset.py"


class Tiny(Dataset[tuple[torch.Tensor, int]]):
    """Examples that cost next to nothing, so that any extra work shows."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor([index, index]), index % 10


class Large(Dataset[tuple[torch.Tensor, int]]):
    """Tensors of 3 MB, so that memory and its transport are what is timed."""

    def __init__(self, length: int, count: int) -> None:
        self._length, self._count = length, count

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((self._count,), float(index)), index % 10


class Waiting(Dataset[tuple[torch.Tensor, int]]):
    """Examples that wait, as those of a remote store do, and burn no CPU."""

    def __init__(self, length: int, wait_s: float) -> None:
        self._length, self._wait_s = length, wait_s

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self._wait_s)
        return torch.tensor([index]), index % 10


class Busy(Dataset[tuple[torch.Tensor, int]]):
    """Examples that burn a fixed amount of work, in Python."""

    def __init__(self, length: int, steps: int) -> None:
        self._length, self._steps = length, steps

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        total = 0
        for step in range(self._steps):
            total += step * index
        return torch.tensor([total % 1_000_003]), index % 10


def photos() -> Any:
    """Return the dataset of the photo study."""
    sys.path.append(str(PHOTOS.parent))
    found = importlib.util.spec_from_file_location("photos_dataset", PHOTOS)
    if found is None or found.loader is None:
        msg = f"{PHOTOS} cannot be imported"
        raise ImportError(msg)
    module = importlib.util.module_from_spec(found)
    sys.modules["photos_dataset"] = module
    found.loader.exec_module(module)
    return module.photos()


def tiny(length: int = 20_000) -> Tiny:
    """Return examples of 16 bytes."""
    return Tiny(length)


def large(length: int = 512, count: int = 750_000) -> Large:
    """Return examples of 3 MB."""
    return Large(length, count)


def waiting(length: int = 4096, wait_s: float = 0.01) -> Waiting:
    """Return examples that wait 10 ms."""
    return Waiting(length, wait_s)


def busy(length: int = 4096, steps: int = 10_000) -> Busy:
    """Return examples that compute for about half a millisecond."""
    return Busy(length, steps)


def _slow_start(worker: int) -> None:
    del worker
    time.sleep(0.5)


def slow_start(length: int, wait_s: float = 0.01) -> DataLoader[Any]:
    """Return waiting examples, in a loader whose workers need 0.5 s to start."""
    return DataLoader(
        Waiting(length, wait_s), batch_size=16, worker_init_fn=_slow_start
    )
