"""What goes wrong between a worker and the process that trains: queues, shared memory.

Sizes are for a `/dev/shm` of 4 MiB and for 128 open files; honest ones fit well.
"""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from tests.conformance.canary import PIXELS, TEXT
from tests.conformance.marked import LENGTH, Marked, in_worker, strikes

BATCH = 8


# Queues


class HoldsLambdas(Marked):
    """Gives each example a function, which no queue can carry."""

    def __getitem__(self, index: int) -> Any:
        """Return an example with a lambda beside its data."""
        return {**super().__getitem__(index), "scale": lambda value: value / 255}


def lambdas_as_lists() -> DataLoader[Any]:
    """Return a loader that sends the examples as they are."""
    return DataLoader(HoldsLambdas(), batch_size=BATCH, collate_fn=list)


def _raise_local_error() -> None:
    class DecoderError(Exception):
        """Known in this function only."""

    raise DecoderError("the decoder gave up")


class RaisesLocalError(Marked):
    """Raises in a worker what no queue can carry."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or raise an error of a local class."""
        if strikes(index):
            _raise_local_error()
        return super().__getitem__(index)


class RaisesLocalErrorAlways(Marked):
    """Raises the same in any process."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or raise an error of a local class."""
        if index == 33:
            _raise_local_error()
        return super().__getitem__(index)


class NeedsArguments(Exception):
    """Can be pickled, but not built again from its text alone."""

    def __init__(self, file: str, offset: int) -> None:
        super().__init__(f"{file} is damaged at {offset}")
        self.offset = offset


class RaisesUnbuildableError(Marked):
    """Raises in a worker an error that cannot be built from one argument."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or raise."""
        if strikes(index):
            raise NeedsArguments("shard-3.tar", 512)
        return super().__getitem__(index)


# Shared memory


class Large(Marked):
    """Gives a megabyte an example: a batch is larger than a small `/dev/shm`."""

    def __getitem__(self, index: int) -> Any:
        """Return an example with a large tensor, marked where it begins."""
        large = torch.zeros(1 << 20, dtype=torch.uint8)
        large[: len(PIXELS)] = torch.tensor(PIXELS, dtype=torch.uint8)
        large[len(PIXELS)] = index
        return {**super().__getitem__(index), "large": large}


def large_as_lists() -> DataLoader[Any]:
    """Return a loader that leaves large tensors to the queue's own thread."""
    return DataLoader(Large(), batch_size=BATCH, collate_fn=list)


class MapsMoreThanThereIs(Marked):
    """Writes through a mapping of shared memory that has no room behind it."""

    def __getitem__(self, index: int) -> Any:
        """Return the example; in a worker, after a use of shared memory."""
        if strikes(index):
            path = Path(f"/dev/shm/torch_{os.getpid()}_conformance_0")
            held = np.memmap(path, np.uint8, "w+", shape=(16 << 20,))
            path.unlink()
            held[:] = 1
        return super().__getitem__(index)


def _send_by_file_system() -> None:
    choose: Any = torch.multiprocessing.set_sharing_strategy
    choose("file_system")


def by_file_system(dies: bool = False) -> Marked:
    """Return a dataset whose tensors travel as named files of shared memory.

    Args:
        dies: whether a worker is killed on the way.
    """
    _send_by_file_system()
    return KilledBetweenBatches() if dies else Marked()


class KilledBetweenBatches(Marked):
    """Its worker is killed while batches of it are on their way."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or end this worker."""
        if strikes(index):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class KeepsSharedMemory(Marked):
    """Keeps a piece of shared memory for each example that a worker has read."""

    def __init__(self) -> None:
        self.kept: list[torch.Tensor] = []

    def __getitem__(self, index: int) -> Any:
        """Return the example; a worker keeps a shared copy of it."""
        found = super().__getitem__(index)
        if in_worker():
            self.kept.append(found["pixels"].clone().share_memory_())
        return found


# Open files


class ManyTensors(Marked):
    """Gives 60 tensors an example: each of a batch needs an open file on its way."""

    def __getitem__(self, index: int) -> Any:
        """Return an example of many small tensors."""
        found = super().__getitem__(index)
        parts = {f"part{n:02}": found["pixels"] + n for n in range(60)}
        return {**found, **parts}


def many_tensors_by_file_system() -> Marked:
    """Return the same, sent as named files that are closed at once."""
    _send_by_file_system()
    return ManyTensors()


class OpensEachTime(Marked):
    """Opens its file at each reading in a worker, and never closes one."""

    def __init__(self, folder: str) -> None:
        self.path = Path(folder) / "texts.txt"
        self.held: list[Any] = []
        if not self.path.exists():
            temporary = self.path.with_suffix(f".{os.getpid()}")
            temporary.write_text("".join(f"{TEXT} {n}\n" for n in range(LENGTH)))
            temporary.replace(self.path)

    def __getitem__(self, index: int) -> Any:
        """Return the example, its text read from the file."""
        file = self.path.open(encoding="utf-8")
        if in_worker():
            self.held.append(file)
        text = file.readlines()[index].rstrip()
        return {**super().__getitem__(index), "text": text}


# Memory


class Hoards(Marked):
    """Keeps a megabyte for each example that a worker has read, and never uses it."""

    def __init__(self) -> None:
        self.hoard: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        """Return the example; a worker keeps something large."""
        if in_worker():
            self.hoard.append(np.ones(1 << 20, np.uint8))
        return super().__getitem__(index)


class UsesMuchForAMoment(Marked):
    """Needs a few megabytes for each example, and gives them back."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, after some work on a large array."""
        large = np.full(4 << 20, index, np.uint8)
        found = super().__getitem__(index)
        found["sum"] = int(large.sum(dtype=np.int64))
        return found


class FillsItsCache(Marked):
    """Keeps what it has decoded, up to the whole dataset: it grows, and then stops."""

    def __init__(self) -> None:
        self.cache: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        """Return the example, decoded once in each process."""
        if index not in self.cache:
            self.cache[index] = super().__getitem__(index)
        return self.cache[index]
