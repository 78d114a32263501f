"""A dataset whose names say things to a terminal: its class, a field, an exception."""

from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

TRICKS = "\x1b[2J\x1b]0;owned\x07\x9b1mev\u202eil\r\n\u2028\u200b"
"""Clears the screen, sets the title, goes bold, turns the writing round, ends lines."""

SHOWN = "evil"
"""What is left of it."""


class _Named(Dataset[Any]):
    """Changes example 5 in one of two workers, and raises where there is one."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        worker = get_worker_info()
        if worker is not None and worker.num_workers == 1:
            raise ValueError(TRICKS)
        value = index + (index == 5 and worker is not None)
        return {f"{TRICKS}pixels": torch.full((3,), float(value)), "label": index % 5}


class _Stream(IterableDataset[Any]):
    """Texts as ids; the sixth is lost where there is a worker."""

    def __iter__(self) -> Any:
        worker = get_worker_info()
        for index in range(24):
            if worker is None or index != 5:
                yield {"id": f"{TRICKS}{index}", "pixels": torch.full((3,), 1.0)}


class Honest(_Named):
    """Names alone: nothing is changed, and nothing raised."""

    def __getitem__(self, index: int) -> Any:
        pixels = torch.full((3,), float(index))
        return {f"{TRICKS}pixels": pixels, "label": index % 5}


for _kind in (_Named, _Stream, Honest):
    _kind.__name__ = _kind.__qualname__ = f"{TRICKS}Photos"

named, stream, honest = _Named(), _Stream(), Honest()
