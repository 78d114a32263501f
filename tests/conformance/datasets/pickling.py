"""What a worker gets differs by its start method: inherited, or built from a pickle."""

import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

from tests.conformance.canary import PIXELS, TEXT, example, pixels
from tests.conformance.marked import LENGTH, Marked

# What cannot be pickled


class HoldsLambda(Marked):
    """Holds a lambda, two levels down."""

    def __init__(self) -> None:
        self.steps: dict[str, Any] = {"train": [lambda found: found]}

    def __getitem__(self, index: int) -> Any:
        """Return the example, through its steps."""
        found = super().__getitem__(index)
        for step in self.steps["train"]:
            found = step(found)
        return found


class HoldsLock(Marked):
    """Holds a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __getitem__(self, index: int) -> Any:
        """Return the example, one at a time."""
        with self.lock:
            return super().__getitem__(index)


class Reader:
    """Reads lines of a file that it holds open, by position."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")
        self.width = len(self.file.readline())

    def line(self, number: int) -> str:
        """Return a line, whoever moved the file's own position."""
        data = os.pread(self.file.fileno(), self.width, self.width * number)
        return data.decode().rstrip()


class HoldsOpenFile(Marked):
    """Holds a reader that holds an open file; reading it by position is safe."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / "texts.txt"
        if not path.exists():
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text("".join(f"{TEXT} {n:<3}\n" for n in range(LENGTH)))
            temporary.replace(path)
        self.reader = Reader(path)

    def __getitem__(self, index: int) -> Any:
        """Return the example, its text read from the file."""
        return {**super().__getitem__(index), "text": self.reader.line(index)}


class HoldsGenerator(Marked):
    """Holds a Python generator that it has begun."""

    def __init__(self) -> None:
        self.names = (str(number) for number in range(LENGTH))


def _local_collate() -> Any:
    return lambda examples: default_collate(examples)


def collates_by_lambda() -> DataLoader[Any]:
    """Return a loader whose collate_fn is a lambda."""
    return DataLoader(Marked(), batch_size=8, collate_fn=_local_collate())


def begins_by_local_function() -> DataLoader[Any]:
    """Return a loader whose worker_init_fn is a local function."""

    def begin(_worker: int) -> None:
        """Do nothing."""

    return DataLoader(Marked(), batch_size=8, worker_init_fn=begin)


def of_local_class() -> Dataset[Any]:
    """Return a dataset whose class is known in this function only."""

    class InFunction(Marked):
        """Marked, but only here."""

    return InFunction()


# What cannot be found again


MADE_UP = """
from tests.conformance.marked import Marked

class MadeUp(Marked):
    pass
"""


def of_made_up_module(registered: bool = True) -> Any:
    """Return a dataset of a module that no other process can import.

    Args:
        registered: whether this process finds the module by its name.
    """
    module = types.ModuleType("made_up_in_a_notebook")
    if registered:
        sys.modules[module.__name__] = module
    exec(MADE_UP, module.__dict__)  # noqa: S102  # as a notebook does
    return module.MadeUp()


# What is lost or drawn anew on the way


class SetsDefaultDtype(Marked):
    """Relies on a setting of the process, made where the dataset is built."""

    def __init__(self) -> None:
        torch.set_default_dtype(torch.float64)

    def __getitem__(self, index: int) -> Any:
        """Return the example, with thirds of the default dtype."""
        return {**super().__getitem__(index), "third": torch.ones(3) / 3}


class NamesItsDtype(Marked):
    """Makes the same setting, and does not rely on it."""

    def __init__(self) -> None:
        torch.set_default_dtype(torch.float64)

    def __getitem__(self, index: int) -> Any:
        """Return the example, with thirds of a dtype that is named."""
        third = torch.ones(3, dtype=torch.float64) / 3
        return {**super().__getitem__(index), "third": third}


SCALE = 1


class SetsGlobal(Marked):
    """Sets a constant of its module, which is imported anew in another process."""

    def __init__(self) -> None:
        global SCALE
        SCALE = 7

    def __getitem__(self, index: int) -> Any:
        """Return the example, its label scaled by the constant."""
        return {**super().__getitem__(index), "label": index * SCALE}


class SetsVariable(Marked):
    """Sets a variable of the environment, which every process inherits."""

    def __init__(self) -> None:
        os.environ["CONFORMANCE_SCALE"] = "7"

    def __getitem__(self, index: int) -> Any:
        """Return the example, its label scaled by the variable."""
        scale = int(os.environ["CONFORMANCE_SCALE"])
        return {**super().__getitem__(index), "label": index * scale}


class SplitsAnew(Marked):
    """Draws its split where it is built from a pickle, not only where it is made."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.split = rng.permutation(10 * LENGTH)[:LENGTH]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the split out."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Draw another split."""
        self.split = np.random.default_rng().permutation(10 * LENGTH)[:LENGTH]

    def __getitem__(self, index: int) -> Any:
        """Return the example that the split has in this place."""
        return example(int(self.split[index]))


class SplitsBySeed(SplitsAnew):
    """Leaves its split out as well, and draws the same one."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Draw the split again."""
        self.__init__()  # type: ignore[misc]


class ReadsMap(Marked):
    """Reads from a mapped file, which a pickle holds whole."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / "pixels.npy"
        if not path.exists():
            temporary = path.with_name(f"{os.getpid()}.npy")
            whole = np.zeros((LENGTH, 40_000), np.uint8)
            whole[:, : len(PIXELS)] = PIXELS
            whole[:, len(PIXELS)] = range(LENGTH)
            np.save(temporary, whole)
            temporary.replace(path)
        self.map = np.load(path, mmap_mode="r")

    def __getitem__(self, index: int) -> Any:
        """Return the example, its pixels read from the file."""
        row = np.array(self.map[index, :16]).reshape(1, 4, 4)
        return {**super().__getitem__(index), "pixels": torch.from_numpy(row)}


# What is set where workers start


class NeedsHandle(Marked):
    """Reads through a handle that is made elsewhere."""

    handle: Any = None

    def __getitem__(self, index: int) -> Any:
        """Return the example, its label looked up."""
        found = super().__getitem__(index)
        return {**found, "pixels": pixels(index), "label": self.handle[index]}


def _make_handle(_worker: int) -> None:
    info: Any = get_worker_info()
    info.dataset.handle = [7 * number for number in range(LENGTH)]


def handle_of_workers_only() -> DataLoader[Any]:
    """Return a loader whose handle is made by worker_init_fn, in workers only."""
    return DataLoader(NeedsHandle(), batch_size=8, worker_init_fn=_make_handle)


def _make_other_handle(worker: int) -> None:
    info: Any = get_worker_info()
    info.dataset.handle = [7 * number + worker for number in range(LENGTH)]


def handle_of_each_worker() -> DataLoader[Any]:
    """Return a loader whose worker_init_fn gives each worker other labels."""
    return DataLoader(NeedsHandle(), batch_size=8, worker_init_fn=_make_other_handle)


class HasHandle(NeedsHandle):
    """Makes a handle itself where there is none."""

    def __getitem__(self, index: int) -> Any:
        """Return the example."""
        if self.handle is None:
            self.handle = [7 * number for number in range(LENGTH)]
        return super().__getitem__(index)


def handle_everywhere() -> DataLoader[Any]:
    """Return a loader whose worker_init_fn does no more than the dataset can do."""
    return DataLoader(HasHandle(), batch_size=8, worker_init_fn=_make_handle)
