"""A training step on the photos: a small convnet, trained on the CPU.

`--step studies/photos/step.py:SmallConvnet`. Four convolutions, each of which halves
the picture.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn


class SmallConvnet:
    """Model and optimizer; called with each batch."""

    def __init__(self, width: int = 8) -> None:
        torch.manual_seed(0)
        sizes = (3, width, 2 * width, 4 * width, 4 * width)
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        self.model = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(sizes[-1], 1000)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def __call__(self, batch: tuple[Tensor, Tensor]) -> float:
        """Train on a batch; return the loss."""
        photos, labels = batch
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(photos), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.item()
