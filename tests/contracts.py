"""Datasets that keep a contract, or break it."""

from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

LENGTH = 40


class FourRecords(Dataset[Any]):
    """Four images, one of them grey until it is mended."""

    def __init__(self, mended: bool = False) -> None:
        self.mended = mended

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        channels = 1 if index == 2 and not self.mended else 3
        return torch.full((channels, 16, 16), float(index)), index


class Whole(Dataset[Any]):
    """All examples are whole."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 4), float(index)), index % 7


class Longer(Whole):
    """Has more examples than it had."""

    def __len__(self) -> int:
        return LENGTH + 2


class NewLabel(Whole):
    """One label is none of those that there were."""

    def __getitem__(self, index: int) -> Any:
        pixels, label = super().__getitem__(index)
        return pixels, 99 if index == 11 else label


class Holes(Whole):
    """Two examples are None, in every process."""

    def __getitem__(self, index: int) -> Any:
        return None if index in {5, 17} else super().__getitem__(index)


class MoreHoles(Holes):
    """One more is None, in workers only."""

    def __getitem__(self, index: int) -> Any:
        if index == 21 and get_worker_info() is not None:
            return None
        return super().__getitem__(index)


def drop_none(examples: list[Any]) -> Any:
    """Collate what is there."""
    return default_collate([item for item in examples if item is not None])


def filtering(holes: str = "Holes") -> DataLoader[Any]:
    """Return a loader that leaves out what is None."""
    dataset = Holes() if holes == "Holes" else MoreHoles()
    return DataLoader(dataset, batch_size=8, collate_fn=drop_none)


class Sequences(Dataset[Any]):
    """Tokens of differing lengths."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return {"tokens": torch.arange(2, 5 + index % 9), "label": index % 3}


def padded(examples: list[Any]) -> Any:
    """Pad to the longest, and say where."""
    tokens = pad_sequence([item["tokens"] for item in examples], batch_first=True)
    lengths = torch.tensor([len(item["tokens"]) for item in examples])
    return {
        "tokens": tokens,
        "mask": torch.arange(tokens.shape[1]) < lengths[:, None],
        "label": torch.tensor([item["label"] for item in examples]),
    }


def padded_wrongly(examples: list[Any]) -> Any:
    """Do so, but leave the mask of long batches whole in a worker."""
    batch = padded(examples)
    info = get_worker_info()
    if info is not None and info.id == 1:
        batch["mask"][:] = True
    return batch


def padding(is_right: bool = True) -> DataLoader[Any]:
    """Return a loader that pads and masks."""
    collate = padded if is_right else padded_wrongly
    return DataLoader(Sequences(), batch_size=8, collate_fn=collate)
