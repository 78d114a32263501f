"""The scope's index list, compact: whole numbers lie in arrays, in memory and on disk.

12 bytes an example where all ids are whole numbers. What was read under these ids, and
what arrived, is `audit.ledger`'s.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from autoloader.audit.writing import write_array, write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_CHUNK = 65_536
"""Numbers that are turned into Python's at once."""


def told_id(index: Any) -> int | str:
    """Return an id as it is told: a whole number, or its text."""
    is_number = isinstance(index, int) and not isinstance(index, bool)
    return int(index) if is_number else str(index)


class Ints(Sequence[int]):
    """Whole numbers in an array, read as Python's own: datasets are indexed by them.

    Args:
        array: the numbers, along one axis; kept, not copied.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> Ints: ...

    def __getitem__(self, at: int | slice) -> int | Ints:
        found = self._array[at]
        return Ints(found) if isinstance(at, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        for first in range(0, len(self._array), _CHUNK):
            yield from self._array[first : first + _CHUNK].tolist()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ints):
            return bool(np.array_equal(self._array, other._array))
        if isinstance(other, (list, tuple)):
            return len(self) == len(other) and list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return f"Ints({self._array!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the array itself, for numpy."""
        return np.array(self._array, dtype=dtype, copy=copy)

    def take(self, places: Sequence[int]) -> list[int]:
        """Return the numbers at some places, as Python's."""
        if isinstance(places, range) and places.step == 1 and places.start >= 0:
            found = self._array[places.start : places.stop]
            if len(found) == len(places):
                return list(found.tolist())
        return list(self._array[np.asarray(places, np.int64)].tolist())


def compact(values: Sequence[Any]) -> Sequence[Any]:
    """Return `Ints` of values that are all whole numbers of 64 bits, else a list."""
    if isinstance(values, Ints):
        return values
    array = _as_array(values)
    return list(values) if array is None else Ints(_small(array))


def _as_array(values: Iterable[Any]) -> NDArray[np.int64] | None:
    """Return the values as an array; None where that would make others of them."""
    if isinstance(values, range):
        return np.arange(values.start, values.stop, values.step, dtype=np.int64)
    if isinstance(values, Ints):
        return np.asarray(values, np.int64)
    listed = values if isinstance(values, (list, tuple)) else list(values)
    if not set(map(type, listed)) <= {int}:  # True is 1 in an array, and "5" is none
        return None
    try:
        return np.array(listed, np.int64)
    except OverflowError:
        return None


def _small(array: NDArray[np.int64]) -> NDArray[Any]:
    """Return places (from 0, below 2**31) with 4 bytes each; others as they are."""
    if not len(array):
        return array.astype(np.int32)
    is_small = array.min() >= 0 and array.max() < 2**31
    return array.astype(np.int32) if is_small else array


@dataclass(frozen=True, slots=True)
class ScopeList:
    """The scope's index list: places in a table of distinct ids."""

    ids: Sequence[Any]
    """Distinct indices, as the sampler yields them, in order of first use."""
    places: Sequence[int]
    """The list itself: for each entry the place of its id in `ids`."""
    cuts: list[int] | None = None
    """Lengths of the batches that the user's own batch_sampler made of it; None where
    the batch size is free."""

    @classmethod
    def of(cls, indices: Sequence[Any], cuts: list[int] | None = None) -> Self:
        """Return the list that a sampler yielded."""
        array = _as_array(indices)
        if array is not None:
            ids, places = _distinct(array)
            return cls(Ints(_small(ids)), Ints(_small(places)), cuts)
        table: dict[Any, int] = {}
        found = [table.setdefault(index, len(table)) for index in indices]
        return cls(list(table), compact(found), cuts)

    def batches(self, wanted: int) -> list[list[int]]:
        """Return entries batch by batch: the first ones, and the last one of all.

        Args:
            wanted: about how many entries; all of them where there are not more.

        Raises:
            ValueError: the list has no batches of its own.
        """
        if self.cuts is None:
            msg = "the batch size is free, so the list has no batches of its own"
            raise ValueError(msg)
        ends = list(accumulate(self.cuts))
        whole = [
            list(range(end - size, end))
            for end, size in zip(ends, self.cuts, strict=True)
        ]
        if wanted >= len(self.places):
            return whole
        kept = [whole[0]]
        count = len(whole[0])
        for batch in whole[1:-1]:
            if count + len(batch) + self.cuts[-1] > wanted:
                break
            kept.append(batch)
            count += len(batch)
        return [*kept, whole[-1]] if len(whole) > 1 else kept

    def write(self, folder: Path) -> None:
        """Write the list; indices are JSON scalars (numbers and strings).

        Raises:
            StoredFileError: the disk refuses.
        """
        tables: dict[str, Any] = {"cuts": self.cuts}
        for name, values in (("ids", self.ids), ("places", self.places)):
            kept = compact(values)
            if isinstance(kept, Ints):
                write_array(folder / f"scope_{name}.npy", np.asarray(kept))
            else:
                tables[name] = kept
        write_table(folder / "scope.json", tables)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        tables = json.loads((folder / "scope.json").read_text(encoding="utf-8"))
        ids, places = (
            tables[name]
            if name in tables
            else Ints(np.load(folder / f"scope_{name}.npy", allow_pickle=False))
            for name in ("ids", "places")
        )
        return cls(ids, places, tables["cuts"])

    def indices(self, entries: Sequence[int]) -> list[Any]:
        """Return the indices at the given entries of the list."""
        places = self.places_at(entries)
        if isinstance(self.ids, Ints):
            return self.ids.take(places)
        return [self.ids[place] for place in places]

    def places_at(self, entries: Sequence[int]) -> list[int]:
        """Return the places of the ids at the given entries of the list."""
        if isinstance(self.places, Ints):
            return self.places.take(entries)
        return [self.places[entry] for entry in entries]


def _distinct(
    array: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct numbers in order of first use, and the place of each entry."""
    found, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return found[order], rank[inverse]
