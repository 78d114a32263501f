"""A dataset whose workers take more memory with each example, and give none back."""

from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

TAKEN_BYTES = 50 << 20


class Hungry(Dataset[torch.Tensor]):
    """Keeps 50 MiB, all of it written to, for each example that a worker reads."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def __len__(self) -> int:
        """Return so many that they would take 50 GiB."""
        return 1024

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return a small example."""
        if get_worker_info() is not None:
            self._kept.append(np.ones(TAKEN_BYTES, np.uint8))
        return torch.tensor([index])
