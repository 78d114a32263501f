"""Reduce an example to digests: what it is made of, and what its bytes are.

An example is walked to its leaves (tensors, arrays, numbers, strings); each leaf gets a
64-bit xxh3 digest of its content (`child.content`). Nothing of the content leaves here.

Numbers are digested by value: a Python float and the float64 row that default_collate
makes of it are the same, and dtypes are judged from the signature instead.
"""

import dataclasses
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import xxhash

from autoloader.child.content import (
    digest_of_array,
    digest_of_int,
    digest_of_number,
    digest_of_object,
    digest_of_tensor,
    digest_of_text,
)

Part = str | int
Path = tuple[Part, ...]
_PAIR = struct.Struct("=QQ")


class Leaf(NamedTuple):
    """One field of an example."""

    path: Path
    """Keys and places that lead to it."""
    type: str
    """Kind of value, as in `FieldFacts.type`."""
    dtype: str | None
    """Element type; None for strings and classes."""
    shape: tuple[int, ...] | None
    """Sizes; None for what has no shape."""
    digest: int
    """xxh3 of its bytes, 64 bits."""
    size: int
    """Bytes of its content."""


def name_of(path: Path) -> str:
    """Return a path as people write it: `meta.key`, `0`; empty for the example."""
    return ".".join(str(part) for part in path)


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of an example with their paths, in an order of their names.

    The order of a mapping's keys is no content: it can follow from a set of strings,
    which each process orders otherwise.
    """
    if isinstance(value, Mapping):
        for key in sorted(value.keys(), key=str):
            is_number = isinstance(key, int) and not isinstance(key, bool)
            yield from walk(value[key], (*path, key if is_number else str(key)))
    elif isinstance(value, (list, tuple, range)):
        for place, item in enumerate(value):
            yield from walk(item, (*path, place))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from walk(getattr(value, field.name), (*path, field.name))
    else:
        yield path, value


def leaves(example: Any) -> list[Leaf]:
    """Return the digested leaves of an example."""
    return [digest_leaf(path, value) for path, value in walk(example)]


def digest_leaf(path: Path, value: Any) -> Leaf:
    """Return one leaf: its kind, element type, shape and digest."""
    if type(value) is int:
        return Leaf(path, "int", None, (), digest_of_int(value), 8)
    if isinstance(value, torch.Tensor):
        dtype, shape = str(value.dtype).removeprefix("torch."), _shape_of(value)
        return Leaf(path, "tensor", dtype, shape, *digest_of_tensor(value))
    if isinstance(value, (np.ndarray, np.void)):
        array = np.asanyarray(value)
        dtype, shape = str(array.dtype), tuple(array.shape)
        return Leaf(path, "array", dtype, shape, digest_of_array(array), array.nbytes)
    if isinstance(value, str):
        return Leaf(path, "str", None, None, *digest_of_text(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        digest = xxhash.xxh3_64_intdigest(value)
        return Leaf(path, "bytes", None, None, digest, len(value))
    if value is None:
        return Leaf(path, "none", None, None, 0, 0)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        dtype_name = str(value.dtype) if isinstance(value, np.generic) else None
        kind = "number" if dtype_name else type(value).__name__
        return Leaf(path, kind, dtype_name, (), digest_of_number(value), 8)
    kind = type(value).__qualname__
    return Leaf(path, kind, None, None, *digest_of_object(value))


def _shape_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Return the sizes; None for a nested tensor, which has no regular ones."""
    return None if tensor.is_nested else tuple(tensor.shape)


def combine(found: Sequence[Leaf]) -> int:
    """Return one digest of several leaves, their paths included."""
    state = xxhash.xxh3_64()
    for leaf in found:
        state.update(_PAIR.pack(path_digest(leaf.path), leaf.digest))
    return state.intdigest()


@lru_cache(maxsize=4096)
def path_digest(path: Path) -> int:
    """Return the digest of a leaf's name."""
    return digest_of_text(name_of(path))[0]


def signature(found: Sequence[Leaf], free_shapes: frozenset[str] = frozenset()) -> str:
    """Return what an example is made of, without content, as JSON text.

    Args:
        found: leaves of the example.
        free_shapes: names of fields whose shape may differ between readings.
    """
    return signature_of(
        tuple((leaf.path, leaf.type, leaf.dtype, leaf.shape) for leaf in found),
        free_shapes,
    )


@lru_cache(maxsize=4096)
def signature_of(parts: tuple[Any, ...], free_shapes: frozenset[str]) -> str:
    """Return the same of path, kind, element type and shape of each leaf."""
    rows = []
    for path, kind, dtype, shape in parts:
        name = name_of(path)
        sizes = None if shape is None else list(shape)
        rows.append([name, kind, dtype, "free" if name in free_shapes else sizes])
    return json.dumps(rows)


class ExampleDigest(NamedTuple):
    """All that is kept of an example."""

    full: int
    """Every leaf: tells whether a collated row is this very example."""
    fixed: int
    """Leaves that any reading of the example has in common."""
    label: int
    """The label's leaf; 0 where there is none."""
    signature: str
    """What it is made of."""
    id: int = 0
    """The id's leaf; 0 where there is none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DigestPlan:
    """Which leaves count as what, as the reference found them."""

    random: frozenset[str] = frozenset()
    """Names of fields that differ from reading to reading."""
    free_shapes: frozenset[str] = frozenset()
    """Names of random fields whose shape differs as well."""
    label: str | None = None
    """Name of the label's field."""
    id: str | None = None
    """Name of the field that names the examples of a stream; None: none was named."""
    by_rows: bool = False
    """Whether an element of a stream that is a batch is taken apart."""

    def digest(self, example: Any) -> ExampleDigest:
        """Return the digests of an example."""
        return self.digest_leaves(leaves(example))

    def digest_leaves(self, found: Sequence[Leaf]) -> ExampleDigest:
        """Return the digests of an example that was walked already."""
        fixed = [leaf for leaf in found if not self.is_random(leaf.path)]
        labels = [leaf for leaf in found if self.is_label(leaf.path)]
        ids = [leaf for leaf in found if self.is_id(leaf.path)]
        return ExampleDigest(
            full=combine(found),
            fixed=combine(fixed),
            label=combine(labels) if labels else 0,
            signature=signature(found, self.free_shapes),
            id=combine(ids) if ids else 0,
        )

    def is_random(self, path: Path) -> bool:
        """Whether the leaf there differs from reading to reading."""
        return bool(self.random) and name_of(path) in self.random

    def is_label(self, path: Path) -> bool:
        """Whether the leaf there is the label, or a part of it."""
        return self.label is not None and _below(path, self.label)

    def is_id(self, path: Path) -> bool:
        """Whether the leaf there is the id, or a part of it."""
        return self.id is not None and _below(path, self.id)


@lru_cache(maxsize=4096)
def _below(path: Path, name: str) -> bool:
    """Whether the leaf at `path` is the field `name` or lies under it."""
    here = name_of(path)
    return here == name or here.startswith(f"{name}.")
