"""Hugging Face transformers: arguments of `TrainingArguments`.

Keys read in transformers 5.24.0, `transformers/training_args.py`, `TrainingArguments`,
whose `__post_init__` refuses a prefetch factor without workers, and how they reach the
loader in `transformers/trainer.py`, `Trainer._get_dataloader`. The prefetch factor is
there from 4.38.0 on, the others earlier; that of a stream is handed on from 5.15.0 on.
Pinning is on unless it is turned off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    python_call,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_BATCH_SIZE = BatchSize(name="per_device_train_batch_size", counts="device")

_STREAM = "transformers before 5.15 has prefetch_factor=2 for a stream, whatever is set"

_DISPATCHED = (
    "of a stream only the main process reads, and hands parts to the other ranks, "
    'unless accelerator_config={"dispatch_batches": False}; measured was a loader of '
    "each rank's own"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    prefixed = {
        f"dataloader_{name}": value for name, value in chosen.worker_kwargs().items()
    }
    settings = {**_BATCH_SIZE.setting(chosen), **prefixed}
    warnings: list[str] = []
    if chosen.is_stream and chosen.prefetch_factor not in {None, 2}:
        warnings.append(_STREAM)
    if chosen.is_stream and chosen.ranks > 1:
        warnings.append(_DISPATCHED)
    return Draft(
        settings=settings,
        body=python_call("dataloader_arguments = dict", settings),
        notes=("one process a device is meant, as torchrun starts them",),
        warnings=tuple(warnings),
    )


FRAMEWORK = Framework(
    name="transformers",
    title="transformers",
    since="transformers 4.38",
    use="TrainingArguments(..., **dataloader_arguments)",
    language="python",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
