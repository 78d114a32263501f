"""timm: flags of its `train.py`.

Read in timm 1.0.31 and its repository: `train.py` has `--workers`, `--batch-size` and
`--pin-mem`; `timm/data/loader.py`, `create_loader`, keeps workers and leaves the
prefetch factor to PyTorch. Before 1.0.29 workers are kept where there are none as well,
which PyTorch refuses. The flags have been there since long before 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    fixed,
    flags,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_TITLE = "timm"

_BATCH_SIZE = BatchSize(name="--batch-size", counts="process")

_NO_WORKERS = (
    "timm before 1.0.29 cannot run without workers: it keeps them, which PyTorch "
    "refuses where there are none"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    settings = _BATCH_SIZE.setting(chosen, "batch_size")
    settings["workers"] = chosen.num_workers
    settings["pin_mem"] = chosen.pin_memory
    lost = fixed(chosen, _TITLE, prefetch_factor=2, persistent_workers=True)
    return Draft(
        settings=settings,
        body=flags(settings),
        notes=() if chosen.pin_memory else ("--pin-mem is to be left out",),
        warnings=lost if chosen.num_workers else (_NO_WORKERS,),
    )


FRAMEWORK = Framework(
    name="timm",
    title=_TITLE,
    since="timm 1.0",
    use="flags of train.py; in a file for its -c: the same with _ for -",
    language="shell",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
