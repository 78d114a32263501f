"""Build a plain `torch.utils.data.DataLoader` from settings.

Imported only when a training script asks for a loader; it has torch loaded anyway.
"""

from collections.abc import Mapping
from typing import Any

from torch.utils.data import DataLoader

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
    arguments = dict(kwargs)
    if arguments.get("batch_sampler") is not None:
        arguments.pop("batch_size", None)
    if not arguments.get("num_workers"):
        for name in _NEEDS_WORKERS:
            arguments.pop(name, None)
    return DataLoader(dataset, **arguments)
