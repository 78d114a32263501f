"""Digest a batch: as a whole, and row by row.

A tensor of large rows is digested row by row, and its own digest follows from those:
the training process, which needs both, then reads each byte once. That is decided by
shape and dtype alone, so that worker and training process agree. What a batch is
compared with is in `child.recorder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from autoloader.child.columns import row_digests
from autoloader.child.content import array_of, joined
from autoloader.child.digest import Leaf, Path, combine, digest_leaf, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.child.makes import Seen, Shape

LEAST_ROW_BYTES = 2048
"""Rows from which a tensor is digested by row: a call costs as much as 4 KB to read."""


class BatchDigest:
    """A batch that arrived, or that collate_fn returned.

    Args:
        batch: the batch.
        is_single: whether it is one element of the dataset (batch_size=None).
        stacked: the examples that torch's own collate_fn made it of: large rows are
            then not read again, but taken for theirs. The training process reads what
            arrived, and whatever is otherwise shows there. None: they are read.
    """

    def __init__(
        self, batch: Any, *, is_single: bool, stacked: Seen | None = None
    ) -> None:
        self._stacked = stacked
        self._rows: dict[int, list[int]] = {}
        """Digests of the rows of each tensor that was digested by row, by its id."""
        self._items: dict[int, Leaf] = {}
        """All other leaves, by the id of their value."""
        self._batch = batch  # while it lives, no other value has the id of one of its
        self.leaves = [
            self._leaf(path, value, is_single=is_single) for path, value in walk(batch)
        ]

    @property
    def whole(self) -> int:
        """One digest of the batch."""
        return combine(self.leaves)

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return sum(leaf.size for leaf in self.leaves)

    def _leaf(self, path: Path, value: Any, *, is_single: bool) -> Leaf:
        if not is_single and isinstance(value, torch.Tensor) and _has_large_rows(value):
            rows = self._rows[id(value)] = self._rows_of(path, value)
            dtype = str(value.dtype).removeprefix("torch.")
            shape = tuple(value.shape)
            return Leaf(path, "tensor", dtype, shape, joined(rows), value.nbytes)
        leaf = self._items[id(value)] = digest_leaf(path, value)
        return leaf

    def _rows_of(self, path: Path, value: torch.Tensor) -> list[int]:
        if self._stacked is not None and type(value) is torch.Tensor:
            known = self._stacked.stacked(path, value.shape)
            if known is not None:
                return known
        return row_digests(value.detach().as_subclass(torch.Tensor).cpu())

    def column(self, path: Path, column: Any) -> tuple[list[int], Sequence[Shape]]:
        """Return digests and shapes of the rows of a field.

        Args:
            path: of the field in an example.
            column: its values, one a row: a tensor, list or tuple.
        """
        if type(column) is torch.Tensor and column.layout is torch.strided:
            rows = self._rows.get(id(column))
            if rows is None and array_of(column) is not None:
                rows = row_digests(column)
            if rows is not None:
                return rows, [tuple(column.shape[1:])] * len(rows)
        found = [self.item(path, column[row]) for row in range(len(column))]
        return [leaf.digest for leaf in found], [leaf.shape for leaf in found]

    def item(self, path: Path, value: Any) -> Leaf:
        """Return the leaf that a row has in one field."""
        known = self._items.get(id(value))
        if known is not None and isinstance(value, (torch.Tensor, np.ndarray)):
            return known._replace(path=path)
        return digest_leaf(path, value)


def _has_large_rows(value: torch.Tensor) -> bool:
    """Whether a tensor is digested by row; nothing but its kind and sizes decide."""
    if value.layout is not torch.strided or value.is_nested:
        return False
    if value.is_quantized or value.is_meta or value.dim() < 2 or not len(value):
        return False
    return value.nbytes >= LEAST_ROW_BYTES * len(value)
