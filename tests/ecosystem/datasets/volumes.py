"""monai: cached volumes with noise, in its own loader, and in PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
from monai.data import CacheDataset
from monai.data import DataLoader as MonaiLoader
from monai.transforms import Compose, EnsureTyped, RandGaussianNoised
from torch.utils.data import DataLoader

from tests.conformance.datasets.records import LENGTH


def volumes(own_loader: bool = True) -> DataLoader[Any]:
    """Return a loader of volumes with noise.

    Args:
        own_loader: whether it is monai's, which seeds each worker's transforms;
            PyTorch's leaves them as they were copied, and all workers alike.
    """
    items = [
        {"image": np.full((1, 6, 6), index, np.float32), "label": index}
        for index in range(LENGTH)
    ]
    noise = RandGaussianNoised(keys="image", prob=1.0)
    transform = Compose([EnsureTyped(keys="image", track_meta=False), noise])
    dataset = CacheDataset(items, transform.set_random_state(0), progress=False)
    kind = MonaiLoader if own_loader else DataLoader
    loader: DataLoader[Any] = kind(dataset, batch_size=8)
    return loader
