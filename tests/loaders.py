"""Loaders whose batches are made in every form that DataLoader knows."""

import random
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Sampler,
    WeightedRandomSampler,
    get_worker_info,
)

from tests.datasets import LENGTH, Honest


class UnevenLists(Sampler[list[int]]):
    """Lists of 1 to 9 indices, without a length of its own."""

    def __iter__(self) -> Iterator[list[int]]:
        """Return the same lists each time."""
        rng = random.Random(0)  # noqa: S311  # sizes, no secret
        first = 0
        while first < LENGTH:
            size = rng.randint(1, 9)
            yield list(range(first, min(LENGTH, first + size)))
            first += size


class Keyed(Dataset[Any]):
    """Examples under names instead of numbers."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, key: str) -> Any:
        return key, int(key[1:])


class Ragged(Dataset[Any]):
    """Examples of different lengths."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.ones(index % 5 + 1) * index, index % 7


class Batches(Dataset[Any]):
    """A dataset that batches itself."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> Any:
        ids = torch.arange(index * 8, index * 8 + 8)
        return ids, ids % 7


def _turns() -> range:
    info = get_worker_info()
    if info is None:
        return range(20)
    return range(info.id, 20, info.num_workers)


class BatchStream(IterableDataset[Any]):
    """A stream that batches itself."""

    def __iter__(self) -> Iterator[Any]:
        """Yield this worker's batches."""
        return (Batches()[turn] for turn in _turns())


class ReusedBuffer(IterableDataset[Any]):
    """A stream that fills one buffer again and again, while it is being sent."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the same tensor with other content."""
        ids = torch.empty(8, dtype=torch.long)
        for turn in _turns():
            ids.copy_(torch.arange(turn * 8, turn * 8 + 8))
            yield ids, ids * 7


def padded(examples: list[Any]) -> Any:
    """Pad to the longest, rename the keys, add a mask."""
    longest = max(len(values) for values, _ in examples)
    rows = [torch.nn.functional.pad(v, (0, longest - len(v))) for v, _ in examples]
    return {
        "inputs": torch.stack(rows),
        "lengths": torch.tensor([len(values) for values, _ in examples]),
        "targets": torch.tensor([label for _, label in examples]),
    }


def converting(examples: list[Any]) -> Any:
    """Convert every field, and do so otherwise in a worker."""
    pixels, labels = torch.utils.data.default_collate(examples)
    factor = 2.0 if get_worker_info() is None else 3.0
    return pixels * factor + 1, labels.float() / factor


def converting_loader() -> DataLoader[Any]:
    """Return a loader whose collate_fn depends on the process."""
    return DataLoader(Honest(), batch_size=8, collate_fn=converting)


def uneven_lists() -> DataLoader[Any]:
    """Return a loader with a batch_sampler of its own."""
    return DataLoader(Honest(), batch_sampler=UnevenLists())


def one_shot_lists() -> DataLoader[Any]:
    """Return a loader whose batch_sampler is used up after one pass."""
    lists = (list(range(first, first + 8)) for first in range(0, 96, 8))
    return DataLoader(Honest(), batch_sampler=lists)


def single_examples() -> DataLoader[Any]:
    """Return a loader that does not batch."""
    return DataLoader(Honest(), batch_size=None, shuffle=True)


def own_batches() -> DataLoader[Any]:
    """Return a loader over a dataset that batches itself."""
    return DataLoader(Batches(), batch_size=None)


def streamed_batches() -> DataLoader[Any]:
    """Return a loader over a stream that batches itself."""
    return DataLoader(BatchStream(), batch_size=None)


def reused_buffer() -> DataLoader[Any]:
    """Return a loader whose batches are overwritten on their way."""
    return DataLoader(ReusedBuffer(), batch_size=None)


def weighted() -> DataLoader[Any]:
    """Return a loader that samples with replacement."""
    sampler = WeightedRandomSampler([1.0] * LENGTH, LENGTH)
    return DataLoader(Honest(), batch_size=8, sampler=sampler)


def keyed() -> DataLoader[Any]:
    """Return a loader whose ids are texts."""
    return DataLoader(Keyed(), batch_size=8, sampler=[f"k{n}" for n in range(40)])


def one_rank_of_four() -> DataLoader[Any]:
    """Return the loader of one rank, whose sampler pads to a multiple of four."""
    sampler: DistributedSampler[Any] = DistributedSampler(Honest(), 4, 1)
    return DataLoader(Honest(), batch_size=8, sampler=sampler)


def out_of_order() -> DataLoader[Any]:
    """Return a loader that hands out batches as they come."""
    return DataLoader(Honest(), batch_size=8, in_order=False)


def padding() -> DataLoader[Any]:
    """Return a loader whose collate_fn pads, masks and renames."""
    return DataLoader(Ragged(), batch_size=8, collate_fn=padded)


def as_lists() -> DataLoader[Any]:
    """Return a loader whose collate_fn does not stack."""
    return DataLoader(Ragged(), batch_size=8, collate_fn=list)


def dropping_last() -> DataLoader[Any]:
    """Return a loader that leaves 5 of 101 examples out."""
    return DataLoader(Honest(), batch_size=8, shuffle=True, drop_last=True)
