"""Digest the examples of a batch: what follows from their make is worked out once.

Examples of one dataset are made alike: the same fields, dtypes, shapes. Names, paths
and signature are then the same for thousands of them, and only content is read anew.
The digests are those of `child.digest`, to the bit. Nothing is known here of batches.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import torch

from autoloader.child.columns import DTYPES, Column, read_column, slice_digests
from autoloader.child.content import array_of, digest_of_bytes, digest_of_int
from autoloader.child.digest import (
    DigestPlan,
    ExampleDigest,
    Path,
    digest_leaf,
    path_digest,
    signature_of,
    walk,
)

Shape = tuple[int, ...] | None

MOST_KEPT = 4096
"""Makes, and places within one list, that are kept; random crops have many."""

MOST_NEW = 8
"""Values of a label, new in a batch, up to which they are digested one by one."""

_ONLY_TEXT = {str}


class Make(NamedTuple):
    """What examples are made of that are made alike."""

    paths: tuple[Path, ...]
    """Of its leaves."""
    shapes: tuple[Shape, ...]
    """Of its leaves."""
    signature: str


class Seen(Sequence[ExampleDigest]):
    """Digests of the examples that a collate_fn was given, in their order."""

    def __init__(self) -> None:
        self.is_alike = False
        """Whether all are flat, of one make, and their tensors plain ones."""
        self.makes: list[Make] = []
        """All that there are among them, once each."""
        self.make = array("i")
        """For each example its place in `makes`."""
        self.digests: list[tuple[int, ...]] = []
        """For each example the digests of its leaves."""
        self.full = array("Q")
        """As in `ExampleDigest`."""
        self.fixed = array("Q")
        """As in `ExampleDigest`."""
        self.label = array("Q")
        """As in `ExampleDigest`."""
        self.id = array("Q")
        """As in `ExampleDigest`; empty where the plan names no id."""

    def __len__(self) -> int:
        return len(self.make)

    @overload
    def __getitem__(self, at: int) -> ExampleDigest: ...

    @overload
    def __getitem__(self, at: slice) -> list[ExampleDigest]: ...

    def __getitem__(self, at: int | slice) -> ExampleDigest | list[ExampleDigest]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        make = self.makes[self.make[at]]
        return ExampleDigest(
            full=self.full[at],
            fixed=self.fixed[at],
            label=self.label[at],
            signature=make.signature,
            id=self.id[at] if self.id else 0,
        )

    @property
    def paths(self) -> tuple[Path, ...]:
        """Leaves that most of the examples have: one may be None, or cut short."""
        if len(self.makes) == 1:
            return self.makes[0].paths
        kinds = Counter(self.makes[place].paths for place in self.make)
        return kinds.most_common(1)[0][0] if kinds else ()

    def stacked(self, path: Path, shape: Sequence[int]) -> list[int] | None:
        """Return the rows' digests of a field that torch stacks; None: not known.

        Args:
            path: of the field.
            shape: of the tensor that it became.
        """
        if not self.is_alike or path not in (paths := self.makes[0].paths):
            return None
        at = paths.index(path)
        if tuple(shape) != (len(self), *(self.makes[0].shapes[at] or ())):
            return None
        return [digests[at] for digests in self.digests]

    @property
    def shapes(self) -> list[tuple[Shape, ...]]:
        """Leaf shapes of each example."""
        return [self.makes[place].shapes for place in self.make]


class _Combining:
    """Makes one digest of some leaves of a make, as `digest.combine` does.

    Args:
        paths: of all leaves.
        chosen: places of those that count.
    """

    def __init__(self, paths: Sequence[Path], chosen: Sequence[int]) -> None:
        self._chosen = tuple(chosen)
        self._words = [word for at in chosen for word in (path_digest(paths[at]), 0)]
        self._known: dict[int, int] = {}
        self._pack = struct.Struct(f"={len(self._words)}Q").pack

    def __call__(self, digests: Sequence[int]) -> int:
        """Return the digest for an example whose leaves have these."""
        words = self._words.copy()
        words[1::2] = [digests[at] for at in self._chosen]
        return digest_of_bytes(self._pack(*words))

    def many(self, columns: Sequence[array[int]]) -> list[int]:
        """Return the digests for examples whose leaves have these, field by field."""
        if len(self._chosen) == 1 and (found := self._few(columns[self._chosen[0]])):
            return found
        words = np.empty((len(columns[0]), len(self._words)), np.uint64)
        words[:, 0::2] = self._words[0::2]
        for place, at in enumerate(self._chosen):
            words[:, 2 * place + 1] = columns[at]
        return slice_digests(words)

    def _few(self, column: Sequence[int]) -> list[int]:
        """Return the digests of a single leaf of few values, as labels are; else none.

        They are kept, since they come again in every batch.
        """
        known = self._known
        new = [digest for digest in set(column) if digest not in known]
        if len(new) > MOST_NEW or len(known) + len(new) > MOST_KEPT:
            return []
        for digest in new:
            known[digest] = digest_of_bytes(self._pack(self._words[0], digest))
        return [known[digest] for digest in column]


class _Maker:
    """A make, and how its digests are combined under a plan."""

    def __init__(self, parts: Sequence[Any], plan: DigestPlan) -> None:
        """Take it apart: path, type, dtype and shape of each leaf, in turns."""
        paths = tuple(parts[0::4])
        rows = tuple(zip(*(parts[at::4] for at in range(4)), strict=True))
        signature = signature_of(rows, plan.free_shapes)
        self.make = Make(paths, tuple(parts[3::4]), signature)
        every = range(len(paths))
        fixed = [at for at in every if not plan.is_random(paths[at])]
        labels = [at for at in every if plan.is_label(paths[at])]
        ids = [at for at in every if plan.is_id(paths[at])]
        self.full = _Combining(paths, every)
        self.fixed = _Combining(paths, fixed) if len(fixed) < len(paths) else None
        """None: as `full`."""
        self.label = _Combining(paths, labels) if labels else None
        """None: there is none."""
        self.id = _Combining(paths, ids) if ids else None
        """None: there is none."""


class ExampleReader:
    """Reads the examples of a batch to digests.

    Args:
        plan: which leaves count as what.
    """

    def __init__(self, plan: DigestPlan) -> None:
        self._plan = plan
        self._makers: dict[tuple[Any, ...], _Maker] = {}
        self._below: dict[Path, list[Path]] = {}
        self._keyed: dict[tuple[Any, ...], list[tuple[str, Path]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is only kept to be quick."""
        return type(self), (self._plan,)

    def read(self, examples: Sequence[Any]) -> Seen:
        """Return the digests of some examples."""
        seen = Seen()
        if not self._read_columns(examples, seen):
            self._read_each(examples, seen)
        return seen

    def _read_columns(self, examples: Sequence[Any], seen: Seen) -> bool:
        """Read examples that are plainly alike; False, and nothing read, for others."""
        fields = _fields_of(examples)
        columns: list[Column] = []
        parts: list[Any] = []
        for path, values in fields:
            column = read_column(values)
            if column is None:
                return False
            columns.append(column)
            parts += (path, *column[:3])
        if not columns:
            return False
        maker = self._maker_of(parts)
        digests = [array("Q", column.digests) for column in columns]
        seen.is_alike = True
        seen.makes.append(maker.make)
        seen.make = array("i", [0]) * len(examples)
        seen.digests = list(zip(*(column.digests for column in columns), strict=True))
        seen.full = array("Q", maker.full.many(digests))
        if maker.fixed is None:
            seen.fixed = seen.full
        else:
            seen.fixed = array("Q", maker.fixed.many(digests))
        seen.label = _named(maker.label, digests)
        if self._plan.id is not None:
            seen.id = _named(maker.id, digests)
        return True

    def _read_each(self, examples: Sequence[Any], seen: Seen) -> None:
        """Read examples of any make, one by one."""
        last: list[Any] | None = None
        place, maker = -1, None
        places: dict[_Maker, int] = {}
        for example in examples:
            parts: list[Any] = []
            digests: list[int] = []
            self._gather(example, (), parts, digests)
            if maker is None or parts != last:
                last, maker = parts, self._maker_of(parts)
                place = places.setdefault(maker, len(places))
                if place == len(seen.makes):
                    seen.makes.append(maker.make)
            full = maker.full(digests)
            seen.make.append(place)
            seen.digests.append(tuple(digests))
            seen.full.append(full)
            seen.fixed.append(full if maker.fixed is None else maker.fixed(digests))
            seen.label.append(0 if maker.label is None else maker.label(digests))
            if self._plan.id is not None:
                seen.id.append(0 if maker.id is None else maker.id(digests))

    def _maker_of(self, parts: list[Any]) -> _Maker:
        key = tuple(parts)
        maker = self._makers.get(key)
        if maker is None:
            maker = _Maker(parts, self._plan)
            if len(self._makers) < MOST_KEPT:
                self._makers[key] = maker
        return maker

    def _gather(
        self, value: Any, path: Path, parts: list[Any], digests: list[int]
    ) -> None:
        """Add path, type, dtype and shape of each leaf to `parts`, and its digest.

        The kinds that most examples are made of, told by their exact type; all others
        go by `digest.walk` and `digest.digest_leaf`.
        """
        kind = type(value)
        if kind is torch.Tensor:
            if self._gather_tensor(value, path, parts, digests):
                return
        elif kind is int:
            parts += (path, "int", None, ())
            digests.append(digest_of_int(value))
            return
        elif kind is tuple or kind is list:
            below = self._below.get(path)
            if below is None or len(below) < len(value):
                below = self._places_below(path, len(value))
            for item, there in zip(value, below, strict=False):
                self._gather(item, there, parts, digests)
            return
        elif kind is dict and set(map(type, value)) == _ONLY_TEXT:
            for name, there in self._keys_below(path, value):
                self._gather(value[name], there, parts, digests)
            return
        for there, item in walk(value, path):
            leaf = digest_leaf(there, item)
            parts += leaf[:4]
            digests.append(leaf.digest)

    def _gather_tensor(
        self, value: torch.Tensor, path: Path, parts: list[Any], digests: list[int]
    ) -> bool:
        """Add a plain tensor; False, and nothing added, where it is another."""
        found = array_of(value)
        if found is None or not found.ndim:
            return False
        try:
            digests.append(digest_of_bytes(found))
        except ValueError:  # its elements lie apart
            return False
        parts += (path, "tensor", DTYPES[found.dtype], found.shape)
        return True

    def _places_below(self, path: Path, count: int) -> list[Path]:
        """Return the paths of the places of a list."""
        below: list[Path] = [(*path, place) for place in range(count)]
        if count <= MOST_KEPT and len(self._below) < MOST_KEPT:
            self._below[path] = below
        return below

    def _keys_below(self, path: Path, value: dict[str, Any]) -> list[tuple[str, Path]]:
        """Return keys, in order of their names, and the paths that they lead to."""
        key = (path, *value)
        found = self._keyed.get(key)
        if found is None:
            found = [(name, (*path, name)) for name in sorted(value)]
            if len(self._keyed) < MOST_KEPT:
                self._keyed[key] = found
        return found


def _named(combining: _Combining | None, columns: Sequence[array[int]]) -> array[int]:
    """Return the digests of a field that the plan names; 0 where there is none."""
    if combining is None:
        return array("Q", [0]) * len(columns[0])
    return array("Q", combining.many(columns))


def _fields_of(examples: Sequence[Any]) -> list[tuple[Path, Sequence[Any]]]:
    """Return the fields of examples that are flat and of one kind; none of others.

    In the order and with the paths of `digest.walk`.
    """
    kinds = set(map(type, examples))
    if len(kinds) != 1:
        return []
    kind, first = kinds.pop(), examples[0]
    if kind is tuple or kind is list:
        if len(set(map(len, examples))) != 1:
            return []
        columns = zip(*examples, strict=True)
        return [((place,), column) for place, column in enumerate(columns)]
    if kind is dict:
        names = first.keys()
        if any(
            example.keys() != names or set(map(type, example)) != _ONLY_TEXT
            for example in examples
        ):
            return []
        return [((name,), [one[name] for one in examples]) for name in sorted(first)]
    return [((), examples)]
