"""Training steps: a small convnet, one that is slow, one that fails."""

import time
from typing import Any

import torch

CONVNET_SIDE = 32


class Images(torch.utils.data.Dataset[Any]):
    """Images that take two milliseconds of computing to make, and their labels."""

    def __len__(self) -> int:
        return 320

    def __getitem__(self, index: int) -> Any:
        side = CONVNET_SIDE
        image = torch.full((3, side, side), index / 320.0)
        until = time.perf_counter() + 0.002
        while time.perf_counter() < until:
            image * 1.0001  # not kept: how often is the machine's matter
        return image, index % 10


class Convnet:
    """Two convolutions, trained."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(32 * (CONVNET_SIDE // 4) ** 2, 10),
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def __call__(self, batch: Any) -> None:
        """Train on a batch."""
        images, labels = batch
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()


def slow(batch: Any) -> None:
    """Take fifty milliseconds, as an accelerator may that is waited for."""
    del batch
    time.sleep(0.05)


def refuse(batch: Any) -> None:
    """Fail at once."""
    raise ValueError(f"expected 4 fields, got {len(batch)}")
