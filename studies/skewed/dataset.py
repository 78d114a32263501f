"""Examples of which a few cost a hundred times as much as most.

Lengths of documents, clips and molecules are spread so. While a worker computes one of
the dear ones, batches of the others wait for their turn: more workers and a longer
queue help otherwise than where all examples cost the same.
"""

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

COUNT = 2048
BINS = 64
CLASSES = 10

LEAST_STEPS = 4_000
MOST_STEPS = 800_000
"""Bounds of the steps an example takes. A step is one round of a loop in Python."""

TAIL = 1.3
"""Exponent of the Pareto distribution of steps: below 2, so without a variance but for
the bound above."""

SEED = 7


class Orbits(Dataset[tuple[Tensor, int]]):
    """Orbits of the logistic map; each is as long as its id was drawn.

    An example is `(density, label)`: how often the orbit came by in each of 64 parts of
    its range, float32, adding up to 1; and a class of its starting point.
    """

    def __init__(self, count: int = COUNT) -> None:
        """Draw length and starting point of every orbit."""
        rng = np.random.default_rng(SEED)
        drawn = LEAST_STEPS * (1 + rng.pareto(TAIL, count))
        self.steps: list[int] = np.minimum(drawn, MOST_STEPS).astype(int).tolist()
        self._starts: list[float] = rng.uniform(0.1, 0.9, count).tolist()

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        steps, place = self.steps[index], self._starts[index]
        label = int(place * CLASSES)
        visits = [0] * BINS
        for _ in range(steps):
            place *= 3.99 * (1 - place)
            visits[int(place * BINS)] += 1
        return torch.tensor(visits, dtype=torch.float32) / steps, label


def skewed() -> Orbits:
    """Return the orbits."""
    return Orbits()


def loader() -> DataLoader[tuple[Tensor, int]]:
    """Return a loader with PyTorch's defaults; its settings are then the baseline."""
    return DataLoader(skewed(), batch_size=32, shuffle=True)
