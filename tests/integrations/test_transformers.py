"""Arguments of `TrainingArguments`, and the loader of a Trainer.

With the framework itself: `tests/ecosystem/test_trainers.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from autoloader.export.recommendation import OtherMachineWarning
from autoloader.integrations.transformers import train_loader, training_arguments
from autoloader.measure import machine
from tests.export.exported import a_recommendation
from tests.fakes import a_machine


@pytest.fixture
def this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the machine of the recommendation the one that runs."""
    monkeypatch.setattr(machine, "read_machine", lambda: a_machine(8))
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)


@pytest.mark.usefixtures("this_machine")
def test_arguments_have_the_names_of_training_arguments() -> None:
    """And the caller's own come first."""
    found = training_arguments(
        a_recommendation(sizes=(32, 64)), dataloader_num_workers=1, output_dir="out"
    )

    assert found == {
        "per_device_train_batch_size": 64,
        "dataloader_num_workers": 1,
        "dataloader_prefetch_factor": 4,
        "dataloader_pin_memory": True,
        "dataloader_persistent_workers": True,
        "output_dir": "out",
    }


def test_another_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the caller's line."""
    here = dataclasses.replace(a_machine(8), cpu_model="Another CPU")
    monkeypatch.setattr(machine, "read_machine", lambda: here)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)

    with pytest.warns(OtherMachineWarning, match="this machine is another") as caught:
        training_arguments(a_recommendation())

    assert caught[0].filename == __file__


def test_the_loader_of_a_trainer_is_its_training_loader() -> None:
    """Asked for, and nothing is read."""
    loader: DataLoader[Any] = DataLoader(TensorDataset(torch.arange(4)), batch_size=2)

    class Trainer:
        """What a Trainer of transformers has."""

        def get_train_dataloader(self) -> DataLoader[Any]:
            """Return the loader."""
            return loader

    assert train_loader(Trainer()) is loader
