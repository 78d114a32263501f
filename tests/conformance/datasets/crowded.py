"""Datasets that mind what other processes do, as libraries for streaming have it.

The libraries themselves are not at hand here; what is told of them is.
"""

import atexit
import fcntl
import os
from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from torch.utils.data import DataLoader, Dataset

from tests.conformance.canary import example
from tests.conformance.datasets.sharding import LENGTH, Split

if TYPE_CHECKING:
    from collections.abc import Iterator


class NamesSharedMemory(Dataset[Any]):
    """Claims shared memory under a name that all its processes know.

    Who builds it while the name is taken is refused: it is left over, or another
    process has the dataset too.
    """

    def __init__(self, folder: str) -> None:
        self.owner = os.getpid()
        name = f"conformance_{crc32(folder.encode()):08x}_locals"
        try:
            self.memory = SharedMemory(name, create=True, size=16)
        except FileExistsError:
            msg = "reused local directory: another dataset has claimed it"
            raise ValueError(msg) from None
        atexit.register(self.close)

    def close(self) -> None:
        """Give the name free, in the process that has claimed it."""
        if os.getpid() == self.owner:
            with suppress(FileNotFoundError):
                self.memory.unlink()

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return example(index)


class BuiltByOne(Dataset[Any]):
    """Cannot be built while another process has it."""

    def __init__(self, folder: str) -> None:
        self.lock = (Path(folder) / "lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return example(index)


class LengthByWorkers(Split):
    """Has the length of one worker's part once a loader has been asked for its own."""

    workers = 1

    def __len__(self) -> int:
        return LENGTH // self.workers


class TellsWorkers(DataLoader[Any]):
    """Tells its dataset how many workers there are when its length is asked."""

    def __len__(self) -> int:
        self.dataset.workers = max(1, self.num_workers)  # type: ignore[attr-defined]
        return super().__len__()


def telling() -> DataLoader[Any]:
    """Return a loader whose length changes that of its dataset."""
    return TellsWorkers(LengthByWorkers(), batch_size=8, num_workers=2)


class LengthOnceAsked(Split):
    """Has another length after it has been asked for it."""

    def __init__(self) -> None:
        self.lengths: Iterator[int] = iter((LENGTH,))

    def __len__(self) -> int:
        return next(self.lengths, LENGTH // 2)
