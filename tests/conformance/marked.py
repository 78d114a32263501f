"""What the conformance datasets are built on: marked examples, whole and by worker.

No fault lives here: each dataset adds its own.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import Dataset, IterableDataset, get_worker_info

from tests.conformance.canary import example

LENGTH = 101
"""A prime: no batch size and no number of workers divides it."""


class Marked(Dataset[Any]):
    """Marked examples by index; honest."""

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        """Return the marked example of an id."""
        return example(index)


class MarkedStream(IterableDataset[Any]):
    """Marked examples, dealt to the workers in turns; honest."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the marked examples of this process."""
        return map(example, turns())


def turns(length: int | None = LENGTH) -> Iterable[int]:
    """Return the ids of this process, dealt in turns; None: they never end."""
    info = get_worker_info()
    first, step = (0, 1) if info is None else (info.id, info.num_workers)
    return itertools.islice(itertools.count(), first, length, step)


def in_worker() -> bool:
    """Whether this process is a worker."""
    return get_worker_info() is not None


UNLUCKY = 33
"""The example at which most faults strike."""


def strikes(index: int) -> bool:
    """Whether a fault is due: at one example, in workers only."""
    return index == UNLUCKY and in_worker()
