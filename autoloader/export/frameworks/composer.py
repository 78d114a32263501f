"""Composer: the training loader in a file of llm-foundry.

Composer's own `Trainer` takes a DataLoader as it is. Read in llm-foundry 0.21,
`llmfoundry/data/text_data.py`, `build_text_dataloader`: pinned memory, kept workers and
a prefetch factor of 2 are there unless something else is written, which PyTorch refuses
where there are no workers. `llmfoundry/utils/config_utils.py`,
`calculate_batch_size_info`, divides the global batch by the number of ranks. So in
0.1.0 already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    yaml_block,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_BATCH_SIZE = BatchSize(name="global_train_batch_size", counts="run")

_ALONE = (
    "without llm-foundry, Composer's Trainer takes a DataLoader as it is: "
    "autoloader.load(FILE).dataloader(dataset), or --to torch"
)

_NO_WORKERS = (
    "null and false stand there because llm-foundry prefetches and keeps workers by "
    "default, which PyTorch refuses where there are none"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    loader: dict[str, Any] = {
        "num_workers": chosen.num_workers,
        "prefetch_factor": chosen.prefetch_factor,
        "pin_memory": chosen.pin_memory,
        "persistent_workers": chosen.persistent_workers,
    }
    settings = {"train_loader": loader, **_BATCH_SIZE.setting(chosen)}
    return Draft(
        settings=settings,
        body=yaml_block(settings),
        notes=(_ALONE,) if chosen.num_workers else (_ALONE, _NO_WORKERS),
    )


FRAMEWORK = Framework(
    name="composer",
    title="llm-foundry",
    since="llm-foundry 0.1",
    use="into the file of train.py",
    language="yaml",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
