"""Datasets that are right, and easy to accuse.

Each is named for what may look like a fault. None has one: workers deliver what one
process reads.
"""

import collections
import dataclasses
import functools
import logging
import mmap
import multiprocessing
import os
import random
import sqlite3
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    Sampler,
    StackDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
)

from tests.conformance.canary import TEXT, example, pixels
from tests.conformance.marked import LENGTH, Marked, in_worker

RECORD = 64
"""Bytes of a record: the pixels of an example, then its text."""


def record(index: int) -> bytes:
    """Return the bytes that a file has of an example."""
    text = f"{TEXT} {index}".encode().ljust(RECORD - 16)
    return pixels(index).numpy().tobytes() + text


def of_record(index: int, data: bytes) -> dict[str, Any]:
    """Return the example whose bytes a file had."""
    values = torch.frombuffer(bytearray(data[:16]), dtype=torch.uint8)
    return {
        "id": index,
        "label": index * 7,
        "pixels": values.reshape(1, 4, 4),
        "text": data[16:].decode().rstrip(),
    }


def made(folder: str, name: str, content: bytes) -> Path:
    """Return the path of a file, written where it is missing."""
    path = Path(folder) / name
    if not path.exists():
        part = path.with_name(f"{name}.{os.getpid()}")
        part.write_bytes(content)
        part.replace(path)
    return path


def records(folder: str, numbers: range = range(LENGTH), name: str = "all") -> Path:
    """Return the path of a file of records."""
    return made(folder, f"{name}.bin", b"".join(map(record, numbers)))


# Randomness


class Augments(Marked):
    """Adds noise to a picture, never to its label."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        return {**found, "image": found["pixels"].float() + torch.randn(1, 4, 4)}


class FlipsSometimes(Marked):
    """Flips half of the pictures: the other half looks fixed."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if torch.rand(()) < 0.5:
            found["pixels"] = found["pixels"].flip(-1)
        return found


class FlipsSymmetric(Marked):
    """Flips what is often symmetric: most flips change nothing."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if index % 10:
            found["pixels"] = torch.full((1, 4, 4), index, dtype=torch.uint8)
        if random.random() < 0.5:  # noqa: S311  # a flip, no secret
            found["pixels"] = found["pixels"].flip(-1)
        return found


class ChangesRarely(Marked):
    """Changes one picture in a hundred: two readings of a part seldom show it."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if torch.rand(()) < 0.01:
            found["pixels"] = 255 - found["pixels"]
        return found


class ChangesVeryRarely(Marked):
    """Changes one picture in five hundred."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if random.random() < 0.002:  # noqa: S311  # noise, no secret
            found["pixels"] = 255 - found["pixels"]
        return found


class ChangesFew(Marked):
    """Augments the examples of one rare class only."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        if index in {17, 90}:
            found["pixels"] = found["pixels"] ^ int(torch.randint(1, 255, ()))
        return found


class CropsToAnySize(Marked):
    """Crops to a random size: shapes differ at each reading."""

    def __getitem__(self, index: int) -> Any:
        width = int(torch.randint(1, 5, ()))
        found = example(index)
        return {**found, "pixels": found["pixels"][:, :, :width].clone()}


def padded_pictures(examples: list[Any]) -> Any:
    """Pad pictures on the right to the widest."""
    widest = max(item["pixels"].shape[-1] for item in examples)
    rows = [
        torch.nn.functional.pad(item["pixels"], (0, widest - item["pixels"].shape[-1]))
        for item in examples
    ]
    return {
        "id": torch.tensor([item["id"] for item in examples]),
        "label": torch.tensor([item["label"] for item in examples]),
        "text": [item["text"] for item in examples],
        "pixels": torch.stack(rows),
    }


def crops_padded() -> DataLoader[Any]:
    """Return a loader that pads random crops."""
    return DataLoader(CropsToAnySize(), batch_size=8, collate_fn=padded_pictures)


class MixesTwo(Marked):
    """Mixes each picture with another one drawn at random; the label stays."""

    def __getitem__(self, index: int) -> Any:
        other = int(torch.randint(LENGTH, ()))
        found = example(index)
        mixed = found["pixels"].float() * 0.7 + pixels(other).float() * 0.3
        return {**found, "pixels": mixed}


class SeedsByWorker(Marked):
    """Makes its generator on first use, from the seed that the worker is given."""

    def __init__(self) -> None:
        self.generator: Any = None

    def __getitem__(self, index: int) -> Any:
        if self.generator is None:
            info = get_worker_info()
            self.generator = np.random.default_rng(info.seed if info else None)
        return {**example(index), "noise": self.generator.random(3)}


class SeedsByIndex(Marked):
    """Draws from a generator seeded by the index: random to look at, and fixed."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "noise": np.random.default_rng(index).random(3)}


class TellsTheTime(Marked):
    """Says when an example was read."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "read_at": time.time_ns()}


# Examples that are alike


class HasDuplicates(Marked):
    """Has each example twice, under two ids."""

    def __getitem__(self, index: int) -> Any:
        found = example(index // 2)
        del found["id"]
        return found


class AllAlike(Marked):
    """Has one example, again and again."""

    def __getitem__(self, index: int) -> Any:
        return example(3)


class EmptyTensors(Marked):
    """Has tensors without a number in them."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "boxes": torch.empty(0, 4), "name": ""}


class OnlyEmpty(Dataset[Any]):
    """Has nothing but empty tensors."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.empty(0, 4), torch.empty(0)


class NansAndZeros(Marked):
    """Has NaN, negative zero and infinity."""

    def __getitem__(self, index: int) -> Any:
        odd = [float("nan"), -0.0, 0.0, float("inf"), -float("inf")]
        values = torch.tensor([*odd, float(index)])
        return {**example(index), "values": values, "weight": odd[index % 5]}


# Threads


class SumsLargely(Marked):
    """Sums enough floats to be divided among threads."""

    def __getitem__(self, index: int) -> Any:
        generator = torch.Generator().manual_seed(index)
        values = torch.randn(1 << 17, generator=generator)
        return {**example(index), "sum": values.sum(), "std": float(values.std())}


class MultipliesLargely(Marked):
    """Multiplies matrices with NumPy, whose library has threads of its own."""

    def __getitem__(self, index: int) -> Any:
        matrix = np.random.default_rng(index).random((128, 128), np.float32)
        product = matrix @ matrix.T
        return {**example(index), "row": product[0], "norm": np.linalg.norm(product)}


class SetsThreads(Marked):
    """Asks for four threads in each worker, and needs none."""

    def __getitem__(self, index: int) -> Any:
        torch.set_num_threads(4)
        return example(index)


# Forms of an example


class KeysFromSet(Marked):
    """Takes its keys from a set of texts: each process has them in another order."""

    def __getitem__(self, index: int) -> Any:
        names = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta"}
        return {"id": index, "label": index * 7, **dict.fromkeys(names, index)}


class Pair(NamedTuple):
    """Two fields by name."""

    image: torch.Tensor
    meta: dict[str, Any]


class Nested(Marked):
    """Has tuples with names within dicts within lists."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        pair = Pair(found["pixels"], {"text": found["text"], "deep": [(index,), index]})
        return {"pair": pair, "target": index * 7, "list": [pair, pair]}


@dataclasses.dataclass
class Record:
    """An example as dataclass."""

    index: int
    label: int
    image: torch.Tensor
    text: str
    meta: Pair


class AsDataclass(Marked):
    """Has dataclasses, collated by hand."""

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        pair = Pair(found["pixels"], {"odd": bool(index % 2)})
        return Record(index, index * 7, found["pixels"], found["text"], pair)


def records_collated(examples: list[Record]) -> Record:
    """Collate dataclasses, field by field."""
    return Record(
        index=torch.tensor([item.index for item in examples]),  # type: ignore[arg-type]
        label=torch.tensor([item.label for item in examples]),  # type: ignore[arg-type]
        image=torch.stack([item.image for item in examples]),
        text=[item.text for item in examples],  # type: ignore[arg-type]
        meta=default_collate([item.meta for item in examples]),
    )


def as_dataclass() -> DataLoader[Any]:
    """Return a loader of dataclasses."""
    return DataLoader(AsDataclass(), batch_size=8, collate_fn=records_collated)


class OddTexts(Marked):
    """Has texts with surrogates, zeros and marks, and bytes."""

    def __getitem__(self, index: int) -> Any:
        text = "\ud800\udfff \x00 e\u0301 \u202e\U0001f426"
        return {
            **example(index),
            "odd": f"{text}{index}",
            "bytes": b"\x00\xff" + index.to_bytes(2, "big"),
            "flag": index % 3 == 0,
        }


class NumpyScalars(Marked):
    """Has scalars of NumPy's."""

    def __getitem__(self, index: int) -> Any:
        return {
            **example(index),
            "int": np.int16(index),
            "float": np.float32(index / 3),
            "bool": np.bool_(index % 2),
            "label": np.int64(index * 7),
        }


class OddArrays(Marked):
    """Has arrays of objects, of records, of dates, and masked ones."""

    def __getitem__(self, index: int) -> Any:
        kind = np.dtype([("x", np.int32), ("y", np.float64)])
        return {
            **example(index),
            "objects": np.array([index, f"{TEXT}", None, (1, 2)], object),
            "records": np.array([(index, index / 2)], kind),
            "dates": np.array(["2020-01-01", "NaT"], "datetime64[D]") + index,
            "masked": np.ma.masked_array([index, 2, 3], mask=[False, True, False]),
            "big": np.array([index], ">i4"),
        }


def odd_arrays() -> DataLoader[Any]:
    """Return a loader that does not stack arrays."""
    return DataLoader(OddArrays(), batch_size=8, collate_fn=list)


class OddStrides(Marked):
    """Has tensors and arrays that do not lie in one piece, or backwards."""

    def __getitem__(self, index: int) -> Any:
        values = torch.arange(24).reshape(4, 6) + index
        array = values.numpy()
        return {
            **example(index),
            "turned": values.T,
            "sparsely": values[::2, 1::3],
            "expanded": torch.tensor([[index]]).expand(3, 4),
            "array_turned": array.T,
            "last": values.unsqueeze(0).to(memory_format=torch.preserve_format),
        }


class BackwardArrays(Marked):
    """Has arrays with strides below zero, as a flip in NumPy leaves them."""

    def __getitem__(self, index: int) -> Any:
        array = np.arange(12, dtype=np.float32).reshape(3, 4) + index
        return {**example(index), "flipped": array[:, ::-1], "both": array[::-1, ::-1]}


def backward_arrays() -> DataLoader[Any]:
    """Return a loader that does not stack them: torch takes no such strides."""
    return DataLoader(BackwardArrays(), batch_size=8, collate_fn=list)


class OddDtypes(Marked):
    """Has dtypes that NumPy lacks, or that are two numbers each."""

    def __getitem__(self, index: int) -> Any:
        values = torch.arange(4.0) + index
        return {
            **example(index),
            "bfloat16": values.bfloat16(),
            "half": values.half(),
            "float8": values.to(torch.float8_e4m3fn),
            "complex": torch.complex(values, -values),
            "uint16": values.to(torch.uint16),
            "bool": values > 2,
        }


class OddLayouts(Marked):
    """Has sparse tensors of several layouts."""

    def __getitem__(self, index: int) -> Any:
        values = torch.eye(3) * (index + 1)
        return {
            **example(index),
            "sparse": values.to_sparse(),
            "rows": values.to_sparse_csr(),
            "columns": values.to_sparse_csc(),
            "blocks": torch.ones(4, 4).mul(index).to_sparse_bsr((2, 2)),
        }


def odd_layouts() -> DataLoader[Any]:
    """Return a loader that does not stack them."""
    return DataLoader(OddLayouts(), batch_size=8, collate_fn=list)


class TakesGradients(Marked):
    """Has tensors made under no_grad, as features of a small model are."""

    def __init__(self) -> None:
        self.layer = torch.nn.Linear(16, 3, bias=False)
        torch.nn.init.constant_(self.layer.weight, 0.5)

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        with torch.no_grad():
            return {**found, "features": self.layer(found["pixels"].flatten().float())}


class HugeLabels(Marked):
    """Has labels from one end of 64 bits to the other."""

    def __getitem__(self, index: int) -> Any:
        label = (-1) ** index * (2**62 + index * 2**40)
        return {**example(index), "label": label}


class LabelsAllAlike(Marked):
    """Has one class only."""

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "label": 0}


# What collate_fn makes of them


class Ragged(Marked):
    """Has sequences of different lengths, zeros among them."""

    def __getitem__(self, index: int) -> Any:
        tokens = torch.arange(index % 13 + 1) * (index % 3)
        return {**example(index), "input_ids": tokens}


def padded_to_longest(examples: list[Any]) -> Any:
    """Pad to the longest of the batch, with a mask; rename the keys."""
    longest = max(len(item["input_ids"]) for item in examples)
    ids = torch.zeros(len(examples), longest, dtype=torch.long)
    mask = torch.zeros(len(examples), longest, dtype=torch.bool)
    for row, item in enumerate(examples):
        ids[row, : len(item["input_ids"])] = item["input_ids"]
        mask[row, : len(item["input_ids"])] = True
    return {
        "ids": torch.tensor([item["id"] for item in examples]),
        "labels": torch.tensor([item["label"] for item in examples]),
        "texts": [item["text"] for item in examples],
        "input_ids": ids,
        "attention_mask": mask,
    }


def sorted_by_length(examples: list[Any]) -> Any:
    """Sort by length, as packing wants, then pad."""
    return padded_to_longest(
        sorted(examples, key=lambda item: len(item["input_ids"]), reverse=True)
    )


def packed(examples: list[Any]) -> Any:
    """Lay all sequences end to end, with their bounds."""
    lengths = torch.tensor([len(item["input_ids"]) for item in examples])
    return {
        "tokens": torch.cat([item["input_ids"] for item in examples]),
        "bounds": torch.cumsum(lengths, 0),
        "labels": torch.tensor([item["label"] for item in examples]),
    }


def packed_sequence(examples: list[Any]) -> Any:
    """Give a PackedSequence and the labels."""
    sequences = [item["input_ids"].float() for item in examples]
    return (
        torch.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False),
        torch.tensor([item["label"] for item in examples]),
    )


def floats_and_one_hot(examples: list[Any]) -> Any:
    """Turn labels into floats, and pixels into parts of one."""
    found = default_collate(examples)
    found["pixels"] = found["pixels"].float() / 255
    found["label"] = found["label"].float()
    found["one_hot"] = torch.nn.functional.one_hot(found["id"], LENGTH)
    return found


def fields_first(examples: list[Any]) -> Any:
    """Give two texts and a tensor, without ids: a tuple."""
    found = default_collate(examples)
    return found["pixels"].permute(0, 2, 3, 1), found["text"], found["label"]


class Batch:
    """A batch as object of a class of its own."""

    def __init__(self, examples: list[Any]) -> None:
        found = default_collate(examples)
        self.pixels, self.labels, self.texts = (
            found[name] for name in ("pixels", "label", "text")
        )

    def __len__(self) -> int:
        """Return how many examples it has."""
        return len(self.labels)

    def pin_memory(self) -> "Batch":
        """Pin its tensors."""
        self.pixels = self.pixels.pin_memory()
        return self


def shuffled_within(examples: list[Any]) -> Any:
    """Shuffle the batch."""
    found = list(examples)
    random.shuffle(found)
    return default_collate(found)


def doubled(examples: list[Any]) -> Any:
    """Give each example twice, once flipped, as contrastive training does."""
    flipped = [{**item, "pixels": item["pixels"].flip(-1)} for item in examples]
    return {"one": default_collate(examples), "two": default_collate(flipped)}


def collated(name: str) -> DataLoader[Any]:
    """Return a loader with a collate_fn of this module."""
    is_ragged = name in {
        "padded_to_longest", "sorted_by_length", "packed", "packed_sequence",
    }  # fmt: skip
    dataset = Ragged() if is_ragged else Marked()
    return DataLoader(dataset, batch_size=8, collate_fn=globals()[name])


# Samplers and ways of batching


class UnevenLists(Sampler[list[int]]):
    """Lists of one to nine indices."""

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the same lists each time."""
        rng = random.Random(0)  # noqa: S311  # sizes, no secret
        first = 0
        while first < LENGTH:
            size = rng.randint(1, 9)
            yield list(range(first, min(LENGTH, first + size)))
            first += size


class FetchesLists(Marked):
    """Fetches a list at once, each distinct index once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return the examples, in the order that is asked for."""
        held = {index: example(index) for index in sorted(set(indices))}
        return [held[index] for index in indices]


class Batches(Dataset[Any]):
    """Batches itself."""

    def __len__(self) -> int:
        return 13

    def __getitem__(self, index: int) -> Any:
        ids = range(index * 8, min(LENGTH, index * 8 + 8))
        return default_collate([example(number) for number in ids])


class ByName(Dataset[Any]):
    """Has its examples under names that are paths."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, key: str) -> Any:
        number = int(key.removesuffix(".jpg").rpartition("/")[2])
        return {**example(number), "id": key}


def _weighted() -> DataLoader[Any]:
    weights = [1.0 + index % 3 for index in range(LENGTH)]
    sampler = WeightedRandomSampler(weights, 150)
    return DataLoader(FetchesLists(), batch_size=8, sampler=sampler)


def _last_rank() -> DataLoader[Any]:
    sampler: DistributedSampler[Any] = DistributedSampler(Marked(), 4, 3)
    return DataLoader(Marked(), batch_size=8, sampler=sampler)


def _batch_sampler() -> DataLoader[Any]:
    sampler = BatchSampler(RandomSampler(Marked()), 8, drop_last=True)
    return DataLoader(Marked(), batch_sampler=sampler)


def _lists_as_indices() -> DataLoader[Any]:
    names = [f"a/{number}.jpg" for number in range(40)]
    return DataLoader(ByName(), batch_size=8, sampler=names)


def _concatenated() -> DataLoader[Any]:
    parts: list[Any] = [Subset(Marked(), range(50)), Subset(Marked(), range(50, 101))]
    return DataLoader(ConcatDataset(parts), batch_size=8, shuffle=True)


def _stacked() -> DataLoader[Any]:
    stacked: Any = StackDataset(image=Augments(), label=TensorDataset(torch.ones(101)))
    return DataLoader(stacked, batch_size=8, shuffle=True)


LOADERS: dict[str, Any] = {
    "weighted": _weighted,
    "last_rank": _last_rank,
    "drop_last": lambda: DataLoader(
        Marked(), batch_size=8, shuffle=True, drop_last=True
    ),
    "uneven_lists": lambda: DataLoader(Marked(), batch_sampler=UnevenLists()),
    "batch_sampler": _batch_sampler,
    "singly": lambda: DataLoader(Marked(), batch_size=None, shuffle=True),
    "own_batches": lambda: DataLoader(Batches(), batch_size=None),
    "fetches_lists": lambda: DataLoader(FetchesLists(), batch_size=8, shuffle=True),
    "by_name": _lists_as_indices,
    "out_of_order": lambda: DataLoader(SlowNowAndThen(), batch_size=8, in_order=False),
    "concatenated": _concatenated,
    "stacked": _stacked,
    "seeding_numpy": lambda: DataLoader(
        NumpyNoise(), batch_size=8, shuffle=True, worker_init_fn=seed_numpy
    ),
    "two_threads": lambda: DataLoader(
        SumsLargely(), batch_size=8, worker_init_fn=use_two_threads
    ),
    "opening": lambda: DataLoader(
        OpensAtStart(), batch_size=8, shuffle=True, worker_init_fn=open_at_start
    ),
}
"""Loaders by what is peculiar about them."""


def loader(name: str) -> DataLoader[Any]:
    """Return a loader by name."""
    found: DataLoader[Any] = LOADERS[name]()
    return found


class NumpyNoise(Marked):
    """Draws from the global state of NumPy."""

    def __getitem__(self, index: int) -> Any:
        noise = np.random.rand(3)  # what datasets do
        return {**example(index), "noise": noise}


def seed_numpy(_worker: int) -> None:
    """Seed NumPy from the worker's own seed."""
    np.random.seed(torch.initial_seed() % 2**32)


def use_two_threads(_worker: int) -> None:
    """Give a worker two threads."""
    torch.set_num_threads(2)


class OpensAtStart(Marked):
    """Has its table made by worker_init_fn; one process makes it on first use."""

    table: Any = None

    def __getitem__(self, index: int) -> Any:
        if self.table is None:
            self.table = {number: example(number) for number in range(LENGTH)}
        return dict(self.table[index])


def open_at_start(_worker: int) -> None:
    """Make the table of a worker's dataset."""
    info: Any = get_worker_info()
    info.dataset.table = {number: example(number) for number in range(LENGTH)}


# Files


class OpensLazily(Marked):
    """Opens its file on first use in each process, then seeks and reads."""

    def __init__(self, folder: str) -> None:
        self.path = records(folder)
        self.owner = 0
        self.file: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the file behind."""
        return {**self.__dict__, "file": None}

    def __getitem__(self, index: int) -> Any:
        if self.owner != os.getpid():
            self.file = self.path.open("rb")
            self.owner = os.getpid()
        self.file.seek(index * RECORD)
        return of_record(index, self.file.read(RECORD))


class ReadsHeaderFirst(OpensLazily):
    """Reads its file once when it is made, and closes it."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        with self.path.open("rb") as file:
            self.header = file.read(16)


class SharesDescriptor(Marked):
    """Reads at given positions through a descriptor that all processes share."""

    def __init__(self, folder: str) -> None:
        self.descriptor = os.open(records(folder), os.O_RDONLY)

    def __getitem__(self, index: int) -> Any:
        return of_record(index, os.pread(self.descriptor, RECORD, index * RECORD))


class MapsArray(Marked):
    """Maps its file as array of NumPy's, before the workers start."""

    def __init__(self, folder: str) -> None:
        shape = (LENGTH, RECORD)
        self.held = np.memmap(records(folder), np.uint8, "r", shape=shape)

    def __getitem__(self, index: int) -> Any:
        return of_record(index, self.held[index].tobytes())


class MapsFile(Marked):
    """Maps its file, and slices the map."""

    def __init__(self, folder: str) -> None:
        with records(folder).open("rb") as file:
            self.held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    def __getitem__(self, index: int) -> Any:
        return of_record(index, self.held[index * RECORD : (index + 1) * RECORD])


class OpensDatabase(Marked):
    """Opens its database on first use in each process."""

    def __init__(self, folder: str) -> None:
        self.path = Path(folder) / "examples.sqlite"
        self.connection: Any = None
        self.owner = 0
        if not self.path.exists():
            part = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            with sqlite3.connect(part) as made_now:
                made_now.execute("create table t (id integer primary key, data blob)")
                rows = ((number, record(number)) for number in range(LENGTH))
                made_now.executemany("insert into t values (?, ?)", rows)
            made_now.close()
            part.replace(self.path)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connection behind."""
        return {**self.__dict__, "connection": None}

    def __getitem__(self, index: int) -> Any:
        if self.owner != os.getpid():
            self.connection = sqlite3.connect(self.path)
            self.owner = os.getpid()
        query = "select data from t where id = ?"
        return of_record(index, self.connection.execute(query, (index,)).fetchone()[0])


class OpensShardsLazily(Marked):
    """Opens each of twelve shards when it is first needed, and keeps it open."""

    def __init__(self, folder: str) -> None:
        self.paths = [
            records(folder, range(start, min(LENGTH, start + 9)), f"shard{start}")
            for start in range(0, LENGTH, 9)
        ]
        self.files: dict[tuple[int, int], Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the files behind."""
        return {**self.__dict__, "files": {}}

    def __getitem__(self, index: int) -> Any:
        shard, place = divmod(index, 9)
        key = os.getpid(), shard
        if key not in self.files:
            self.files[key] = self.paths[shard].open("rb")
        self.files[key].seek(place * RECORD)
        return of_record(index, self.files[key].read(RECORD))


class OpensEachTime(Marked):
    """Opens and closes a file for each example."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        for number in range(LENGTH):
            records(folder, range(number, number + 1), f"one{number}")

    def __getitem__(self, index: int) -> Any:
        return of_record(index, (Path(self.folder) / f"one{index}.bin").read_bytes())


class LogsToFile(Marked):
    """Writes a line for each example to a file that all processes append to."""

    def __init__(self, folder: str) -> None:
        self.log = (Path(folder) / "access.log").open("a", encoding="utf-8")

    def __getitem__(self, index: int) -> Any:
        self.log.write(f"{os.getpid()} {index}\n")
        self.log.flush()
        return example(index)


# What is held in a process


class LocksAroundNothing(Marked):
    """Has a lock for each process, that is never held for long."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shared = multiprocessing.get_context("fork").Lock()

    def __getitem__(self, index: int) -> Any:
        with self.lock, self.shared:
            return example(index)


class CachesALittle(Marked):
    """Keeps the last 32 examples that a process has read."""

    def __init__(self) -> None:
        self.cached: collections.OrderedDict[int, Any] = collections.OrderedDict()

    def __getitem__(self, index: int) -> Any:
        if index not in self.cached:
            self.cached[index] = example(index)
            if len(self.cached) > 32:
                self.cached.popitem(last=False)
        self.cached.move_to_end(index)
        return dict(self.cached[index])


@functools.cache
def _cached(index: int) -> Any:
    return example(index)


class CachesAll(Marked):
    """Keeps all that a process has read, a few kilobytes."""

    def __getitem__(self, index: int) -> Any:
        return dict(_cached(index))


class CountsReads(Marked):
    """Counts what it reads, and shows the count to nobody."""

    def __init__(self) -> None:
        self.reads = 0
        self.shared = multiprocessing.get_context("fork").Value("l", 0)

    def __getitem__(self, index: int) -> Any:
        self.reads += 1
        with self.shared.get_lock():
            self.shared.value += 1
        return example(index)


class ClampsInPlace(Marked):
    """Edits what it keeps, in a way that a second time changes nothing."""

    def __init__(self) -> None:
        self.held = torch.arange(LENGTH * 4.0).reshape(LENGTH, 4)

    def __getitem__(self, index: int) -> Any:
        return {**example(index), "row": self.held[index].clamp_(0, 100).clone()}


class SharesItsEpoch(Marked):
    """Keeps the epoch in memory that kept workers share."""

    def __init__(self) -> None:
        epoch = torch.zeros((), dtype=torch.long)
        self.epoch: torch.Tensor = epoch.share_memory_()  # type: ignore[no-untyped-call]

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch, for all processes."""
        self.epoch.fill_(epoch)

    def __getitem__(self, index: int) -> Any:
        found = example(index)
        rolled = found["pixels"].flatten().roll(int(self.epoch)).reshape(1, 4, 4)
        return {**found, "pixels": rolled}


class IgnoresItsEpoch(Marked):
    """Is told the epoch, and has no use for it."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Take the epoch."""
        self.epoch = epoch


# What it says, and how long it takes


class Prints(Marked):
    """Prints four kilobytes for each example, to both streams."""

    def __getitem__(self, index: int) -> Any:
        print(f"reading {index} " + "." * 4000)
        print(f"read {index} " + "." * 4000, file=sys.stderr)
        return example(index)


class Warns(Marked):
    """Warns and logs at each reading, as if all were lost."""

    def __getitem__(self, index: int) -> Any:
        warnings.warn(f"Killed: no space left, worker {index} hung", stacklevel=1)
        logging.getLogger("store").error("RuntimeError: CUDA out of memory")
        return example(index)


class PrintsTracebacks(Marked):
    """Recovers from an error at each reading, and logs how."""

    def __getitem__(self, index: int) -> Any:
        try:
            msg = "Too many open files"
            raise OSError(msg)
        except OSError:
            logging.getLogger("store").exception("trying once more")
        return example(index)


class IsSlow(Marked):
    """Takes 20 ms for an example."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.02)
        return example(index)


class OneIsVerySlow(Marked):
    """Takes two seconds for one example, and no time for the others."""

    def __getitem__(self, index: int) -> Any:
        if index == 33:
            time.sleep(2)
        return example(index)


class SlowNowAndThen(Marked):
    """Takes longer for some examples, so that batches overtake each other."""

    def __getitem__(self, index: int) -> Any:
        if index % 16 == 0:
            time.sleep(0.1)
        return example(index)


class SlowInWorkers(Marked):
    """Takes its time to start in a worker."""

    def __init__(self) -> None:
        self.is_warm = False

    def __getitem__(self, index: int) -> Any:
        if in_worker() and not self.is_warm:
            time.sleep(1)
        self.is_warm = True
        return example(index)
