"""Hydra: a config that `hydra.utils.instantiate` makes a loader, or a class of.

Read in hydra-core 1.3, `hydra/_internal/instantiate/_instantiate2.py`: `_target_` is
called with the other keys, or with `_partial_: true` becomes a function that lacks the
dataset (from 1.1.2 on). The DataModule of lightning-hydra-template divides its batch
size by the number of devices (`src/data/mnist_datamodule.py`, `setup`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.errors import UsageError
from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    yaml_block,
)

if TYPE_CHECKING:
    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_LOADER = "torch.utils.data.DataLoader"

_CALL = (
    "loader = hydra.utils.instantiate(cfg)(dataset{more}), with what the loader has "
    "beside these; a class of yours: --class mypackage.MyDataModule"
)

_CLASS = (
    "these are arguments of {name}, which must hand each to its DataLoader; where it "
    "calls one otherwise: --rename num_workers=workers"
)

_TEMPLATE = (
    "a DataModule as in lightning-hydra-template divides batch_size by the number of "
    "devices: there it is {total}"
)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    if naming.names and naming.class_path is None:
        msg = "--rename fits --to hydra together with --class only"
        raise UsageError(msg, hint="without it the class is PyTorch's DataLoader")
    arguments = naming.renamed(chosen.dataloader_kwargs())
    settings: dict[str, Any]
    if naming.class_path is None:
        more = ", batch_sampler=batch_sampler" if chosen.batching == "lists" else ""
        settings = {"_target_": _LOADER, "_partial_": True, **arguments}
        notes: tuple[str, ...] = (_CALL.format(more=more),)
    else:
        settings = {"_target_": naming.class_path, **arguments}
        notes = (_CLASS.format(name=naming.class_path),)
    if chosen.batch_size is not None and chosen.ranks > 1:
        notes = (*notes, _TEMPLATE.format(total=chosen.batch_size * chosen.ranks))
    return Draft(settings=settings, body=yaml_block(settings), notes=notes)


FRAMEWORK = Framework(
    name="hydra",
    title="Hydra",
    since="hydra-core 1.1.2",
    use="a config of its own, or merged into yours",
    language="yaml",
    batch_size=BatchSize(name="batch_size", counts="process", is_needed=True),
    takes_any_batches=True,
    takes_names=True,
    draft=_draft,
)
