"""The faultless dataset that many of the conformance datasets spoil in one way each."""

from typing import Any

from torch.utils.data import Dataset, get_worker_info

from tests.conformance.canary import example

LENGTH = 101
"""A prime: no batch size and no number of workers divides it."""

UNLUCKY = 33
"""The example at which most faults strike."""


class Honest(Dataset[Any]):
    """Marked examples that follow from the index alone."""

    def __len__(self) -> int:
        """Return the length of an epoch."""
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        """Return the example of an index."""
        return example(index)


def in_worker() -> bool:
    """Whether this is a worker."""
    return get_worker_info() is not None


def strikes(index: int) -> bool:
    """Whether a fault is due: at one example, in workers only."""
    return index == UNLUCKY and in_worker()
