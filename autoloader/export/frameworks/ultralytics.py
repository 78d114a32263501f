"""Ultralytics: arguments of `yolo train` and `model.train()`.

Read in ultralytics 8.4: `engine/trainer.py`, `BaseTrainer`, divides `batch` by the
number of processes and hands `workers` to each; `data/build.py`, `build_dataloader`,
takes at most CPUs // GPUs workers and no more than there are batches, four batches
ahead a worker, pinned memory where there is a CUDA device, and an `InfiniteDataLoader`,
whose workers live as long as the training. Validation has twice as many workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    fixed,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_TITLE = "Ultralytics"

_BATCH_SIZE = BatchSize(name="batch", counts="run")

_WORKERS = (
    "workers counts those of one process (rank); more than CPUs // GPUs are not "
    "started, and validation starts twice as many"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    settings = _BATCH_SIZE.setting(chosen)
    settings["workers"] = chosen.num_workers
    words = [f"{name}={value}" for name, value in settings.items()]
    return Draft(
        settings=settings,
        body=" ".join(["yolo", "train", *words]),
        notes=(_WORKERS,),
        warnings=fixed(
            chosen,
            f"{_TITLE}, on a CUDA device,",
            prefetch_factor=4,
            pin_memory=True,
            persistent_workers=True,
        ),
    )


FRAMEWORK = Framework(
    name="ultralytics",
    title=_TITLE,
    since="ultralytics 8.4",
    use="with your model and data; the same words in model.train(...)",
    language="shell",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
