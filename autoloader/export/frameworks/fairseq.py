"""fairseq: flags of `fairseq-train`.

Read in fairseq 0.12.2 and its last commit: `fairseq/dataclass/configs.py`,
`DatasetConfig`, has `num_workers`, `batch_size` and `data_buffer_size`;
`fairseq/data/iterators.py`, `EpochBatchIterator`, pins always, keeps workers where
there are some, and leaves the prefetch factor to PyTorch. A buffer of
`data_buffer_size` batches is filled by a thread of the training process. Batches are
cut to a multiple of `required_batch_size_multiple`, which is 8 unless something else is
said.
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

_TITLE = "fairseq"

_BATCH_SIZE = BatchSize(name="--batch-size", counts="device")

_MULTIPLE = 8
"""What fairseq cuts batch sizes to, unless told otherwise."""

_BUFFER = (
    "10 more batches wait in the training process (--data-buffer-size), beside those "
    "that workers prepare ahead; --max-tokens may make batches smaller"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    settings = _BATCH_SIZE.setting(chosen, "batch_size")
    settings["num_workers"] = chosen.num_workers
    warnings = fixed(
        chosen, _TITLE, prefetch_factor=2, pin_memory=True, persistent_workers=True
    )
    if chosen.batch_size is not None and chosen.batch_size % _MULTIPLE:
        warnings = (
            *warnings,
            f"batches of {chosen.batch_size} are cut to a multiple of {_MULTIPLE} "
            "unless --required-batch-size-multiple 1 is given",
        )
    return Draft(
        settings=settings,
        body=flags(settings),
        notes=(_BUFFER,),
        warnings=warnings,
    )


FRAMEWORK = Framework(
    name="fairseq",
    title=_TITLE,
    since="fairseq 0.12",
    use="flags of fairseq-train; in a config they stand under dataset, with _ for -",
    language="shell",
    batch_size=_BATCH_SIZE,
    draft=_draft,
)
