"""Take apart what a stream has put together itself: batches, read with batch_size=None.

A stream that makes its own batches makes them of each worker's share: their borders are
others than in one process, and only their rows can be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def rows_of(element: Any) -> list[Any] | None:
    """Return the rows of an element that is a batch; None where it is none.

    Args:
        element: a tuple, list or dict of columns, at least two: tensors and arrays with
            a first dimension, or lists, all of one length.
    """
    if isinstance(element, dict):
        columns = list(element.values())
    elif isinstance(element, (tuple, list)):
        columns = list(element)
    else:
        return None
    lengths = {_length(column) for column in columns}
    if len(columns) < 2 or len(lengths) != 1:
        return None
    (length,) = lengths
    if not length:
        return None
    if isinstance(element, dict):
        keys = list(element)
        return [
            {key: column[row] for key, column in zip(keys, columns, strict=True)}
            for row in range(length)
        ]
    return [tuple(column[row] for column in columns) for row in range(length)]


def _length(column: Any) -> int | None:
    """Return how many rows a column has; None where it is no column."""
    if isinstance(column, torch.Tensor):
        is_plain = column.layout is torch.strided and not column.is_nested
        return int(column.shape[0]) if is_plain and column.dim() else None
    if isinstance(column, np.ndarray):
        return int(column.shape[0]) if column.ndim else None
    return len(column) if isinstance(column, list) else None
