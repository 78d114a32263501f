"""What changes from epoch to epoch, and does not reach workers that are kept.

Fresh workers take the training process's copy anew in each epoch; kept ones hold that
of the first epoch.
"""

import contextlib
import importlib
import multiprocessing
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    Sampler,
    Subset,
    get_worker_info,
)

from tests.conformance.canary import example
from tests.conformance.marked import LENGTH, Marked, MarkedStream, in_worker, turns

EPOCH_SEED = 5

# Told by set_epoch


class ShiftsByEpoch(Marked):
    """Rolls the pixels by the epoch; a kept worker is not told of the next one."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in this process only."""
        self.epoch = epoch

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        found["pixels"] = found["pixels"].flatten().roll(self.epoch).reshape(1, 4, 4)
        return found


class LabelsByEpoch(ShiftsByEpoch):
    """Changes the labels with the epoch; a kept worker is not told of the next one."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "label": index * 7 + 1000 * self.epoch}


class ReshufflesItself(ShiftsByEpoch):
    """Looks examples up in an order of its own, drawn by the epoch."""

    def __getitem__(self, index: int) -> Any:
        order = torch.randperm(
            LENGTH, generator=torch.Generator().manual_seed(EPOCH_SEED + self.epoch)
        )
        return example(int(order[index]))


class SharesItsEpoch(ShiftsByEpoch):
    """Keeps the epoch in shared memory, which reaches kept workers too; honest."""

    def __init__(self) -> None:
        self.shared = multiprocessing.get_context("spawn").Value("l", 0)

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, for all processes."""
        self.shared.value = epoch

    def __getitem__(self, index: int) -> Any:
        self.epoch = self.shared.value
        return super().__getitem__(index)


class HalfByEpoch(MarkedStream):
    """Streams another half of its examples in each epoch."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, in this process only."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        mine = (number for number in turns() if number // 8 % 2 == self.epoch % 2)
        return map(example, mine)


class StreamShiftsByEpoch(HalfByEpoch):
    """Streams the same examples in each epoch, rolled by the epoch."""

    def __iter__(self) -> Iterator[Any]:
        for number in turns():
            found = example(number)
            rolled = found["pixels"].flatten().roll(self.epoch)
            yield {**found, "pixels": rolled.reshape(1, 4, 4)}


class StreamOrderByEpoch(HalfByEpoch):
    """Streams the same examples in each epoch, in an order drawn by the epoch."""

    def __iter__(self) -> Iterator[Any]:
        order = list(range(LENGTH))
        random.Random(self.epoch).shuffle(order)  # noqa: S311  # an order, no secret
        info = get_worker_info()
        mine = order if info is None else order[info.id :: info.num_workers]
        return map(example, mine)


def rank_that_reshuffles() -> DataLoader[Any]:
    """Return the loader of one rank: its sampler is told the epoch; honest."""
    dataset = Marked()
    sampler: DistributedSampler[Any] = DistributedSampler(dataset, 4, 1, seed=3)
    return DataLoader(dataset, batch_size=8, sampler=sampler)


def shuffled_library_stream(folder: str) -> Any:
    """Return a stream of the library `datasets`, which shares its epoch; honest."""
    datasets = importlib.import_module("datasets")
    datasets.disable_progress_bars()
    table = datasets.Dataset.from_dict(
        {
            "id": list(range(LENGTH)),
            "label": [number * 7 for number in range(LENGTH)],
            "text": [example(number)["text"] for number in range(LENGTH)],
        }
    )
    stream = table.to_iterable_dataset(num_shards=4)
    return stream.shuffle(seed=3, buffer_size=16).with_format("torch")


# Told by the trainer, through an attribute


class Masks(Marked):
    """Blanks as many pixels as an attribute says, which the trainer sets."""

    masked = 0

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        found["pixels"] = found["pixels"].clone()
        found["pixels"].flatten()[: self.masked] = 0
        return found


class Listed(Marked):
    """Reads the ids of a list, which the trainer replaces."""

    def __init__(self) -> None:
        self.listed = list(range(LENGTH))

    def __getitem__(self, index: int) -> Any:
        return example(self.listed[index])


class Transformed(Marked):
    """Applies a transform, which the trainer switches."""

    def __init__(self) -> None:
        self.transform: Any = torch.flip

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        return {**found, "pixels": self.transform(found["pixels"], (2,))}


class MasksByClass(Masks):
    """The same with an attribute of the class, which pickling leaves behind."""


STRENGTH = {"masked": 0}


class MasksByGlobal(Marked):
    """Blanks as many pixels as a global of its module says."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        found["pixels"] = found["pixels"].clone()
        found["pixels"].flatten()[: STRENGTH["masked"]] = 0
        return found


def part_of_masks() -> Any:
    """Return a part of a dataset, whose attribute lies one level down."""
    return Subset(Masks(), range(0, LENGTH, 2))


class MasksInStream(MarkedStream):
    """A stream with the attribute."""

    masked = 0

    def __iter__(self) -> Iterator[Any]:
        for number in turns():
            found = example(number)
            found["pixels"].flatten()[: self.masked] = 0
            yield found


def mask_more(dataset: Any, epoch: int) -> None:
    """Do as a curriculum does: mask more in each epoch."""
    dataset.masked = 2 * epoch


def mask_more_below(dataset: Any, epoch: int) -> None:
    """Mask more, in the dataset within the dataset."""
    dataset.dataset.masked = 2 * epoch


def mask_more_by_class(dataset: Any, epoch: int) -> None:
    """Mask more, by an attribute of the class."""
    type(dataset).masked = 2 * epoch


def mask_more_by_global(dataset: Any, epoch: int) -> None:
    """Mask more, by the global that the dataset reads."""
    type(dataset).__getitem__.__globals__["STRENGTH"]["masked"] = 2 * epoch


def relist(dataset: Any, epoch: int) -> None:
    """Replace the list of files."""
    dataset.listed = [(number + epoch) % LENGTH for number in range(LENGTH)]


def switch_transform(dataset: Any, epoch: int) -> None:
    """Stop flipping after the first epoch."""
    dataset.transform = torch.flip if epoch == 0 else torch.roll


def change_nothing(dataset: Any, epoch: int) -> None:
    """Set what is set already."""
    dataset.masked = 0


# What kept workers hold


class Caches(Marked):
    """Keeps what it has read: the second epoch comes out of memory; honest."""

    def __init__(self) -> None:
        self.cached: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.cached:
            time.sleep(0.005)
            self.cached[index] = example(index)
        return dict(self.cached[index])


class CachesLargely(Caches):
    """Keeps 4 MB for each example that it has read."""

    def __getitem__(self, index: int) -> Any:
        if index not in self.cached:
            self.cached[index] = np.full(1 << 22, index, np.uint8)
        return {**example(index), "first": int(self.cached[index][0])}


def caches_and_reshuffles() -> DataLoader[Any]:
    """Return a loader whose kept workers meet new ids in the second epoch."""
    dataset = CachesLargely()
    sampler: DistributedSampler[Any] = DistributedSampler(dataset, 1, 0, seed=3)
    return DataLoader(dataset, batch_size=8, sampler=sampler)


class AllowsOneReader(MarkedStream):
    """Raises where an epoch begins while another one is being read."""

    def __init__(self) -> None:
        self.is_read = False

    def __iter__(self) -> Iterator[Any]:
        if self.is_read:
            msg = "this stream is being read already"
            raise RuntimeError(msg)
        self.is_read = True
        for number in turns():
            yield example(number)
        self.is_read = False


class AllowsOneDraw(Sampler[int]):
    """Raises where its indices are drawn while they are being drawn already."""

    def __init__(self) -> None:
        self.is_drawn = False

    def __iter__(self) -> Iterator[int]:
        """Yield all indices."""
        if self.is_drawn:
            msg = "this sampler is being drawn from already"
            raise RuntimeError(msg)
        self.is_drawn = True
        try:
            yield from range(LENGTH)
        finally:
            self.is_drawn = False

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH


def allows_one_draw() -> DataLoader[Any]:
    """Return a loader whose sampler is drawn from once at a time."""
    return DataLoader(Marked(), batch_size=8, sampler=AllowsOneDraw())


class ArrivesInAnyOrder(MarkedStream):
    """Serves now this worker, now that one first; honest."""

    def __init__(self) -> None:
        self.epoch = 0

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        if info is not None:
            time.sleep(0.05 * ((info.id + self.epoch) % info.num_workers))
        self.epoch += 1
        return super().__iter__()


class SlowEndless(IterableDataset[Any]):
    """Has no end: each epoch is left early, with batches still being made; honest."""

    def __iter__(self) -> Iterator[Any]:
        for number in turns(None):
            time.sleep(0.003)
            yield example(number)


# Errors that are swallowed


class FailsOnce(Marked):
    """Raises for one example in a worker, at the first try only."""

    epochs_before = 0
    """How often a worker reads that example before it fails."""

    def __init__(self) -> None:
        self.reads = 0

    def __getitem__(self, index: int) -> Any:
        if index == 33 and in_worker():
            self.reads += 1
            if self.reads == self.epochs_before + 1:
                msg = "the store did not answer"
                raise ConnectionError(msg)
        return example(index)


class FailsOnceLater(FailsOnce):
    """Does so in the second epoch of a kept worker."""

    epochs_before = 1


class SkipsWhatFails(FailsOnce):
    """Fetches lists, and leaves out what raises."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return what could be read."""
        found = []
        for index in indices:
            try:
                found.append(self[index])
            except ConnectionError:
                continue
        return found


class SkipsListThatFails(FailsOnce):
    """Fetches lists, and gives the one before again where an example raises."""

    def __init__(self) -> None:
        super().__init__()
        self.before = [example(0)]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return the list, or that before."""
        with contextlib.suppress(ConnectionError):
            self.before = [self[index] for index in indices]
        return self.before


class StreamSkipsWhatFails(MarkedStream):
    """Streams on after an error in a worker: what was being read is lost."""

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, LENGTH, 8):
            numbers = [number for number in turns() if start <= number < start + 8]
            try:
                if in_worker() and 33 in numbers:
                    msg = "the shard did not open"
                    raise ConnectionError(msg)
                yield from map(example, numbers)
            except ConnectionError:
                continue
