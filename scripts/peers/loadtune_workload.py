"""A study as loadtune wants it: a dataset, and a training step that takes no time.

The study's file is named by the environment variable STUDY_FILE. The step is empty
because everybody here is asked for the loader alone. Runs in loadtune's environment.
"""

import os
from pathlib import Path
from typing import Any

import torch
from loadtune import Workload
from plain_loop import load
from torch import Tensor, nn


def step(_model: nn.Module, _optimizer: Any, _batch: Any, _device: Any) -> Tensor:
    """Train on a batch without doing anything."""
    return torch.zeros(())


def get_workload() -> Workload:
    """Return the study's dataset, collate function and batch size."""
    path = Path(os.environ["STUDY_FILE"])
    base = load(path)
    return Workload(
        name=path.parent.name,
        make_dataset=lambda: base.dataset,
        make_model=lambda: nn.Linear(1, 1),
        make_optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
        train_step=step,
        default_batch_size=base.batch_size,
        collate_fn=base.collate_fn,
    )
