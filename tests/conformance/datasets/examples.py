"""What an example is, and what is made of a list of them.

`default_collate` takes a closed list of types, and decides by the first example.
"""

import dataclasses
import datetime
import decimal
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, default_collate

from tests.conformance.canary import example
from tests.conformance.marked import LENGTH, Marked, MarkedStream, in_worker, turns

# Types of numbers


class IntsThenFloats(Marked):
    """Has whole numbers among floats: the type of a batch depends on its first."""

    def __getitem__(self, index: int) -> Any:
        value = index // 8 if index % 5 == 0 else index / 8
        return {**example(index), "weight": value}


class IntLabelsAmongFloats(Marked):
    """Has one label that is a float: the type of its batch depends on the first."""

    def __getitem__(self, index: int) -> Any:
        label = float(index * 7) if index == 3 else index * 7
        return {**example(index), "label": label}


class FloatInWorker(Marked):
    """Has whole numbers in one process, and floats in a worker."""

    def __getitem__(self, index: int) -> Any:
        weight = float(index) if in_worker() else index
        return {**example(index), "weight": weight}


class DtypesDiffer(Marked):
    """Has one example of another dtype: `torch.stack` takes it, silently or not."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if index == 3:
            found["pixels"] = found["pixels"].short()
        return found


# Shapes


class Ragged(Marked):
    """Has sequences of different lengths."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "tokens": torch.arange(index % 5 + 1)}


class OneIsLonger(Marked):
    """Has one sequence that is longer than all others."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "tokens": torch.arange(5 if index == 3 else 4)}


class OneIsHalf(Marked):
    """Has one row of 11 numbers among rows of 22, as an old torch would resize it."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "row": torch.ones(11 if index == 3 else 22)}


class OneIsTurned(Marked):
    """Has one picture upright among wide ones, of as many pixels."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        shape = (1, 8, 2) if index == 3 else (1, 2, 8)
        return {**found, "pixels": found["pixels"].reshape(shape)}


class RaggedLists(Marked):
    """Has lists of different lengths."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "boxes": [0] * (4 if index == 3 else 3)}


class OneLacksField(Marked):
    """Has one example without a field."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if index == 3:
            del found["text"]
        return found


class OneHasAnotherField(Marked):
    """Has one example with a field more."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        return {**found, "more": 1} if index == 3 else found


class RaggedStream(MarkedStream):
    """Streams one sequence that is longer than all others."""

    def __iter__(self) -> Iterator[Any]:
        for number in turns():
            tokens = torch.arange(5 if number == 3 else 4)
            yield {**example(number), "tokens": tokens}


# None


class SomeAreNone(Marked):
    """Gives None for what it cannot read, in any process."""

    nothing: frozenset[int] = frozenset({20, 40, 60, 80})

    def __getitem__(self, index: int) -> Any:
        return None if index in self.nothing else example(index)


class WholeBatchIsNone(SomeAreNone):
    """Gives None for a whole batch."""

    nothing = frozenset(range(16, 24))


class SomeAreNoneInWorker(SomeAreNone):
    """Gives None in a worker only."""

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index) if in_worker() else example(index)


class SomeAreBad(SomeAreNone):
    """Marks what it cannot read, in any process."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "is_bad": index in self.nothing}


def without_bad(examples: list[Any]) -> Any:
    """Collate what is marked as good."""
    return default_collate([item for item in examples if not item["is_bad"]])


def without_none(examples: list[Any]) -> Any:
    """Collate what is there."""
    return default_collate([item for item in examples if item is not None])


def without_none_or_nothing(examples: list[Any]) -> Any:
    """Collate what is there; give None where nothing is."""
    found = [item for item in examples if item is not None]
    return default_collate(found) if found else None


def in_place_of_none(examples: list[Any]) -> Any:
    """Collate what is there, and again the first of it in place of what is not."""
    found = [item for item in examples if item is not None]
    return default_collate([*found, *found[:1] * (len(examples) - len(found))])


def filtering(name: str, collate: str = "without_none") -> DataLoader[Any]:
    """Return a loader whose collate_fn leaves out what is None."""
    makers: dict[str, Any] = {
        "some": SomeAreNone,
        "worker": SomeAreNoneInWorker,
        "batch": WholeBatchIsNone,
        "bad": SomeAreBad,
    }
    return DataLoader(makers[name](), batch_size=8, collate_fn=globals()[collate])


# Types that are not taken


@dataclasses.dataclass
class Point:
    """What is no dict and no tuple."""

    x: int
    y: int


def _picture(index: int) -> Any:
    from PIL import Image

    return Image.fromarray(np.full((4, 4), index, np.uint8))


def _complex(index: int) -> torch.Tensor:
    return torch.complex(torch.ones(2) * index, torch.ones(2))


MAKERS: dict[str, Any] = {
    "none": lambda index: None,
    "dataclass": lambda index: Point(index, index),
    "picture": _picture,
    "date": lambda index: datetime.date.fromordinal(index + 1),
    "path": lambda index: pathlib.PurePosixPath(f"{index}.jpg"),
    "set": lambda index: {index},
    "decimal": decimal.Decimal,
    "complex": complex,
    "uuid": lambda index: uuid.UUID(int=index),
    "object_array": lambda index: np.array([index, None], object),
    "text_array": lambda index: np.array([str(index)]),
    "conjugate": lambda index: _complex(index).conj(),
    "negative": lambda index: _complex(index).conj().imag,
    "quantized": lambda index: torch.quantize_per_tensor(
        torch.ones(2) * index, 0.5, 3, torch.quint8
    ),
    "sparse": lambda index: (torch.eye(3) * (index + 1)).to_sparse(),
    "sparse_rows": lambda index: (torch.eye(3) * (index + 1)).to_sparse_csr(),
    "nested": lambda index: torch.nested.nested_tensor(
        [torch.ones(2) * index, torch.ones(3) * index], layout=torch.jagged
    ),
}
"""A value by the name of its type."""


class Unsupported(Marked):
    """Has a field that `default_collate` does not take."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "value": MAKERS[self.name](index)}


class UnsupportedInWorker(Unsupported):
    """Has such a field in a worker only."""

    def __getitem__(self, index: int) -> Any:
        value = MAKERS[self.name](index) if in_worker() else index
        return {**example(index), "value": value}


def as_lists(name: str) -> DataLoader[Any]:
    """Return a loader that does not stack; honest."""
    return DataLoader(Unsupported(name), batch_size=8, collate_fn=list)


# A dimension too many


class BatchesItself(Dataset[Any]):
    """Gives eight examples at an index."""

    def __len__(self) -> int:
        return 13

    def __getitem__(self, index: int) -> Any:
        ids = [min(LENGTH - 1, index * 8 + place) for place in range(8)]
        return default_collate([example(number) for number in ids])


def batches_unbatched() -> DataLoader[Any]:
    """Return a loader that leaves its batches as they are; honest."""
    return DataLoader(BatchesItself(), batch_size=None)


class SqueezesInWorker(Marked):
    """Lacks the first dimension in a worker."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        pixels = found["pixels"]
        return {**found, "pixels": pixels[0] if in_worker() else pixels}
