"""What people train with: Trainer, DataModule, Accelerate; honest, and misused."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import h5py
import torch
from accelerate import Accelerator
from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, Dataset, IterableDataset
from transformers import Trainer, TrainingArguments

from tests.conformance.datasets.archives import OpensHdf5, hdf5_file
from tests.conformance.datasets.records import LENGTH, SIZE, SlowFile, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator


class Texts(Dataset[Any]):
    """Rows of one length, as a model of transformers takes them."""

    def __len__(self) -> int:
        """Return how many there are."""
        return LENGTH

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Return one."""
        if not 0 <= index < LENGTH:
            raise IndexError(index)
        return {"input_ids": torch.full((12,), index), "labels": index}


class WholeStream(IterableDataset[Any]):
    """The same as a stream that each worker reads from its start."""

    def __iter__(self) -> Iterator[Any]:
        """Yield each, whoever asks."""
        texts = Texts()
        yield from (texts[index] for index in range(LENGTH))


class Model(torch.nn.Module):
    """The least that a Trainer takes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(12, 2)

    def forward(self, input_ids: Any, labels: Any) -> dict[str, Any]:
        """Return the loss."""
        return {"loss": (self.layer(input_ids.float())[:, 0] - labels).square().mean()}


def trainer(streams: bool = False) -> Trainer:
    """Return a Trainer of transformers.

    Args:
        streams: whether it trains on the stream that no worker reads a share of.
    """
    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        use_cpu=True,
        report_to=[],
        per_device_train_batch_size=8,
        max_steps=10,
    )
    texts = WholeStream() if streams else Texts()
    return Trainer(model=Model(), args=arguments, train_dataset=texts)


def accelerated(streams: bool = False) -> Any:
    """Return a loader that Accelerate has prepared.

    Args:
        streams: whether it reads the stream that no worker reads a share of.
    """
    texts = WholeStream() if streams else Texts()
    return Accelerator(cpu=True).prepare(DataLoader(texts, batch_size=8))


class RowsOfAFile(LightningDataModule):  # type: ignore[misc]  # untyped elsewhere
    """A DataModule over a file of HDF5.

    Args:
        folder: of the run.
        opens_in_setup: whether the file is opened in `setup()`, before workers are.
    """

    def __init__(self, folder: str, opens_in_setup: bool = False) -> None:
        super().__init__()
        self.folder, self.opens_in_setup = folder, opens_in_setup
        self.rows: Dataset[Any] | None = None

    def prepare_data(self) -> None:
        """Make the file, as a download would."""
        hdf5_file(self.folder)

    def setup(self, stage: str) -> None:
        """Make the dataset."""
        del stage
        kind = _SharesRows if self.opens_in_setup else OpensHdf5
        self.rows = kind(self.folder)

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the loader."""
        assert self.rows is not None
        return DataLoader(self.rows, batch_size=8)


class _SharesRows(Dataset[Any]):
    """Reads through one file object, opened in the process that forks workers."""

    def __init__(self, folder: str) -> None:
        self.file = h5py.File(SlowFile(hdf5_file(folder)), "r")

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return parsed(bytes(self.file["records"][index, :SIZE].tobytes()))
