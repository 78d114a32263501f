"""Streams and how they are split: an honest one, and those that lose, repeat or end."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from tests.conformance.canary import example

LENGTH = 101
SHARDS = (range(40), range(40, 80), range(80, LENGTH))


def share() -> tuple[int, int]:
    """Return number and count of the workers; 0 of 1 where there are none."""
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class Split(IterableDataset[Any]):
    """Honest: deals its examples to the workers in turns."""

    def __iter__(self) -> Iterator[Any]:
        return map(example, self.numbers())

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        first, step = share()
        return range(first, LENGTH, step)


class Unsplit(Split):
    """Reads everything in every worker."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        return range(LENGTH)


class LosesRemainder(Split):
    """Divides its length by the workers, and forgets the rest."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        worker, workers = share()
        per = LENGTH // workers
        return range(worker * per, worker * per + per)


class RepeatsEdges(Split):
    """Rounds up what each worker reads, and begins the next one's too early."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        worker, workers = share()
        first = worker * LENGTH // workers
        return range(first, min(LENGTH, first + -(-LENGTH // workers) + 1))


class NeedsWorker(Split):
    """Asks for its worker without a look at None."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        info: Any = get_worker_info()
        return range(info.id, LENGTH, info.num_workers)


class NeedsWorkerUnsplit(NeedsWorker):
    """Asks for its worker, and gives each of them everything."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        info: Any = get_worker_info()
        return range(LENGTH if info.id >= 0 else 0)


class IsItsOwnIterator(IterableDataset[Any]):
    """Never begins anew.

    Args:
        in_worker_only: whether it does so where there are no workers.
    """

    def __init__(self, in_worker_only: bool = False) -> None:
        self.in_worker_only = in_worker_only
        self.at = -1

    def __iter__(self) -> Iterator[Any]:
        if self.in_worker_only and get_worker_info() is None:
            self.at = -1
        return self

    def __next__(self) -> Any:
        first, step = share()
        self.at = first if self.at < 0 else self.at + step
        if self.at >= LENGTH:
            raise StopIteration
        return example(self.at)


class Declares(Split):
    """Says that it has so many examples.

    Args:
        length: what it says.
    """

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length


class DeclaresUnsplit(Declares):
    """Reads everything in every worker, and has the right length all the same."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        return range(LENGTH)


class DealsShards(Split):
    """Honest: deals three shards, of which there may be too few."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        worker, workers = share()
        return itertools.chain.from_iterable(SHARDS[worker::workers])


class TakesShardByNumber(Split):
    """Takes the shard of its worker's number, of which there are three."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        worker, workers = share()
        return range(LENGTH) if workers == 1 else SHARDS[worker]


class Endless(Split):
    """Honest: never ends."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        first, step = share()
        return itertools.count(first, step)


class EndlessUnsplit(Split):
    """Never ends, and is the same in every worker."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        return itertools.count()


class EndsNever(Split):
    """Honest: begins its 101 examples again for ever."""

    def numbers(self) -> Iterable[int]:
        """Return the ids of this process."""
        return itertools.cycle(super().numbers())


class FailsInSecondEpoch(Split):
    """Raises in `__iter__` where a worker begins its second epoch."""

    def __init__(self) -> None:
        self.epochs = 0

    def __iter__(self) -> Iterator[Any]:
        self.epochs += get_worker_info() is not None
        if self.epochs > 1:
            msg = "the index file vanished"
            raise ValueError(msg)
        return super().__iter__()


def dropping(batch_size: int) -> DataLoader[Any]:
    """Return a loader in which each worker drops its incomplete batch."""
    return DataLoader(Split(), batch_size=batch_size, drop_last=True)
