"""Digest one field of many examples at once, to the same bits as one by one.

A call of torch costs as much as reading some kilobytes: where values are alike and
small, a few calls for all of them replace a few for each. What cannot be read like that
is refused, never guessed. What examples are made of is `child.makes`'.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from autoloader.child.content import (
    array_of,
    digest_of_bytes,
    digest_of_int,
    digest_of_tensor,
    digest_of_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

STACKED_BYTES = 4096
"""Tensors up to this size are copied into one before they are read."""

_NAN = struct.pack("=d", float("nan"))


class Column(NamedTuple):
    """One field of some examples, the same make in all of them."""

    type: str
    """As in `Leaf`."""
    dtype: str | None
    """As in `Leaf`."""
    shape: tuple[int, ...] | None
    """As in `Leaf`."""
    digests: list[int]
    """One an example."""


def read_column(values: Sequence[Any]) -> Column | None:
    """Return a field of some examples; None where the values are not plainly alike."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is torch.Tensor:
        return _tensors(values)
    if kind is int or kind is bool:
        return Column(kind.__name__, None, (), list(map(digest_of_int, values)))
    if kind is float:
        return Column("float", None, (), _float_digests(np.array(values, np.float64)))
    if kind is str:
        return Column("str", None, None, [digest_of_text(text)[0] for text in values])
    return None


def _tensors(values: Sequence[torch.Tensor]) -> Column | None:
    first = array_of(values[0])
    if first is None or len({value.dtype for value in values}) != 1:
        return None
    if first.nbytes <= STACKED_BYTES:
        digests = _stacked(values)
    else:
        digests = _apart(values, first.shape)
    if digests is None:
        return None
    return Column("tensor", DTYPES[first.dtype], first.shape, digests)


def _stacked(values: Sequence[torch.Tensor]) -> list[int] | None:
    """Return the digests of small tensors of one dtype; None where sizes differ."""
    try:
        stacked = torch.stack(list(values))
    except (RuntimeError, TypeError):
        return None
    found = array_of(stacked)
    return None if found is None else row_digests(stacked)


def _apart(values: Sequence[torch.Tensor], shape: tuple[int, ...]) -> list[int] | None:
    """Return the digests of large tensors; None where one is of another make."""
    digests = []
    for value in values:
        found = array_of(value)
        if found is None or found.shape != shape:
            return None
        try:
            digests.append(digest_of_bytes(found))
        except ValueError:  # its elements lie apart
            digests.append(digest_of_tensor(value)[0])
    return digests


def row_digests(column: torch.Tensor) -> list[int]:
    """Return the digest of each row of a strided tensor, as a tensor of its own."""
    found = array_of(column)
    if found is None or not found.flags.c_contiguous:
        return [digest_of_tensor(column[row])[0] for row in range(len(column))]
    if found.ndim == 1 and found.dtype.kind in {"b", "u", "i"}:
        return list(map(digest_of_int, found.tolist()))
    if found.ndim == 1 and found.dtype.kind == "f":
        return _float_digests(found)
    return slice_digests(found)


def _float_digests(values: np.ndarray[Any, Any]) -> list[int]:
    """Return digests of floats by value: one NaN is as good as another."""
    wide = values.astype(np.float64)
    wide[np.isnan(wide)] = np.frombuffer(_NAN, np.float64)[0]
    return slice_digests(wide)


def slice_digests(found: np.ndarray[Any, Any]) -> list[int]:
    """Return the digest of the bytes of each row of an array in one piece."""
    if not found.size:
        return [digest_of_bytes(b"")] * len(found)
    width = found.nbytes // len(found)
    if width <= STACKED_BYTES:  # bytes objects are made faster than views are
        rows = found.reshape(len(found), -1).view(f"V{width}").reshape(-1).tolist()
        return list(map(digest_of_bytes, rows))
    octets = found.reshape(-1).view(np.uint8).data
    return [
        digest_of_bytes(octets[at : at + width]) for at in range(0, len(octets), width)
    ]


DTYPES = {
    np.dtype(name): name
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32",
        "int64", "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip
"""What torch calls the dtypes that numpy has as well."""
