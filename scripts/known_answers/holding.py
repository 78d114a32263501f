"""Datasets whose memory is known: held ones, and large examples made on the fly.

Sizes are chosen so that nothing but what is asked about takes memory: a held example
is large beside its Python object, whose page is copied when a worker reads it; and a
made one is a view of a single number, so that no allocator keeps a part of it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

Kind = Literal["one example", "list of arrays", "one tensor", "shared tensor"]

NUMBERS = 62_500
"""Numbers of a held example: 250 kB of float32."""

HELD_BYTES = 4 * NUMBERS


class Held(Dataset[Any]):
    """Examples that lie in memory, made before any worker is.

    Args:
        kind: how they lie there; `one example` gives the same one for each index.
        length: examples.
    """

    def __init__(self, kind: Kind, length: int) -> None:
        self._kind = kind
        self._length = length
        rows = 1 if kind == "one example" else length
        if kind == "list of arrays":
            self._data: Any = [
                np.full(NUMBERS, row, dtype=np.float32) for row in range(rows)
            ]
        else:
            self._data = torch.arange(rows, dtype=torch.float32).repeat(NUMBERS, 1).T
            self._data = self._data.contiguous()
        if kind == "shared tensor":
            self._data.share_memory_()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        return self._data[0 if self._kind == "one example" else index]


class Made(Dataset[torch.Tensor]):
    """Tensors that take no memory before they are stacked.

    Args:
        numbers: of an example, four bytes each.
        length: examples.
    """

    def __init__(self, numbers: int, length: int) -> None:
        self._numbers = numbers
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((1,), float(index)).expand(self._numbers)
