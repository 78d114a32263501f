"""A dataset that is wrong as soon as it has workers, and gets faster by them.

Where an example cannot be read, it gives the next one instead: a habit of many
trainings, which hides that one of the examples never arrives, and another twice. Here
it is the eighth, whenever a worker reads it; the ninth comes in its place. The label is
the id, so that what arrives can be counted.
"""

import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

COUNT = 600
LOST = 7
WAIT_S = 0.004


class Loses(Dataset[tuple[Tensor, int]]):
    """Waits a little for each; in workers one is lost, and the next comes twice."""

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(WAIT_S)
        if index == LOST and get_worker_info() is not None:
            index += 1
        return torch.full((16,), float(index)), index


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults."""
    return DataLoader(Loses(), batch_size=32, shuffle=True)
