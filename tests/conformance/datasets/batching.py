"""Samplers, lists of indices, and what is done with an index."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    WeightedRandomSampler,
)

from tests.conformance.canary import TEXT, example
from tests.conformance.marked import LENGTH, Marked, in_worker, turns

# Samplers


def lists() -> Iterator[list[int]]:
    """Yield lists of eight indices, once."""
    for start in range(0, LENGTH, 8):
        yield list(range(start, min(LENGTH, start + 8)))


def one_shot_batch_sampler() -> DataLoader[Any]:
    """Return a loader whose lists are used up after one epoch."""
    return DataLoader(Marked(), batch_sampler=lists())


def one_shot_sampler() -> DataLoader[Any]:
    """Return a loader whose indices are used up after one epoch."""
    return DataLoader(Marked(), batch_size=8, sampler=iter(range(LENGTH)))


class IsItsOwnIterator(Sampler[int]):
    """A sampler that goes on instead of beginning anew."""

    def __init__(self) -> None:
        self.at = -1

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH

    def __iter__(self) -> Iterator[int]:
        """Return itself."""
        return self

    def __next__(self) -> int:
        """Return the next index."""
        self.at += 1
        if self.at >= LENGTH:
            raise StopIteration
        return self.at


def sampler_that_goes_on() -> DataLoader[Any]:
    """Return a loader whose sampler never begins anew."""
    return DataLoader(Marked(), batch_size=8, sampler=IsItsOwnIterator())


def weighted() -> DataLoader[Any]:
    """Return a loader that draws with replacement, by weight; honest."""
    weights = [1.0 + index % 3 for index in range(LENGTH)]
    sampler = WeightedRandomSampler(
        weights, LENGTH, generator=torch.Generator().manual_seed(1)
    )
    return DataLoader(Marked(), batch_size=8, sampler=sampler)


def drawn_three_times_over() -> DataLoader[Any]:
    """Return a loader that draws more than there are, with replacement; honest."""
    sampler: RandomSampler = RandomSampler(Marked(), replacement=True, num_samples=300)
    return DataLoader(Marked(), batch_size=8, sampler=sampler)


class MakesUnique(Marked):
    """Fetches each index of a list once, however often it is asked for."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return examples of the distinct indices."""
        return [self[index] for index in dict.fromkeys(indices)]


def makes_unique() -> DataLoader[Any]:
    """Return a loader that asks for index 3 twice, and gets it once."""
    asked = [3, *range(LENGTH)]
    return DataLoader(MakesUnique(), batch_size=8, sampler=asked)


def one_rank(
    rank: int, shuffle: bool = False, drop_last: bool = False
) -> DataLoader[Any]:
    """Return the loader of one of four ranks: 104 places for 101 examples; honest."""
    sampler: DistributedSampler[Any] = DistributedSampler(
        Marked(), 4, rank, shuffle=shuffle, drop_last=drop_last
    )
    return DataLoader(Marked(), batch_size=8, sampler=sampler)


# Overridden and bypassed


class OverridesSubset(Subset[Any]):
    """Changes labels where one example is asked for; the loader asks for lists."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)  # type: ignore[no-untyped-call]
        return {**found, "label": found["label"] + 1000}


def overridden_subset() -> Any:
    """Return a part of a dataset, that changes labels."""
    return OverridesSubset(Marked(), range(50, 60))


def overridden_subset_in_loader() -> DataLoader[Any]:
    """Return a loader over it."""
    return DataLoader(OverridesSubset(Marked(), range(50, 60)), batch_size=4)


class FetchesLists(Marked):
    """Fetches a list at once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return a list of examples."""
        return [example(index) for index in indices]


class OverridesOneOfTwo(FetchesLists):
    """Changes labels where one example is asked for, and not in lists."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "label": index * 7 + 1000}


class OverridesPixels(FetchesLists):
    """Inverts pixels where one example is asked for, and not in lists."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        return {**found, "pixels": 255 - found["pixels"]}


class ReversesLists(Marked):
    """Fetches a list in the order of its file; honest: batches have no inner order."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return the examples, the largest index first."""
        return [example(index) for index in sorted(indices, reverse=True)]


class OverridesIndices(Subset[Any]):
    """Overrides both, as it ought to; honest."""

    def __getitem__(self, index: Any) -> Any:
        found = self.dataset[self.indices[index]]
        return {**found, "label": found["label"] + 1000}

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return a list of examples."""
        return [self[index] for index in indices]


def overridden_rightly() -> Any:
    """Return a part of a dataset, that changes labels in both ways."""
    return OverridesIndices(Marked(), range(LENGTH))


# Buffers that are used again


class RefillsTensor(IterableDataset[Any]):
    """Batches itself, into one tensor that is filled again while it is being sent."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the same tensor with other content."""
        ids = torch.empty(8, dtype=torch.long)
        for turn in turns(25):
            ids.copy_(torch.arange(turn * 8, turn * 8 + 8))
            yield {"id": ids, "label": ids * 7}


class RefillsArray(IterableDataset[Any]):
    """Batches itself, into one array that is filled again while it is being sent."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the same array with other content."""
        ids = np.empty(1 << 15, np.int64)
        for turn in turns(25):
            ids[:] = turn
            yield {"id": ids, "label": turn * 7}


class RefillsByIndex(Dataset[Any]):
    """Batches itself by index, into one tensor that is filled again."""

    def __init__(self) -> None:
        self.ids = torch.empty(8, dtype=torch.long)

    def __len__(self) -> int:
        return 25

    def __getitem__(self, index: int) -> Any:
        self.ids.copy_(torch.arange(index * 8, index * 8 + 8))
        return {"id": self.ids, "label": self.ids * 7}


class RefillsPixels(Marked):
    """Fills one tensor again for each example: a batch has the last one's pixels."""

    def __init__(self) -> None:
        self.pixels = torch.empty(1, 4, 4, dtype=torch.uint8)

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        return {**found, "pixels": self.pixels.copy_(found["pixels"])}


class RefillsArrayInStream(IterableDataset[Any]):
    """Fills one array again for each example of a stream."""

    def __iter__(self) -> Iterator[Any]:
        """Yield views of the same array."""
        held = np.empty((1, 4, 4), np.uint8)
        for number in turns():
            found = example(number)
            held[:] = found["pixels"].numpy()
            yield {**found, "pixels": torch.from_numpy(held)}


def refills(name: str) -> DataLoader[Any]:
    """Return a loader that does not batch, over one that refills its buffer."""
    makers: dict[str, Any] = {
        "tensor": RefillsTensor,
        "array": RefillsArray,
        "index": RefillsByIndex,
    }
    return DataLoader(makers[name](), batch_size=None)


class HandsOutItsOwn(Dataset[Any]):
    """Hands out its own tensors unbatched: whoever edits them edits the dataset."""

    def __init__(self) -> None:
        self.held = [example(index) for index in range(LENGTH)]

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return self.held[index]


def hands_out_its_own() -> DataLoader[Any]:
    """Return a loader that does not batch, over tensors that are kept."""
    return DataLoader(HandsOutItsOwn(), batch_size=None)


# Changed by reading


class AddsInPlace(HandsOutItsOwn):
    """Adds one to the kept pixels at each reading."""

    def __getitem__(self, index: int) -> Any:
        found = self.held[index]
        found["pixels"] += 1
        return dict(found)


class FlipsInPlace(HandsOutItsOwn):
    """Flips the kept pixels at each reading: every second one is right."""

    def __getitem__(self, index: int) -> Any:
        found = self.held[index]
        found["pixels"] = found["pixels"].flip(2)
        return dict(found)


class NormalizesInPlace(Dataset[Any]):
    """Scales the kept floats at each reading."""

    def __init__(self) -> None:
        self.held = torch.arange(1.0, LENGTH + 1)[:, None].repeat(1, 6)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        row = self.held[index]
        row.sub_(0.5).div_(2.0)
        return {"id": index, "label": index * 7, "row": row.clone(), "text": TEXT}


class RelabelsInPlace(HandsOutItsOwn):
    """Smooths the kept label at each reading."""

    def __getitem__(self, index: int) -> Any:
        found = self.held[index]
        found["label"] += 1
        return dict(found)


class ConsumesItself(HandsOutItsOwn):
    """Removes what it has given out: the rest moves up."""

    def __getitem__(self, index: int) -> Any:
        found = self.held[index % len(self.held)]
        if len(self.held) > 1:
            self.held.remove(found)
        return found


# Length


class ClaimsMore(Marked):
    """Says that it has 120 examples, and has 101."""

    def __init__(self) -> None:
        self.held = [example(index) for index in range(LENGTH)]

    def __len__(self) -> int:
        return LENGTH + 19

    def __getitem__(self, index: int) -> Any:
        return self.held[index]


class Shrinks(Marked):
    """Has one example fewer at each call of `len`."""

    def __init__(self) -> None:
        self.length = LENGTH

    def __len__(self) -> int:
        self.length = max(1, self.length - 1)
        return self.length


class GrowsAsRead(Marked):
    """Has one example more for each twenty that were read."""

    def __init__(self) -> None:
        self.reads = 0

    def __len__(self) -> int:
        return LENGTH + self.reads // 20

    def __getitem__(self, index: int) -> Any:
        self.reads += 1
        return example(index)


class HalvesInWorker(Marked):
    """Is half as long in a worker, and takes the index by that length."""

    def __len__(self) -> int:
        return 50 if in_worker() else LENGTH

    def __getitem__(self, index: int) -> Any:
        return example(index % len(self))


# Keys


class Keyed(Dataset[Any]):
    """Has its examples under names."""

    def __init__(self) -> None:
        self.held = {f"k{index}": example(index) for index in range(40)}

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, key: str) -> Any:
        return self.held[key]


def keyed() -> DataLoader[Any]:
    """Return a loader that asks by name; honest."""
    names = [f"k{index}" for index in range(40)]
    return DataLoader(Keyed(), batch_size=8, sampler=names)


class KeyedLiar(Keyed):
    """Gives another one for a name in a worker."""

    def __getitem__(self, key: str) -> Any:
        return self.held["k8" if key == "k7" and in_worker() else key]


def keyed_liar() -> DataLoader[Any]:
    """Return a loader that asks by name, and is lied to."""
    names = [f"k{index}" for index in range(40)]
    return DataLoader(KeyedLiar(), batch_size=8, sampler=names)


class ByPair(Marked):
    """Has its examples under pairs."""

    def __getitem__(self, index: Any) -> Any:
        return example(index[0] * 10 + index[1])


def by_pair() -> DataLoader[Any]:
    """Return a loader that asks by pairs."""
    pairs: Any = [(row, column) for row in range(10) for column in range(10)]
    return DataLoader(ByPair(), batch_size=8, sampler=pairs)


class Wraps(Marked):
    """Pairs each example with the one before it, and the first with the last."""

    def __init__(self) -> None:
        self.held = [example(index) for index in range(LENGTH)]

    def __getitem__(self, index: int) -> Any:
        return {**self.held[index], "before": self.held[index - 1]["pixels"]}


def off_by_one() -> DataLoader[Any]:
    """Return a loader whose sampler begins at -1."""
    return DataLoader(Wraps(), batch_size=8, sampler=range(-1, LENGTH - 1))
