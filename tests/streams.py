"""Honest streams, and liars among them, each named for its lie.

Whole ones have 101 examples (a prime: no batch size and no number of workers divides
it); of an endless one the first 200 or so are read. An example is a small tensor that
follows from its number, and a label. A liar lies in workers only, unless it says else.
"""

import itertools
import multiprocessing
import random
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

LENGTH = 101


def example(number: int) -> Any:
    """Return what follows from the number alone."""
    return torch.full((3, 4), float(number)), number % 7


def turns(length: int | None = LENGTH) -> Iterable[int]:
    """Return the numbers of this process, dealt in turns; None: they never end."""
    info = get_worker_info()
    first, step = (0, 1) if info is None else (info.id, info.num_workers)
    return itertools.islice(itertools.count(), first, length, step)


def in_worker() -> bool:
    """Whether this is a worker."""
    return get_worker_info() is not None


# Honest


class InTurns(IterableDataset[Any]):
    """Deals its examples to the workers in turns."""

    length: int | None = LENGTH

    def _numbers(self) -> Iterable[int]:
        """Return the numbers of this process."""
        return turns(self.length)

    def __iter__(self) -> Iterator[Any]:
        return (example(number) for number in self._numbers())


class InRanges(InTurns):
    """Gives each worker a range of its own."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        if info is None:
            return range(LENGTH)
        per = -(-LENGTH // info.num_workers)
        return range(info.id * per, min(LENGTH, info.id * per + per))


class Shuffles(InTurns):
    """Shuffles what a process reads, anew in each pass, and adds noise."""

    def __iter__(self) -> Iterator[Any]:
        numbers = list(self._numbers())
        random.shuffle(numbers)
        return ((*example(number), torch.rand(2)) for number in numbers)


class NeedsWorker(InTurns):
    """Asks for its worker without a look at None."""

    def _numbers(self) -> Iterable[int]:
        info: Any = get_worker_info()
        return range(info.id, LENGTH, info.num_workers)


class HasThreeShards(InTurns):
    """Deals three shards to the workers, however many there are."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        shards = [range(40), range(40, 80), range(80, LENGTH)]
        return itertools.chain.from_iterable(shards[first::step])


class HasOneShard(InTurns):
    """Leaves everything to the first worker."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        return range(LENGTH if info is None or info.id == 0 else 0)


class DeclaresHalf(InTurns):
    """Says that it has 50 examples."""

    def __len__(self) -> int:
        return 50


class Named(InTurns):
    """Has a text that names each example, and pixels that are drawn anew."""

    def __iter__(self) -> Iterator[Any]:
        return (
            {"key": f"a/{number}.jpg", "pixels": torch.rand(3), "label": number % 7}
            for number in self._numbers()
        )


class Endless(InTurns):
    """Deals its examples in turns, for ever."""

    length = None


class EndlessCycle(InTurns):
    """Begins anew for ever."""

    length = None

    def __iter__(self) -> Iterator[Any]:
        return (example(number % LENGTH) for number in self._numbers())


class EndlessBuffer(InTurns):
    """Goes through a shuffle buffer, for ever."""

    length = None

    def __iter__(self) -> Iterator[Any]:
        held: list[int] = []
        for number in self._numbers():
            held.append(number)
            if len(held) > 20:
                yield example(held.pop(random.randrange(len(held))))  # noqa: S311


class EndlessByWorkerSeed(InTurns):
    """Shuffles in workers only, by the seed that each of them is given."""

    length = None

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        numbers = iter(self._numbers())
        rng = random.Random(None if info is None else info.seed)  # noqa: S311
        while True:
            window = list(itertools.islice(numbers, 32))
            if info is not None:
                rng.shuffle(window)
            yield from map(example, window)


class EndlessNoise(IterableDataset[Any]):
    """Makes examples up, for ever."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield torch.rand(4), int(torch.randint(7, ()))


# Liars


class Unsharded(InTurns):
    """Reads everything in every worker."""

    def _numbers(self) -> Iterable[int]:
        return range(LENGTH)


class LosesRemainder(InTurns):
    """Divides its length by the workers, and forgets the rest."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        if info is None:
            return range(LENGTH)
        per = LENGTH // info.num_workers
        return range(info.id * per, info.id * per + per)


class Overlaps(InRanges):
    """Reads the first example of the next worker as well."""

    def _numbers(self) -> Iterable[int]:
        mine = super()._numbers()
        numbers = list(mine)
        return range(numbers[0], min(LENGTH, numbers[-1] + 2))


class SkipsOne(InTurns):
    """Skips example 33 in a worker."""

    def _numbers(self) -> Iterable[int]:
        return (n for n in super()._numbers() if not (in_worker() and n == 33))


class NamedSkipsOne(Named):
    """Skips the example that is named after 33 in a worker."""

    def _numbers(self) -> Iterable[int]:
        return (n for n in super()._numbers() if not (in_worker() and n == 33))


class AltersOne(InTurns):
    """Changes one number of example 33 in a worker."""

    def __iter__(self) -> Iterator[Any]:
        for number in self._numbers():
            pixels, label = example(number)
            if number == 33 and in_worker():
                pixels[0, 0] += 1
            yield pixels, label


class WrongDtype(InTurns):
    """Gives float64 in a worker."""

    def __iter__(self) -> Iterator[Any]:
        for number in self._numbers():
            pixels, label = example(number)
            yield pixels.double() if in_worker() else pixels, label


class ReusesBuffer(InTurns):
    """Fills one tensor again for each example: a batch has its last one only."""

    def __iter__(self) -> Iterator[Any]:
        pixels = torch.empty(3, 4)
        for number in self._numbers():
            yield pixels.fill_(number), number % 7


class NothingInWorkers(InTurns):
    """Cannot open its file in a worker, and says nothing of it."""

    def _numbers(self) -> Iterable[int]:
        return () if in_worker() else super()._numbers()


class GoesOnInSecondEpoch(InTurns):
    """Keeps its iterator in a worker, where it is used up."""

    def __init__(self) -> None:
        self.held: Iterator[int] | None = None

    def _numbers(self) -> Iterable[int]:
        if not in_worker():
            return super()._numbers()
        if self.held is None:
            self.held = iter(super()._numbers())
        return self.held


class FailsInSecondEpoch(InTurns):
    """Raises in `__iter__` when a kept worker begins its second epoch."""

    def __init__(self) -> None:
        self.epochs = 0

    def _numbers(self) -> Iterable[int]:
        self.epochs += in_worker()
        if self.epochs > 1:
            raise ValueError("the index file vanished")
        return super()._numbers()


class IndexesShards(InTurns):
    """Takes the shard of its own number, of which there are three."""

    def _numbers(self) -> Iterable[int]:
        shards = [range(40), range(40, 80), range(80, LENGTH)]
        info = get_worker_info()
        return range(LENGTH) if info is None else shards[info.id]


class EndlessUnsharded(InTurns):
    """Reads everything in every worker, for ever."""

    def _numbers(self) -> Iterable[int]:
        return itertools.count()


class EndlessCycleUnsharded(EndlessCycle):
    """Begins anew for ever, in every worker."""

    def _numbers(self) -> Iterable[int]:
        return itertools.count()


class EndlessBufferUnsharded(EndlessBuffer):
    """Goes through a shuffle buffer for ever, in every worker."""

    def _numbers(self) -> Iterable[int]:
        return itertools.count()


class EndlessSkipsOne(Endless):
    """Skips example 33 once it runs in a process of PyTorch's."""

    def _numbers(self) -> Iterable[int]:
        is_real = multiprocessing.parent_process() is not None
        return (n for n in super()._numbers() if not (is_real and n == 33))


class EndlessSplitTwice(Endless):
    """Splits in turns, and each part in turns again."""

    def _numbers(self) -> Iterable[int]:
        info = get_worker_info()
        mine = super()._numbers()
        if info is None:
            return mine
        return itertools.islice(mine, info.id, None, info.num_workers)


class EndlessGoesOn(Endless):
    """Goes on in a kept worker's second epoch instead of beginning anew."""

    def __init__(self) -> None:
        self.held: Iterator[int] | None = None

    def _numbers(self) -> Iterable[int]:
        if not in_worker():
            return super()._numbers()
        if self.held is None:
            self.held = iter(super()._numbers())
        return self.held


class EndsInWorkers(Endless):
    """Has no end in one process, and one after 20 examples in a worker."""

    def _numbers(self) -> Iterable[int]:
        return itertools.islice(super()._numbers(), 20 if in_worker() else None)


# At fault in one process as well


class IsItsOwnIterator(IterableDataset[Any]):
    """Never begins anew."""

    def __init__(self) -> None:
        self.at = -1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.at += 1
        if self.at >= LENGTH:
            raise StopIteration
        return example(self.at)


class Breaks(InTurns):
    """Raises at example 33, in any process."""

    def _numbers(self) -> Iterable[int]:
        for number in super()._numbers():
            if number == 33:
                raise OSError("the shard is truncated")
            yield number


def dropping_in_workers() -> DataLoader[Any]:
    """Return a loader that drops 25 examples in each of four workers."""
    return DataLoader(InTurns(), batch_size=64, drop_last=True)


def dropping_the_rest() -> DataLoader[Any]:
    """Return a loader that drops five examples, as one process does."""
    return DataLoader(InTurns(), batch_size=8, drop_last=True)


def split_by_init(worker: int) -> None:
    """Give the dataset of a worker its part, where the worker starts."""
    info: Any = get_worker_info()
    info.dataset.first, info.dataset.step = worker, info.num_workers


class SplitAtStart(InTurns):
    """Is split by worker_init_fn."""

    first, step = 0, 1

    def _numbers(self) -> Iterable[int]:
        return itertools.islice(itertools.count(), self.first, self.length, self.step)


class EndlessSplitAtStart(SplitAtStart):
    """Is split by worker_init_fn, and never ends."""

    length = None


def split_at_start(is_endless: bool = False) -> DataLoader[Any]:
    """Return a loader whose worker_init_fn splits the stream."""
    dataset = EndlessSplitAtStart() if is_endless else SplitAtStart()
    return DataLoader(dataset, batch_size=8, worker_init_fn=split_by_init)
