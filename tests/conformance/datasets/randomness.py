"""Random fields: drawn from generators that workers share, clone, or seed alike.

Ids, labels and texts are fixed; only the field `noise` is random.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from tests.conformance.canary import example
from tests.conformance.marked import LENGTH, Marked, MarkedStream, turns

FLOATS = 1 << 18
"""Enough numbers that torch would divide a sum of them among its threads."""


class Noisy(Marked):
    """Adds noise to each example; honest where `noise` is."""

    def noise(self) -> torch.Tensor:
        """Return the random field of one example."""
        return torch.rand(4)

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "noise": self.noise()}


# A generator of its own


class OwnNumpyGenerator(Noisy):
    """Draws from a generator of NumPy's, made before the workers start."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def noise(self) -> torch.Tensor:
        """Return numbers that each worker has a copy of."""
        return torch.from_numpy(self.generator.random(4))


class OwnTorchGenerator(Noisy):
    """Draws from a generator of torch's, made before the workers start."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def noise(self) -> torch.Tensor:
        """Return numbers that each worker has a copy of."""
        return torch.rand(4, generator=self.generator)


class Jitters:
    """A transform with a generator of its own."""

    def __init__(self) -> None:
        self.random = random.Random(0)  # noqa: S311  # noise, no secret

    def __call__(self) -> torch.Tensor:
        """Return the next numbers."""
        return torch.tensor([self.random.random() for _ in range(4)])


class OwnGeneratorInTransform(Noisy):
    """Draws from a generator of Python's, two levels down in a transform."""

    def __init__(self) -> None:
        self.transforms = {"train": [Jitters()]}

    def noise(self) -> torch.Tensor:
        """Return numbers that each worker has a copy of."""
        found: torch.Tensor = self.transforms["train"][0]()
        return found


GENERATOR = np.random.default_rng(0)


class GeneratorOfModule(Noisy):
    """Draws from a generator that its module makes when it is imported."""

    def noise(self) -> torch.Tensor:
        """Return numbers that each worker has a copy of, or makes for itself alike."""
        return torch.from_numpy(GENERATOR.random(4))


class StreamWithOwnGenerator(MarkedStream):
    """Streams, with noise from a generator made before the workers start."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __iter__(self) -> Iterator[Any]:
        for number in turns():
            yield {
                **example(number),
                "noise": torch.from_numpy(self.generator.random(4)),
            }


class OwnGeneratorInLists(OwnNumpyGenerator):
    """Draws, for each list of indices, from a generator made before the workers."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return a list of examples."""
        return [self[index] for index in indices]


def lists_with_own_generator() -> DataLoader[Any]:
    """Return a loader with lists of its own, over a dataset with its own generator."""
    lists = [
        list(range(start, min(LENGTH, start + 8))) for start in range(0, LENGTH, 8)
    ]
    return DataLoader(OwnNumpyGenerator(), batch_sampler=lists)


def singly_with_own_generator() -> DataLoader[Any]:
    """Return a loader that does not batch, over a dataset with its own generator."""
    return DataLoader(OwnNumpyGenerator(), batch_size=None, shuffle=True)


# Seeded alike


def seed_all_alike(_worker: int) -> None:
    """Seed every worker with the same number."""
    np.random.seed(0)  # what trainers do


def seed_by_worker(worker: int) -> None:
    """Seed each worker with its own number, in every epoch the same."""
    np.random.seed(worker)  # what trainers do


def seed_rightly(_worker: int) -> None:
    """Seed each worker as the documentation has it."""
    info: Any = get_worker_info()
    np.random.seed(info.seed % 2**32)  # what trainers do


class GlobalNumpy(Noisy):
    """Draws from the global state of NumPy; honest since workers seed it."""

    def noise(self) -> torch.Tensor:
        """Return numbers of the global state."""
        return torch.from_numpy(np.random.rand(4))  # what datasets do


class GlobalPython(Noisy):
    """Draws from the global state of `random`; honest since workers seed it."""

    def noise(self) -> torch.Tensor:
        """Return numbers of the global state."""
        return torch.tensor([random.random() for _ in range(4)])  # noqa: S311


def seeded(init: Any) -> DataLoader[Any]:
    """Return a loader with a worker_init_fn."""
    return DataLoader(GlobalNumpy(), batch_size=8, shuffle=True, worker_init_fn=init)


def seeded_alike() -> DataLoader[Any]:
    """Return a loader that gives all workers one seed."""
    return seeded(seed_all_alike)


def seeded_by_worker() -> DataLoader[Any]:
    """Return a loader that gives each worker its seed again in each epoch."""
    return seeded(seed_by_worker)


def seeded_rightly() -> DataLoader[Any]:
    """Return a loader that seeds from the worker's own seed; honest."""
    return seeded(seed_rightly)


class SeedsInGetitem(Noisy):
    """Seeds torch at each reading: the noise is always the same, so it is fixed."""

    def noise(self) -> torch.Tensor:
        """Return numbers that never change."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return torch.rand(4)


class RemakesGenerator(Noisy):
    """Makes its generator in each worker, with the same seed each time."""

    def __init__(self) -> None:
        self.generator: Any = None

    def noise(self) -> torch.Tensor:
        """Return numbers that are the same in all workers."""
        if self.generator is None:
            self.generator = np.random.default_rng(0)
        return torch.from_numpy(self.generator.random(4))


# Order


def shuffled_without_generator() -> DataLoader[Any]:
    """Return a shuffling loader over a dataset that draws from the same state."""
    return DataLoader(Noisy(), batch_size=8, shuffle=True)


class DrawsAndDiscards(Marked):
    """Draws a number that it does not use; honest."""

    def __getitem__(self, index: int) -> Any:
        torch.rand(1)
        return example(index)


def shuffled_and_drawing() -> DataLoader[Any]:
    """Return a shuffling loader over a dataset that moves the state it draws from."""
    return DataLoader(DrawsAndDiscards(), batch_size=8, shuffle=True)


def shuffled_dropping_last() -> DataLoader[Any]:
    """Return a loader that leaves out five examples, others each time."""
    return DataLoader(Marked(), batch_size=8, shuffle=True, drop_last=True)


def shuffled_dropping_last_seeded() -> DataLoader[Any]:
    """Return a loader that leaves out five examples, with a generator of its own."""
    return DataLoader(
        Marked(),
        batch_size=8,
        shuffle=True,
        drop_last=True,
        generator=torch.Generator().manual_seed(4),
    )


# Threads


class Sums(Dataset[Any]):
    """Sums many floats: the last bits depend on the number of threads; honest."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        generator = torch.Generator().manual_seed(index)
        values = torch.randn(FLOATS, generator=generator) * 1e3
        return {**example(index), "sum": values.sum(), "norm": values.norm()}


class Convolves(Dataset[Any]):
    """Convolves and multiplies: what libraries divide among threads; honest."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(1, 3, 64, 64, generator=generator)
        kernel = torch.randn(8, 3, 5, 5, generator=generator)
        found = torch.nn.functional.conv2d(image, kernel)
        product = image[0, 0] @ image[0, 1]
        return {**example(index), "features": found[0, :, 0], "product": product[0]}


def use_two_threads(_worker: int) -> None:
    """Give a worker two threads, as large transforms want."""
    torch.set_num_threads(2)


def sums_in_threads() -> DataLoader[Any]:
    """Return a loader whose workers sum in two threads; honest to the last bits."""
    return DataLoader(Sums(), batch_size=8, worker_init_fn=use_two_threads)
