"""Streams that are right, and easy to accuse: each deals its examples without fault."""

import itertools
import random
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, get_worker_info

from tests.conformance.canary import example
from tests.conformance.datasets.honest import RECORD, of_record, records
from tests.conformance.marked import LENGTH, MarkedStream, turns

if TYPE_CHECKING:
    from pathlib import Path


class InRanges(MarkedStream):
    """Gives each worker a range of its own; the last one has fewer."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        if info is None:
            return range(LENGTH)
        per = -(-LENGTH // info.num_workers)
        return range(info.id * per, min(LENGTH, info.id * per + per))

    def __iter__(self) -> Iterator[Any]:
        return map(example, self._numbers())


class ByShards(InRanges):
    """Deals seven shards of different sizes to the workers."""

    def _numbers(self) -> Iterable[int]:
        bounds = [0, 1, 20, 21, 50, 77, 80, LENGTH]
        shards = [range(*pair) for pair in itertools.pairwise(bounds)]
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return itertools.chain.from_iterable(shards[first::step])


class KnowsItsLength(MarkedStream):
    """Says rightly how long it is."""

    def __len__(self) -> int:
        return LENGTH


class NeedsWorker(MarkedStream):
    """Asks for its worker without a look at None."""

    def __iter__(self) -> Iterator[Any]:
        info: Any = get_worker_info()
        return map(example, range(info.id, LENGTH, info.num_workers))


class Shuffled(MarkedStream):
    """Shuffles what a worker reads, anew in each epoch."""

    def __iter__(self) -> Iterator[Any]:
        numbers = list(turns())
        random.shuffle(numbers)
        return map(example, numbers)


class ShuffledFirst(MarkedStream):
    """Shuffles all by the seed that the workers have in common, then deals."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        seed = 0 if info is None else info.seed - info.id
        order = list(range(LENGTH))
        random.Random(seed).shuffle(order)  # noqa: S311  # an order, no secret
        mine = order if info is None else order[info.id :: info.num_workers]
        return map(example, mine)


def buffered(numbers: Iterable[int], size: int) -> Iterator[int]:
    """Yield numbers through a shuffle buffer."""
    held: list[int] = []
    for number in numbers:
        held.append(number)
        if len(held) > size:
            yield held.pop(random.randrange(len(held)))  # noqa: S311
    random.shuffle(held)
    yield from held


class Buffered(MarkedStream):
    """Goes through a shuffle buffer."""

    def __iter__(self) -> Iterator[Any]:
        return map(example, buffered(turns(), 20))


class Endless(MarkedStream):
    """Deals its examples for ever."""

    def __iter__(self) -> Iterator[Any]:
        return map(example, turns(None))


class EndlessBuffered(MarkedStream):
    """Goes through a shuffle buffer, for ever."""

    def __iter__(self) -> Iterator[Any]:
        return map(example, buffered(turns(None), 20))


class EndlessCycle(MarkedStream):
    """Begins anew for ever."""

    def __iter__(self) -> Iterator[Any]:
        return (example(number % LENGTH) for number in turns(None))


class Augmented(MarkedStream):
    """Adds noise to each example."""

    def __iter__(self) -> Iterator[Any]:
        for number in turns():
            yield {**example(number), "noise": torch.rand(3)}


class HasDuplicates(MarkedStream):
    """Has each example twice, alike to the bit."""

    def __iter__(self) -> Iterator[Any]:
        return (example(number // 2) for number in turns())


class ReadsShards(MarkedStream):
    """Opens the shards of its worker, one after the other."""

    def __init__(self, folder: str) -> None:
        self.paths: list[tuple[int, Path]] = [
            (start, records(folder, range(start, min(LENGTH, start + 9)), f"s{start}"))
            for start in range(0, LENGTH, 9)
        ]

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for start, path in self.paths[first::step]:
            with path.open("rb") as file:
                for number in itertools.count(start):
                    data = file.read(RECORD)
                    if not data:
                        break
                    yield of_record(number, data)


class SharesItsEpoch(MarkedStream):
    """Streams another half in each epoch, which it keeps in shared memory."""

    def __init__(self) -> None:
        epoch = torch.zeros((), dtype=torch.long)
        self.epoch: torch.Tensor = epoch.share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, for all processes."""
        self.epoch.fill_(epoch)

    def __iter__(self) -> Iterator[Any]:
        half = int(self.epoch) % 2
        return map(example, (n for n in turns() if n // 8 % 2 == half))


class SlowToStart(MarkedStream):
    """Takes a second until its first example."""

    def __iter__(self) -> Iterator[Any]:
        time.sleep(1)
        return super().__iter__()


class Batches(IterableDataset[Any]):
    """Batches itself, a new batch each time."""

    def __iter__(self) -> Iterator[Any]:
        for turn in turns(13):
            numbers = range(turn * 8, min(LENGTH, turn * 8 + 8))
            yield torch.utils.data.default_collate([example(n) for n in numbers])


def own_batches() -> DataLoader[Any]:
    """Return a loader that leaves batches as they are."""
    return DataLoader(Batches(), batch_size=None)


def chained() -> Any:
    """Return two streams, one after the other."""
    return ChainDataset([InRanges(), Later()])


class Later(MarkedStream):
    """Streams ids from 101 on."""

    def __iter__(self) -> Iterator[Any]:
        return (example(LENGTH + number) for number in turns(40))


def split_by_init(worker: int) -> None:
    """Give the dataset of a worker its part, where the worker starts."""
    info: Any = get_worker_info()
    info.dataset.first, info.dataset.step = worker, info.num_workers


class SplitAtStart(MarkedStream):
    """Is split by worker_init_fn."""

    first, step = 0, 1

    def __iter__(self) -> Iterator[Any]:
        return map(example, range(self.first, LENGTH, self.step))


def split_at_start() -> DataLoader[Any]:
    """Return a loader whose worker_init_fn splits the stream."""
    return DataLoader(SplitAtStart(), batch_size=8, worker_init_fn=split_by_init)
