"""Datasets that fail in one stage, each named for it; two of them in workers only."""

import os
import signal
import threading
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

LENGTH = 40


class Records(Dataset[Any]):
    """Four records of three channels, of which the last has one."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        channels = 1 if index == 3 else 3
        return {"id": index, "x": torch.zeros(channels, 16, 16), "y": index}


class Files(Dataset[Any]):
    """Numbers, read as if from a file and then transformed."""

    def __init__(self) -> None:
        self.transform = self.scaled

    def __len__(self) -> int:
        return LENGTH

    def read(self, index: int) -> torch.Tensor:
        """Return what a file holds."""
        return torch.full((4,), float(index))

    def scaled(self, value: torch.Tensor) -> torch.Tensor:
        """Return it transformed."""
        return value / LENGTH

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.read(index)), index % 3


class Undecodable(Files):
    """File 17 cannot be decoded."""

    def read(self, index: int) -> torch.Tensor:
        """Return what a file holds."""
        if index == 17:
            raise OSError("image file is truncated")
        return super().read(index)


class Untransformable(Files):
    """The transform raises for what file 23 holds."""

    def scaled(self, value: torch.Tensor) -> torch.Tensor:
        """Return it transformed."""
        if value[0] == 23:
            raise ValueError("crop is larger than the image")
        return super().scaled(value)


class KillsItself(Files):
    """Native code ends the process while it reads file 11."""

    def read(self, index: int) -> torch.Tensor:
        """Return what a file holds."""
        if index == 11:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().read(index)


class BlocksInWorkers(Files):
    """A lock that is held when workers are forked: each waits for it at file 29."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.lock.acquire()

    def read(self, index: int) -> torch.Tensor:
        """Return what a file holds."""
        if index == 29 and get_worker_info() is not None:
            self.lock.acquire()
        return super().read(index)


class RaisesInWorkers(Files):
    """File 31 can be read in the training process only."""

    def read(self, index: int) -> torch.Tensor:
        """Return what a file holds."""
        if index == 31 and get_worker_info() is not None:
            raise RuntimeError("not in a worker")
        return super().read(index)


def not_twins(examples: list[Any]) -> Any:
    """Collate, but refuse examples 2 and 5 together."""
    found = {round(float(value[0]) * LENGTH) for value, _ in examples}
    if {2, 5} <= found:
        raise ValueError("cannot stack twins")
    return torch.stack([value for value, _ in examples])


def twins() -> DataLoader[Any]:
    """Return a loader whose collate_fn refuses two examples of one batch."""
    return DataLoader(Files(), batch_size=8, collate_fn=not_twins)


class Augments(Files):
    """Transforms by a method of a name of its own."""

    def __init__(self) -> None:
        self.transform = None  # type: ignore[assignment]

    def augment(self, value: torch.Tensor) -> torch.Tensor:
        """Return it transformed."""
        return value.flip(0)

    def __getitem__(self, index: int) -> Any:
        return self.augment(self.read(index)), index % 3


def with_lambda(examples: list[Any]) -> Any:
    """Collate to a batch that holds a function without a name."""
    return {"x": torch.stack([value for value, _ in examples]), "key": lambda: 0}


def unsendable() -> DataLoader[Any]:
    """Return a loader whose batches no worker can send."""
    return DataLoader(Files(), batch_size=8, collate_fn=with_lambda)
