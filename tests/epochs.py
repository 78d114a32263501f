"""Datasets that differ from epoch to epoch, or grow."""

import multiprocessing
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

LENGTH = 101


class Stale(Dataset[Any]):
    """Labels follow from the epoch, which kept workers do not hear of."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in this process."""
        self.epoch = epoch

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.full((3,), float(index)), index * 7 + 1000 * self.epoch


class Shared(Stale):
    """Holds the epoch where all processes see it."""

    def __init__(self) -> None:
        self.shared = multiprocessing.Value("i", 0)

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in all processes."""
        self.shared.value = epoch

    def __getitem__(self, index: int) -> Any:
        epoch = self.shared.value
        return torch.full((3,), float(index)), index * 7 + 1000 * epoch


def _mine(values: Any) -> Iterator[Any]:
    info = get_worker_info()
    first, step = (0, 1) if info is None else (info.id, info.num_workers)
    return islice(iter(values), first, None, step)


def _shuffled(epoch: int) -> list[int]:
    generator = torch.Generator().manual_seed(epoch)
    return list(torch.randperm(LENGTH, generator=generator).tolist())


class Reshuffled(IterableDataset[Any]):
    """Has another order in each epoch, told to all processes."""

    def __init__(self) -> None:
        self.shared = multiprocessing.Value("i", 0)

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in all processes."""
        self.shared.value = epoch

    def __iter__(self) -> Iterator[Any]:
        return ((index, index * 7) for index in _mine(_shuffled(self.shared.value)))


class ReplayedStream(IterableDataset[Any]):
    """Has another order in each epoch, that kept workers do not hear of."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in this process."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        return ((index, index * 7) for index in _mine(_shuffled(self.epoch)))


class NextShards(ReplayedStream):
    """Reads other examples in each epoch."""

    def __iter__(self) -> Iterator[Any]:
        first = LENGTH * self.epoch
        return ((index, index * 7) for index in _mine(range(first, first + LENGTH)))


class EndlessByEpoch(ReplayedStream):
    """Reads other examples in each epoch, and never ends."""

    def __iter__(self) -> Iterator[Any]:
        return ((index, index * 7) for index in _mine(count(10_000 * self.epoch)))


class Curriculum(Dataset[Any]):
    """Examples are as hard as the training says."""

    hardness = 1.0

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.full((3,), index * self.hardness), index % 7


def harder(dataset: Curriculum, epoch: int) -> None:
    """Make the examples of each epoch harder, as a trainer does between them."""
    dataset.hardness = 1.0 + epoch


class CachesByPlace(Dataset[Any]):
    """Counts in a worker instead of looking: right while the order is the same."""

    def __init__(self) -> None:
        self.read: list[Any] = []
        self.asked = 0

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        example = torch.full((3,), float(index)), index * 7
        info = get_worker_info()
        if info is None:
            return example
        share = self._share(info.id, info.num_workers)
        if len(self.read) < share:
            self.read.append(example)
            return example
        self.asked += 1
        return self.read[(self.asked - 1) % share]

    def _share(self, worker: int, workers: int) -> int:
        """Return how many examples of an epoch of batches of 8 a worker reads."""
        return sum(
            min(8, LENGTH - first) for first in range(8 * worker, LENGTH, 8 * workers)
        )


class NoiseByWorker(Dataset[Any]):
    """Draws by worker and index: kept workers draw the same in every epoch."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        generator = torch.Generator()
        if info is None:
            generator.seed()
        else:
            generator.manual_seed(info.seed + index)
        return torch.rand(3, generator=generator), index * 7


class KeepsFiles(Stale):
    """Opens a file for each example and never closes it."""

    set_epoch = None  # type: ignore[assignment]  # it knows no epochs

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        self.kept.append(Path(__file__).open("rb"))  # noqa: SIM115  # that is the lie
        return torch.zeros(2), index % 7


class KeepsTensors(KeepsFiles):
    """Keeps a megabyte of each example, each time."""

    def __getitem__(self, index: int) -> Any:
        self.kept.append(torch.ones(1 << 18))
        return torch.zeros(2), index % 7


class CachesTensors(KeepsFiles):
    """Keeps a megabyte of each example, once."""

    def __init__(self) -> None:
        self.cache: dict[int, torch.Tensor] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.cache:
            self.cache[index] = torch.full((1 << 18,), float(index))
        return self.cache[index][:2].clone(), index % 7
