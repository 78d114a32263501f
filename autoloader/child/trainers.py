"""Find the loader that a trainer trains with, as a `DataLoader` that can be varied.

Hugging Face's Trainer and Accelerate, and Lightning's DataModule are told by their
classes' names: no framework is imported for anything else. What they hand to a loader
is theirs.
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from autoloader.errors import UsageError

_TRAINERS = frozenset({"transformers.Trainer"})

_DATA_MODULES = frozenset(
    {"lightning.LightningDataModule", "pytorch_lightning.LightningDataModule"}
)

_PREPARED = frozenset({"accelerate.DataLoaderAdapter"})
"""What Accelerate makes of a loader: it says that it is one, and is not."""

_KEPT = (
    "collate_fn",
    "num_workers",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
    "prefetch_factor",
    "persistent_workers",
    "in_order",
    "snapshot_every_n_steps",
)
"""Arguments of a loader that it keeps under their names, batches aside; the last is a
`StatefulDataLoader`'s."""

_NEEDS_WORKERS = (
    "timeout",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)


def trained_with(found: Any) -> Any:
    """Return the loader that a trainer trains with; anything else as it stands.

    Args:
        found: a `Trainer` of transformers, a `LightningDataModule`, a loader that
            Accelerate prepared, or something else.

    Raises:
        UsageError: it has not one training loader, but several or something else.
    """
    names = {
        f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        for kind in type(found).__mro__
    }
    if names & _TRAINERS:
        return plain_loader(found.get_train_dataloader(), found)
    if names & _PREPARED:
        return plain_loader(found, found)
    return of_data_module(found) if names & _DATA_MODULES else found


def of_data_module(found: Any) -> DataLoader[Any]:
    """Return the loader that a DataModule trains with; it is set up for that first.

    Raises:
        UsageError: it has several, or something else.
    """
    found.prepare_data()
    found.setup("fit")
    return plain_loader(found.train_dataloader(), found)


def plain_loader(loader: Any, trainer: object) -> DataLoader[Any]:
    """Return a trainer's loader without what Accelerate wraps around it.

    What it wraps has the batch sampler of a loader that had a batch size; it is made a
    loader with that size again, which can be varied. A batch sampler that deals batches
    to ranks stays as it is.

    Args:
        loader: as the trainer gives it.
        trainer: whose it is, for the error.

    Raises:
        UsageError: it is not one `DataLoader`.
    """
    bare = getattr(loader, "base_dataloader", loader)
    if not isinstance(bare, DataLoader):
        msg = (
            f"{type(trainer).__name__} trains with a {type(bare).__name__}, and one "
            "DataLoader is needed"
        )
        raise UsageError(msg, hint="write a function that returns the one, and name it")
    had_size = bare.batch_size is None and type(bare.batch_sampler) is BatchSampler
    return remade(bare) if had_size else bare


def remade(loader: DataLoader[Any], **changes: Any) -> DataLoader[Any]:
    """Return a loader like another, with some arguments changed.

    Args:
        loader: whose class, dataset, sampler and further arguments are kept.
        changes: other arguments of `DataLoader`; where `num_workers` is 0, what needs
            workers is left out.

    Raises:
        UsageError: the class is not made as a `DataLoader` is.
    """
    kept = {name: getattr(loader, name) for name in _KEPT if hasattr(loader, name)}
    arguments = {**kept, **_batches(loader), **changes}
    if not arguments["num_workers"]:
        for name in _NEEDS_WORKERS:
            arguments.pop(name, None)
    try:
        return type(loader)(loader.dataset, **arguments)
    except TypeError as exc:
        msg = f"a {type(loader).__name__} cannot be made with other settings: {exc}"
        hint = "its class is not made as a DataLoader is; set them where it is made"
        raise UsageError(msg, hint=hint) from exc


def _batches(loader: DataLoader[Any]) -> dict[str, Any]:
    """Return the arguments that say how a loader makes its batches."""
    if isinstance(loader.dataset, IterableDataset):
        return {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
    batches = loader.batch_sampler
    if batches is None:
        return {"batch_size": None, "sampler": loader.sampler}
    if type(batches) is not BatchSampler:
        return {"batch_sampler": batches}
    return {
        "batch_size": batches.batch_size,
        "sampler": batches.sampler,
        "drop_last": batches.drop_last,
    }
