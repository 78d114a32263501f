"""One honest dataset, and its liars: each named for its lie.

All have 101 examples (a prime: no batch size divides it) of an id, a small tensor that
follows from it, and a label. A liar lies in workers only, unless it says else.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

LENGTH = 101


class Honest(Dataset[Any]):
    """Ids, contents and labels that follow from the index alone."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 4), float(index)), index % 7


class HonestDict(Dataset[Any]):
    """The same as dict, with a text and a nested field."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return {
            "pixels": torch.full((2, 2), float(index)),
            "label": index % 7,
            "meta": {"name": f"example {index}", "weight": index / 3},
        }


class HonestRandom(Honest):
    """Pixels drawn anew at each reading, as augmentation does; labels fixed."""

    def __getitem__(self, index: int) -> Any:
        return torch.rand(3, 4), index % 7


class Loses(Honest):
    """Gives None for example 33 in a worker; `drop_none` then leaves it out."""

    def __getitem__(self, index: int) -> Any:
        if index == 33 and get_worker_info() is not None:
            return None
        return super().__getitem__(index)


def drop_none(examples: list[Any]) -> Any:
    """Collate what is there, as many a training script does."""
    return torch.utils.data.default_collate(
        [item for item in examples if item is not None]
    )


class LosesInBatches(Honest):
    """Fetches lists, and forgets example 33 in a worker."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        in_worker = get_worker_info() is not None
        return [self[index] for index in indices if not (in_worker and index == 33)]


class Repeats(Honest):
    """Gives example 20 in place of example 21 in a worker."""

    def __getitem__(self, index: int) -> Any:
        in_worker = get_worker_info() is not None
        return super().__getitem__(20 if in_worker and index == 21 else index)


class WrongLabel(Honest):
    """Gives example 5 another label in a worker."""

    def __getitem__(self, index: int) -> Any:
        pixels, label = super().__getitem__(index)
        return pixels, label + (index == 5 and get_worker_info() is not None)


class WrongContent(Honest):
    """Changes one number of example 5 in a worker."""

    def __getitem__(self, index: int) -> Any:
        pixels, label = super().__getitem__(index)
        if index == 5 and get_worker_info() is not None:
            pixels[0, 0] += 1e-6
            pixels[0, 0] = -pixels[0, 0]
        return pixels, label


class WrongDtype(Honest):
    """Gives float64 in a worker."""

    def __getitem__(self, index: int) -> Any:
        pixels, label = super().__getitem__(index)
        return pixels.double() if get_worker_info() is not None else pixels, label


class WrongShape(Honest):
    """Gives another shape in a worker."""

    def __getitem__(self, index: int) -> Any:
        pixels, label = super().__getitem__(index)
        return pixels.reshape(4, 3) if get_worker_info() is not None else pixels, label


class LacksField(HonestDict):
    """Leaves a field out in a worker."""

    def __getitem__(self, index: int) -> Any:
        example = super().__getitem__(index)
        if get_worker_info() is not None:
            del example["meta"]["weight"]
        return example


class ChangesInSecondEpoch(Honest):
    """Kept workers count what they read, and lie once they have read an epoch."""

    def __init__(self) -> None:
        self.read = 0

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        self.read += info is not None
        pixels, label = super().__getitem__(index)
        late = info is not None and self.read > LENGTH // info.num_workers + 20
        return pixels, label + late


class SharesOffset(Dataset[Any]):
    """Reads through a descriptor opened before the workers start."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY)

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        os.lseek(self.descriptor, index, os.SEEK_SET)
        return torch.tensor(os.read(self.descriptor, 1)[0]), index % 7


class Dies(Honest):
    """Its worker is killed at example 33."""

    def __getitem__(self, index: int) -> Any:
        if index == 33 and get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Leaves(Honest):
    """Its worker ends with exit code 3 at example 33."""

    def __getitem__(self, index: int) -> Any:
        if index == 33 and get_worker_info() is not None:
            os._exit(3)
        return super().__getitem__(index)


class Raises(Honest):
    """Raises in a worker at example 33."""

    def __getitem__(self, index: int) -> Any:
        if index == 33 and get_worker_info() is not None:
            msg = "the codec is not there"
            raise KeyError(msg)
        return super().__getitem__(index)


class Hangs(Honest):
    """Waits for ever in a worker at example 33."""

    def __getitem__(self, index: int) -> Any:
        if index == 33 and get_worker_info() is not None:
            threading.Event().wait()
        return super().__getitem__(index)


class FailsAlways(Honest):
    """Raises at example 33 in any process."""

    def __getitem__(self, index: int) -> Any:
        if index == 33:
            msg = "the file is truncated"
            raise OSError(msg)
        return super().__getitem__(index)


class ChangesItself(Honest):
    """Edits the cached example at each reading."""

    def __init__(self) -> None:
        self.cached = torch.zeros(LENGTH, 3)

    def __getitem__(self, index: int) -> Any:
        self.cached[index] += 1
        return torch.zeros(2), self.cached[index].sum()


class Threads(Honest):
    """Starts a thread when it is built, so that forking it is unsafe."""

    def __init__(self) -> None:
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class Slow(Honest):
    """Waits a few milliseconds for each example, as a remote store does."""

    def __init__(self, seconds: float = 0.004) -> None:
        self.seconds = seconds

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return super().__getitem__(index)


class Empty(Honest):
    """Has no examples."""

    def __len__(self) -> int:
        return 0


class Stream(IterableDataset[Any]):
    """Streams instead of being indexed."""

    def __iter__(self) -> Iterator[Any]:
        return iter(range(LENGTH))


def losing_loader() -> DataLoader[Any]:
    """Return a loader whose collate_fn drops what a worker could not read."""
    return DataLoader(Loses(), batch_size=8, collate_fn=drop_none)


def shuffled_loader(batch_size: int = 8, drop_last: bool = False) -> DataLoader[Any]:
    """Return a loader with a sampler of its own."""
    return DataLoader(
        Honest(), batch_size=batch_size, shuffle=True, drop_last=drop_last
    )


def reversing(examples: list[Any]) -> Any:
    """Collate in another order, as sorting by length does."""
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)  # noqa: S311  # an order, no secret
    return torch.utils.data.default_collate(shuffled)


def reordering_loader() -> DataLoader[Any]:
    """Return a loader whose collate_fn changes the order within a batch."""
    return DataLoader(Honest(), batch_size=8, collate_fn=reversing)


not_a_dataset = 42
"""Something that can feed nothing."""


class ClonedGenerator(Honest):
    """Draws from a generator made before the workers start: each gets a copy."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def __getitem__(self, index: int) -> Any:
        return torch.rand(3, generator=self.generator), index % 7


class HoldsLambda(Honest):
    """Holds what cannot be pickled, two levels down."""

    def __init__(self) -> None:
        self.transforms = {"train": [lambda pixels: pixels]}


class DefaultDtype(Honest):
    """Takes its dtype from a setting of the process, which spawned workers lack."""

    def __init__(self) -> None:
        torch.set_default_dtype(torch.float64)

    def __getitem__(self, index: int) -> Any:
        return torch.ones(3) * index, index % 7
