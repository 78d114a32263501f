"""Plain PyTorch: a `DataLoader` as text, and one that is built.

Keys read in torch 2.14.1, `torch/utils/data/dataloader.py`, `DataLoader.__init__`:
there `prefetch_factor` and `persistent_workers` are refused without workers. All five
exist from 1.7 on. Torch itself is imported only when a training script asks for a
loader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.export.frameworks.snippet import (
    BatchSize,
    Draft,
    Framework,
    loader_call,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.utils.data import DataLoader

    from autoloader.export.frameworks.chosen import Chosen
    from autoloader.export.frameworks.snippet import Naming

_NEEDS_WORKERS = (
    "prefetch_factor",
    "persistent_workers",
    "multiprocessing_context",
    "timeout",
)


def build(dataset: Any, kwargs: Mapping[str, Any]) -> DataLoader[Any]:
    """Return `DataLoader(dataset, **kwargs)`.

    Where a `batch_sampler` is given, `batch_size` must not be; where `num_workers` is
    0, by the recommendation or by the caller, what needs workers is left out.
    """
    from torch.utils.data import DataLoader

    arguments = dict(kwargs)
    if arguments.get("batch_sampler") is not None:
        arguments.pop("batch_size", None)
    if not arguments.get("num_workers"):
        for name in _NEEDS_WORKERS:
            arguments.pop(name, None)
    return DataLoader(dataset, **arguments)


def _draft(chosen: Chosen, naming: Naming) -> Draft:
    del naming
    return Draft(
        settings=chosen.dataloader_kwargs(),
        body="from torch.utils.data import DataLoader\n\n"
        + loader_call(chosen, "DataLoader"),
    )


FRAMEWORK = Framework(
    name="torch",
    title="PyTorch",
    since="torch 1.7",
    use="in the training script, with what the loader has beside these (shuffle, "
    "collate_fn, drop_last)",
    language="python",
    batch_size=BatchSize(name="batch_size", counts="process", is_needed=True),
    takes_any_batches=True,
    draft=_draft,
)
