"""Hugging Face Accelerate: a `DataLoader` of one's own, and how it is prepared.

Read in accelerate 1.15, `accelerate/utils/dataclasses.py`, `DataLoaderConfiguration`
(from 0.28 on), which has no workers, prefetching or pinning: `prepare` copies them from
the user's DataLoader (`accelerate/data_loader.py`, `prepare_data_loader`). With
`split_batches` the loader's batch is cut into parts for the ranks, without it each rank
has whole ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    loader_call,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_IMPORTS = """\
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader

"""

_PREPARE = """
accelerator = Accelerator(
    dataloader_config=DataLoaderConfiguration(split_batches=False),
)
loader = accelerator.prepare(loader)
"""

_DISPATCHED = (
    "of a stream only the main process reads, and hands parts to the other ranks, "
    "unless DataLoaderConfiguration(dispatch_batches=False); measured was a loader of "
    "each rank's own"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    is_dispatched = chosen.is_stream and chosen.ranks > 1
    return Draft(
        settings={
            "dataloader": chosen.dataloader_kwargs(),
            "dataloader_config": {"split_batches": False},
        },
        body=_IMPORTS + loader_call(chosen, "DataLoader") + _PREPARE,
        warnings=(_DISPATCHED,) if is_dispatched else (),
    )


FRAMEWORK = Framework(
    name="accelerate",
    title="Accelerate",
    since="accelerate 0.28",
    use="the settings stay on the DataLoader, from which prepare() takes them",
    language="python",
    batch_size=BatchSize(name="batch_size", counts="process", is_needed=True),
    takes_any_batches=True,
    draft=_draft,
)
