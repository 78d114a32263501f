"""Datasets that are each limited by one thing, which is known.

Costs are made so that the limit is clear on two CPUs: what is named does not hang on
the speed of a machine.
"""

from __future__ import annotations

import multiprocessing
import time
import zlib
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

COUNT = 4096
"""Examples of an epoch of several seconds, in which start-up is little."""

SHORT = 256
"""Examples of an epoch of half a second."""

FEW = 64

READ_BYTES = 256

_TEXT = bytes(range(256)) * 64


class Sized(Dataset[Any]):
    """Examples of a few bytes, at no cost."""

    count = COUNT

    def __len__(self) -> int:
        """Return the length of an epoch."""
        return self.count

    def __getitem__(self, index: int) -> Any:
        """Return an example."""
        return torch.full((64,), float(index)), index


class ThrottledStore(Sized):
    """Reads a file over a store that serves one request at a time, in 2 ms.

    Args:
        path: a file of at least `COUNT * READ_BYTES` bytes.
    """

    def __init__(self, path: str) -> None:
        self._store = multiprocessing.get_context("fork").Lock()
        self._path = Path(path)

    def __getitem__(self, index: int) -> Any:
        """Wait for the store, then read."""
        with self._store:
            time.sleep(0.002)
        with self._path.open("rb") as file:
            file.seek(READ_BYTES * index)
            content = file.read(READ_BYTES)
        return torch.frombuffer(bytearray(content), dtype=torch.uint8), index


class SlowDecode(Sized):
    """Decodes for some milliseconds of CPU time."""

    def __getitem__(self, index: int) -> Any:
        """Compress a text, over and over."""
        for _ in range(16):
            zlib.compress(_TEXT, 9)
        return torch.full((64,), float(index)), index


class FewToDecode(SlowDecode):
    """So few that a test reads them in no time."""

    count = FEW


class HugeExamples(Sized):
    """Examples of 2 MB that cost nothing but their way."""

    def __init__(self) -> None:
        self._ones = torch.ones(1 << 19)

    def __getitem__(self, index: int) -> Any:
        """Return the same tensor, as a dataset in memory does."""
        return self._ones, index


class SlowStart(SlowDecode):
    """Workers that need half a second before their first example."""

    count = SHORT

    def __init__(self) -> None:
        self._is_open = False

    def __getitem__(self, index: int) -> Any:
        """Open what is slow to open, once in each process."""
        if not self._is_open:
            time.sleep(0.5)
            self._is_open = True
        return super().__getitem__(index)


def heavy_collate(examples: list[Any]) -> Any:
    """Put a batch together with 3 ms of Python an example."""
    for _ in examples:
        deadline = time.thread_time() + 0.003
        while time.thread_time() < deadline:
            pass
    return default_collate(examples)


def slow_step(batch: Any) -> None:
    """Take 40 ms for a batch, on an accelerator that leaves the CPUs alone."""
    del batch
    time.sleep(0.04)


def refusing(examples: list[Any]) -> Any:
    """Put a batch together, though not in a worker."""
    if get_worker_info() is not None:
        msg = "the codec is not there"
        raise KeyError(msg)
    return default_collate(examples)


def refusing_loader() -> DataLoader[Any]:
    """Return a loader that fails in its workers."""
    return DataLoader(FewToDecode(), batch_size=16, collate_fn=refusing)


def heavy_collate_loader() -> DataLoader[Any]:
    """Return a loader whose collate_fn takes all the time."""
    return DataLoader(Sized(), batch_size=16, collate_fn=heavy_collate)


store, decode, few, huge = ThrottledStore, SlowDecode, FewToDecode, HugeExamples
start = SlowStart
