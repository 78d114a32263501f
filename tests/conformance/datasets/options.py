"""Loaders whose settings PyTorch refuses, or refuses late, or means otherwise."""

import time
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from tests.conformance.marked import Marked


def with_settings(**settings: Any) -> DataLoader[Any]:
    """Return a loader of an honest dataset with these settings."""
    return DataLoader(Marked(), **{"batch_size": 8, **settings})


def with_numpy_numbers() -> DataLoader[Any]:
    """Return a loader whose numbers come from a table of numpy's."""
    return with_settings(num_workers=np.int64(2), prefetch_factor=np.int64(3))


def with_numpy_batch_size() -> DataLoader[Any]:
    """Try to make a loader whose batch size is a number of numpy's."""
    return with_settings(batch_size=np.int64(8))


def with_lists() -> DataLoader[Any]:
    """Return a loader whose batches are listed."""
    lists = [list(range(first, min(101, first + 8))) for first in range(0, 101, 8)]
    return DataLoader(Marked(), batch_sampler=lists)


def without_batches() -> DataLoader[Any]:
    """Return a loader that hands out single examples."""
    return with_settings(batch_size=None)


class Empty(Marked):
    """Has no examples."""

    def __len__(self) -> int:
        """Return the length of an epoch."""
        return 0


def empty_and_shuffled() -> DataLoader[Any]:
    """Try to make a loader that shuffles nothing."""
    return DataLoader(Empty(), batch_size=8, shuffle=True)


def empty_in_order() -> DataLoader[Any]:
    """Return a loader of nothing."""
    return DataLoader(Empty(), batch_size=8)


# Batches that pinning knows, rebuilds, or leaves alone


class Bag(dict[str, Any]):
    """A dict with something beside its fields."""

    tag = "bag"


class Batch:
    """A batch of a class that pinning does not know."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.fields = found


def as_bag(examples: list[Any]) -> Any:
    """Collate to a subclass of dict."""
    return Bag(torch.utils.data.default_collate(examples))


def as_batch(examples: list[Any]) -> Any:
    """Collate to an object."""
    return Batch(torch.utils.data.default_collate(examples))


def as_pair(examples: list[Any]) -> Any:
    """Collate to a subclass of tuple that takes two arguments."""
    found = torch.utils.data.default_collate(examples)
    return Pair(found["pixels"], found["label"])


class Pair(tuple[Any, Any]):
    """A pair with a constructor of its own, which pinning does not know how to call."""

    __slots__ = ()

    def __new__(cls, pixels: Any, label: Any) -> "Pair":
        """Return the pair."""
        return super().__new__(cls, (pixels, label))

    def __getnewargs__(self) -> tuple[Any, Any]:
        """Return what a pickle builds it from."""
        return (self[0], self[1])


def pinned(kind: str) -> DataLoader[Any]:
    """Return a loader that pins batches of a kind.

    Args:
        kind: name of the collate function.
    """
    collate = {"bag": as_bag, "batch": as_batch, "pair": as_pair}[kind]
    return with_settings(collate_fn=collate, pin_memory=True)


# Order


class HasSlowOnes(Marked):
    """Is slow for one example in sixteen: what comes behind it waits."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, some of them late."""
        if index % 16 == 0:
            time.sleep(0.1)
        return super().__getitem__(index)


def slow_ones(in_order: bool) -> DataLoader[Any]:
    """Return a loader of unevenly slow examples.

    Args:
        in_order: whether batches are handed out in the sampler's order.
    """
    return DataLoader(
        HasSlowOnes(), batch_size=8, num_workers=2, in_order=in_order, shuffle=True
    )
