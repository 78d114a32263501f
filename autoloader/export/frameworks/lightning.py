"""Lightning: arguments of a DataModule in a file of `LightningCLI`.

Read in lightning 2.6, `lightning/pytorch/cli.py`, `LightningCLI`: `data` holds the
arguments of the DataModule's `__init__`, or, where its class is chosen in the file
(`subclass_mode_data`, or none named in the script), `class_path` and `init_args`.
Lightning hands nothing to a DataLoader by itself, and the arguments' names are those of
the user's class.
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

_BATCH_SIZE = BatchSize(name="batch_size", counts="process")

_ARGUMENTS = (
    "these are arguments of your DataModule, which must hand each to its DataLoader; "
    "where it calls one otherwise: --rename num_workers=workers"
)

_FLAT = (
    "where the file chooses the DataModule (data.class_path), the settings stand under "
    "data.init_args: --class mypackage.MyDataModule writes them so"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    size = _BATCH_SIZE.setting(chosen)
    arguments = naming.renamed({**size, **chosen.worker_kwargs()})
    data: dict[str, Any] = arguments
    if naming.class_path is not None:
        data = {"class_path": naming.class_path, "init_args": arguments}
    settings = {"data": data}
    return Draft(
        settings=settings,
        body=yaml_block(settings),
        notes=(_ARGUMENTS,) if naming.class_path else (_ARGUMENTS, _FLAT),
    )


FRAMEWORK = Framework(
    name="lightning",
    title="Lightning",
    since="lightning 2.0",
    use="a file for --config of LightningCLI",
    language="yaml",
    batch_size=_BATCH_SIZE,
    takes_any_batches=True,
    takes_names=True,
    draft=_draft,
)
