"""Datasets and loaders for several ranks: honest ones, and one liar for each lie."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import distributed
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

LENGTH = 101
"""One more than goes round in two or four ranks."""


class Shared(Dataset[Any]):
    """A vector and a label."""

    def __len__(self) -> int:
        """Return its length."""
        return LENGTH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return an example."""
        return torch.full((3,), float(index)), index % 10


def sampled() -> DataLoader[Any]:
    """Return a training script's loader: its group says which rank it is."""
    dataset = Shared()
    sampler: Any = DistributedSampler(dataset, drop_last=True)
    return DataLoader(dataset, batch_size=8, sampler=sampler, drop_last=True)


class Spoils(Shared):
    """Does what a test names when rank 1 of several reads one of its last examples."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return an example, or do it."""
        is_here = os.environ["RANK"] == "1" and os.environ["WORLD_SIZE"] != "1"
        if is_here and index > 60:
            match self.how:
                case "raise":
                    msg = "no such file"
                    raise ValueError(msg)
                case "kill":
                    trial = os.getpid() if get_worker_info() is None else os.getppid()
                    os.kill(trial, signal.SIGKILL)
                case "hang":
                    time.sleep(1000)
                case "lie":
                    return torch.zeros(3), index % 10
                case how:
                    raise NotImplementedError(how)
        return super().__getitem__(index)


class SharedStream(IterableDataset[Any]):
    """Shares by rank and worker, unless it is told not to look at ranks."""

    def __init__(self, by_rank: bool = True) -> None:
        self.by_rank = by_rank

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        """Yield what this worker of this rank has."""
        rank, ranks = 0, 1
        if self.by_rank and distributed.is_initialized():
            rank, ranks = distributed.get_rank(), distributed.get_world_size()
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(rank * workers + worker, LENGTH, ranks * workers):
            yield torch.full((3,), float(index)), index % 10
