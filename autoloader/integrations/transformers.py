"""Hugging Face's Trainer: what it trains on, and arguments that it takes.

    autoloader tune --dataset train.py:make_trainer

tunes what a function that returns a Trainer trains on; `train_loader` gives the same to
a script. Transformers itself is not imported here: the Trainer is the caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.trainers import plain_loader

if TYPE_CHECKING:
    from torch.utils.data import DataLoader
    from transformers import Trainer

    from autoloader.export.recommendation import Recommendation


def train_loader(trainer: Trainer) -> DataLoader[Any]:
    """Return the loader that a Trainer trains with, as a plain `DataLoader`.

    Batches have the size that one process has, and stay on the CPU: what Accelerate
    puts around the loader is left out. Nothing is read.

    Args:
        trainer: a Trainer with a `train_dataset`.

    Raises:
        UsageError: its `get_train_dataloader` gives something else.
    """
    return plain_loader(trainer.get_train_dataloader(), trainer)


def training_arguments(recommendation: Recommendation, **others: Any) -> dict[str, Any]:
    """Return keyword arguments for `TrainingArguments`.

    Warns, as `Recommendation.dataloader` does, on other hardware. The batch size is
    among them where it was searched; `autoloader export --to transformers` says what
    cannot be set.

    Args:
        recommendation: what was found.
        others: further arguments, which come first where both have one.
    """
    recommendation.warn_if_elsewhere()
    return {**recommendation.kwargs("transformers"), **others}
