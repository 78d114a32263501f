"""Digest the content of one leaf: equal content, equal digest, in any process.

Bytes where there are bytes, values for numbers; what has neither is pickled, with its
tensors, arrays, strings and sets replaced by their digests, since a plain pickle of
them tells where they lie in memory. What examples are made of is `child.digest`'s.
"""

import io
import math
import pickle
import struct
import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import xxhash

digest_of_bytes: Callable[[Any], int] = xxhash.xxh3_64_intdigest
"""Digest what lies in one piece of memory; ValueError for what lies apart."""

_WORD = struct.Struct("=Q")

_SPARSE_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}

_NUMBER_TYPES = {
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8,
    torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
    torch.float64,
}  # fmt: skip


def digest_of_number(value: Any) -> int:
    """Digest a number by its value: 1, True and 1.0 are the same, 0.0 and -0.0 not."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        if abs(value) > 2**53:
            return digest_of_bytes(hex(value).encode())
        value = float(value)
    if isinstance(value, float):
        exact = math.nan if math.isnan(value) else value
        return digest_of_bytes(struct.pack("=d", exact))
    return digest_of_bytes(repr(value).encode())


@lru_cache(maxsize=65_536)
def digest_of_int(value: int) -> int:
    """Digest a whole number as `digest_of_number` does; the commonest are kept.

    Only for whole numbers: 0.0 and -0.0, which are not the same, would share a place.
    """
    return digest_of_number(value)


def digest_of_text(text: str) -> tuple[int, int]:
    """Return digest and bytes of a text, lone surrogates included."""
    data = text.encode("utf-8", "surrogatepass")
    return digest_of_bytes(data), len(data)


def digest_of_tensor(value: torch.Tensor) -> tuple[int, int]:
    """Return digest and bytes of a tensor on any device, of any layout."""
    array = array_of(value)
    if array is not None and array.ndim:
        with suppress(ValueError):  # its elements lie apart
            return digest_of_bytes(array), array.nbytes
    parts = _parts_of(value)
    if parts is not None:
        found = [digest_of_tensor(part) for part in parts]
        return joined(digest for digest, _ in found), sum(size for _, size in found)
    if value.is_meta or not value.numel():
        return digest_of_bytes(b""), 0
    if not value.dim() and value.dtype in _NUMBER_TYPES:
        return digest_of_number(value.item()), value.element_size()
    here = value.detach().as_subclass(torch.Tensor).cpu().resolve_conj().resolve_neg()
    # a single element is contiguous at any stride, and would not be viewed as bytes
    flat = here.contiguous().as_strided((here.numel(),), (1,))
    return digest_of_bytes(flat.view(torch.uint8).numpy()), value.nbytes


def array_of(value: torch.Tensor) -> np.ndarray[Any, Any] | None:
    """Return an array over the memory of a plain tensor; None where there is none.

    A plain tensor is strided, in the memory of the host, of a dtype that numpy has,
    with no gradient and no lazy conjugation; numpy refuses all others.
    """
    if type(value) is not torch.Tensor:
        return None
    try:
        return value.numpy()
    except (TypeError, RuntimeError):
        return None


def _parts_of(value: torch.Tensor) -> list[torch.Tensor] | None:
    """Return the strided tensors that one of another layout is made of; else None."""
    if value.is_nested:
        return list(value.unbind())
    if value.is_quantized:
        if value.qscheme() in {torch.per_tensor_affine, torch.per_tensor_symmetric}:
            scale = torch.tensor([value.q_scale(), float(value.q_zero_point())])
            return [value.int_repr(), scale]
        scales, zeros = value.q_per_channel_scales(), value.q_per_channel_zero_points()
        return [value.int_repr(), scales, zeros]
    if value.layout in _SPARSE_PARTS:
        detached = value.detach()
        names = _SPARSE_PARTS[value.layout]
        sizes = torch.tensor(value.shape)
        return [sizes, *(getattr(detached, name)() for name in names)]
    if value.layout is not torch.strided:
        return [value.to_dense()]
    return None


def digest_of_array(value: np.ndarray[Any, Any]) -> int:
    """Digest an array: what lies between the fields of a record is no content."""
    if isinstance(value, np.ma.MaskedArray):
        data, mask = np.ma.getdata(value), np.ma.getmaskarray(value)
        return joined([digest_of_array(data), digest_of_array(mask)])
    array = np.asarray(value)
    if array.dtype.names is not None:
        return joined(digest_of_array(array[name]) for name in array.dtype.names)
    if array.dtype.hasobject:
        return joined(digest_of_object(item)[0] for item in array.reshape(-1).tolist())
    if not array.ndim and array.dtype.kind in "biuf":
        return digest_of_number(array.item())
    if not array.nbytes:
        return digest_of_bytes(b"")
    if not array.dtype.isnative:  # it may be turned on its way
        array = array.astype(array.dtype.newbyteorder("="))
    octets: np.ndarray[Any, Any] = np.ascontiguousarray(array).reshape(-1)
    return digest_of_bytes(octets.view(np.uint8).data)


def digest_of_object(value: object) -> tuple[int, int]:
    """Return digest and bytes of what has no bytes of its own.

    By its pickle; where it has none (it holds a lock, say), by its type alone.
    """
    written = io.BytesIO()
    try:
        _ContentPickler(written, protocol=5).dump(value)
    except Exception:  # noqa: BLE001  # whatever __reduce__ raises: the type remains
        return digest_of_text(type(value).__qualname__)
    data = written.getvalue()
    return digest_of_bytes(data), len(data)


class _ContentPickler(pickle.Pickler):
    """Writes content and structure, but no addresses and no identities of strings."""

    def persistent_id(self, value: Any) -> int | None:
        """Return a digest that stands for the value; None lets it be pickled."""
        if isinstance(value, str):
            return digest_of_text(value)[0]
        if isinstance(value, (bytes, bytearray)):
            return digest_of_bytes(value)
        if isinstance(value, torch.Tensor):
            kind = digest_of_text(f"{value.dtype} {list(value.shape)}")[0]
            return joined([kind, digest_of_tensor(value)[0]])
        if isinstance(value, np.ndarray):
            kind = digest_of_text(f"{value.dtype.newbyteorder('=')} {value.shape}")[0]
            return joined([kind, digest_of_array(value)])
        if isinstance(value, (set, frozenset)):
            return joined(sorted(digest_of_object(item)[0] for item in value))
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return digest_of_text(value.__qualname__)[0]
        return None


def joined(digests: Iterable[int]) -> int:
    """Return one digest of several, in order."""
    state = xxhash.xxh3_64()
    for digest in digests:
        state.update(_WORD.pack(digest))
    return state.intdigest()
