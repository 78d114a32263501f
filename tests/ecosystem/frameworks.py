"""What tests with real frameworks share: the import of one, and data to load."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

LENGTH = 24


def framework(name: str, *, how: str = "scripts/test --ecosystem installs it") -> Any:
    """Return an installed module; skip the test where it is not.

    What it warns of while it is imported is its own affair.

    Args:
        name: of the module.
        how: it could be there.
    """
    reason = f"{name} is not installed; {how}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=reason)


class Numbers(Dataset[dict[str, torch.Tensor]]):
    """Examples as a model of transformers takes them, each told by its number."""

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        """Return one."""
        if not 0 <= index < LENGTH:
            raise IndexError(index)
        return {"x": torch.full((3,), float(index)), "labels": torch.tensor(index)}


class Stream(IterableDataset[dict[str, torch.Tensor]]):
    """The same, read by one worker for all."""

    def __iter__(self) -> Any:
        """Yield each once, whoever asks."""
        worker = torch.utils.data.get_worker_info()
        if worker is None or worker.id == 0:
            numbers = Numbers()
            yield from (numbers[index] for index in range(LENGTH))


class Line(torch.nn.Module):
    """The least that can be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return loss and logits."""
        logits = self.layer(x)
        return {"loss": (logits[:, 0] - labels).square().mean(), "logits": logits}


def labels_in(loader: Any) -> list[int]:
    """Return the numbers of an epoch, sorted."""
    return sorted(int(label) for batch in loader for label in batch["labels"])
