"""NVIDIA NeMo: the section `model.train_ds` of a speech model's config.

Read in NeMo 2.6, `nemo/collections/asr/models/ctc_models.py`,
`_setup_dataloader_from_config`, and so in 1.0.0: batch size, workers and pinning reach
the DataLoader, nothing else. With Lhotse
(`nemo/collections/common/data/lhotse/dataloader.py`) the same three keys hold, and
workers of streams are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    fixed,
    yaml_block,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_TITLE = "NeMo"

_BATCH_SIZE = BatchSize(name="model.train_ds.batch_size", counts="process")

_LHOTSE = (
    "with use_lhotse and batch_duration or buckets, these make the batches in place "
    "of batch_size"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    loader = _BATCH_SIZE.setting(chosen, "batch_size")
    loader["num_workers"] = chosen.num_workers
    loader["pin_memory"] = chosen.pin_memory
    settings = {"model": {"train_ds": loader}}
    return Draft(
        settings=settings,
        body=yaml_block(settings),
        notes=(_LHOTSE,),
        warnings=fixed(chosen, _TITLE, prefetch_factor=2)
        + fixed(chosen, f"{_TITLE}, without Lhotse,", persistent_workers=False),
    )


FRAMEWORK = Framework(
    name="nemo",
    title=_TITLE,
    since="nemo_toolkit 1.0",
    use="into the model's config; as words behind the script: "
    "model.train_ds.num_workers=...",
    language="yaml",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
