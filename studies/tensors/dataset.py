"""A thousand small tensors in memory: examples that cost nothing to fetch.

The shape is that of a common introduction to DataLoader settings, which tries
`num_workers` of 0, 1, half the cores and all of them on it. Numbers mean nothing here.
"""

import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

COUNT = 1000
CLASSES = 10
SHAPE = (3, 32, 32)
"""Channels, height and width of an example."""

SEED = 3


def tensors() -> TensorDataset:
    """Return the examples, `(pixels, label)`: float32 of `SHAPE`, and 0 to 9."""
    generator = torch.Generator().manual_seed(SEED)
    pixels = torch.randn(COUNT, *SHAPE, generator=generator)
    labels = torch.randint(CLASSES, (COUNT,), generator=generator)
    return TensorDataset(pixels, labels)


def loader() -> DataLoader[tuple[Tensor, ...]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(tensors(), batch_size=32, shuffle=True)
