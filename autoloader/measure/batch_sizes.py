"""How many examples a batch brings, told by the batch itself.

By the first field whose first size is the loader's `batch_size`, or by the first field
that has a size where none is known. Reads shapes and lengths, and no content; no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

DEEPEST = 4
"""Fields within fields that are looked at."""

MOST = 64
"""Fields of one mapping or list that are looked at."""


class BatchCounter:
    """Counts the examples of a loader's batches, by what the first one showed.

    Args:
        batch_size: of the loader; None: it has none, or is no DataLoader.
    """

    def __init__(self, batch_size: int | None) -> None:
        self._batch_size = batch_size
        self._path: tuple[Any, ...] | None = None
        self._has_begun = False
        self.is_estimated = False
        """Whether a batch was taken to bring `batch_size` examples."""
        self.is_known = True
        """Whether every batch so far said how many it brings, or was taken to."""

    def count(self, batch: Any) -> int:
        """Return the examples of a batch; 0 where nothing tells."""
        if not self._has_begun:
            self._has_begun = True
            self._path = _path_to_size(batch, self._batch_size)
        if self._path is not None:
            try:
                return _size_at(batch, self._path)
            except (AttributeError, LookupError, TypeError):
                pass  # it is not like the first one
        if self._batch_size is None:
            self.is_known = False
            return 0
        self.is_estimated = True
        return self._batch_size


def _path_to_size(batch: Any, batch_size: int | None) -> tuple[Any, ...] | None:
    for path, size in _sizes(batch, (), DEEPEST):
        if batch_size is None or size == batch_size:
            return path
    return None


def _sizes(
    found: Any, path: tuple[Any, ...], depth: int
) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield the way to each field that has a size, and that size; the deepest first."""
    shape = getattr(found, "shape", None)
    if isinstance(shape, tuple):
        if shape:
            yield path, int(shape[0])
        return
    if isinstance(found, Mapping):
        items: Iterator[tuple[Any, Any]] = iter(found.items())
    elif isinstance(found, (list, tuple)):
        items = enumerate(found)
    else:
        return
    if depth:
        for key, value in islice(items, MOST):
            yield from _sizes(value, (*path, key), depth - 1)
    if isinstance(found, (list, tuple)):
        yield path, len(found)


def _size_at(batch: Any, path: tuple[Any, ...]) -> int:
    for key in path:
        batch = batch[key]
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None else len(batch)
