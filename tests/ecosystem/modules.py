"""Modules of Lightning, as users write them; imported where it is installed."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningDataModule, LightningModule
from torch.utils.data import DataLoader, SequentialSampler

from tests.ecosystem.frameworks import Line, Numbers


class LineModule(LightningModule):  # type: ignore[misc]  # untyped where not installed
    """Trains a line."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Line()
        self.seen: list[int] = []

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """Note which examples come, and return the loss."""
        del batch_idx
        self.seen += [int(label) for label in batch["labels"]]
        return self.line(batch["x"], batch["labels"])["loss"]

    def configure_optimizers(self) -> Any:
        """Return plain descent."""
        return torch.optim.SGD(self.parameters(), lr=1e-4)


class NumbersModule(LightningDataModule):  # type: ignore[misc]  # as above
    """Hands each of its arguments to the loader."""

    def __init__(
        self,
        batch_size: int = 4,
        num_workers: int = 0,
        prefetch_factor: int | None = None,
        pin_memory: bool = False,
        persistent_workers: bool = False,
    ) -> None:
        super().__init__()
        self.kwargs = {
            "batch_size": batch_size,
            "num_workers": num_workers,
            "prefetch_factor": prefetch_factor,
            "pin_memory": pin_memory,
            "persistent_workers": persistent_workers,
        }
        self.numbers: Numbers | None = None

    def setup(self, stage: str) -> None:
        """Make the dataset, as after a download."""
        del stage
        self.numbers = Numbers()

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the loader."""
        numbers = self.numbers or Numbers()
        kwargs: dict[str, Any] = self.kwargs
        return DataLoader(numbers, sampler=SequentialSampler(numbers), **kwargs)


class RenamedModule(LightningDataModule):  # type: ignore[misc]  # as above
    """Calls its arguments in its own way."""

    def __init__(
        self,
        bs: int,
        workers: int,
        prefetch_factor: int,
        pin_memory: bool,
        persistent_workers: bool,
    ) -> None:
        super().__init__()
        self.bs, self.workers = bs, workers
        self.others = (prefetch_factor, pin_memory, persistent_workers)


class SeveralModule(NumbersModule):
    """Trains on two loaders at once."""

    def train_dataloader(self) -> Any:
        """Return both."""
        return {"a": DataLoader(Numbers()), "b": DataLoader(Numbers())}


class MakesItsLoader(LineModule):
    """A module that makes its loader itself."""

    def train_dataloader(self) -> DataLoader[Any]:
        """Return it."""
        return DataLoader(Numbers(), batch_size=4)
