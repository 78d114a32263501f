"""Small datasets for runs with little: honest ones, a large one, one that warns."""

import ctypes
import warnings
from typing import Any

import torch
from torch.utils.data import Dataset

LENGTH = 24

LARGE_BYTES = 4 << 20

OWN_WARNING = "the index is older than the data"


class Small(Dataset[Any]):
    """A few numbers and a label, which follow from the index."""

    def __len__(self) -> int:
        """Return three batches' worth."""
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        """Return an example of 12 bytes."""
        return torch.full((3,), float(index)), index % 5


class Large(Small):
    """Examples of 4 MiB: a batch of eight takes half of a `/dev/shm` of 64 MiB."""

    def __getitem__(self, index: int) -> Any:
        """Return an example that follows from the index."""
        return torch.full((LARGE_BYTES,), index, dtype=torch.uint8), index % 5


class Asserts(Small):
    """Has an assert that one example breaks, and `python -O` does without."""

    def __getitem__(self, index: int) -> Any:
        """Return an example."""
        assert index != 5, "the index is taken"
        return super().__getitem__(index)


class Crowded(Small):
    """Holds 1,100 files open."""

    def __init__(self) -> None:
        self.files = [open(__file__, "rb") for _ in range(1100)]  # noqa: PTH123, SIM115


class Secretive(Small):
    """Makes a process that nobody may look into, as a Python with setcap is."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE


class Warns(Small):
    """Says something itself whenever it reads the first example."""

    def __getitem__(self, index: int) -> Any:
        """Return an example, with a warning of its own."""
        if index == 0:
            warnings.warn(OWN_WARNING, UserWarning, stacklevel=1)
        return super().__getitem__(index)
