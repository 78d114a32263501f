"""Find what in an object cannot be sent to a worker that is spawned.

Such a worker gets the dataset by pickle, as torch registers it for tensors.
"""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from types import FunctionType
from typing import Any

import torch.multiprocessing  # noqa: F401  # registers how tensors are sent

from autoloader.child.definitions import names_told
from autoloader.values.unpicklable import unpicklable_part


def unpicklable_path(found: Any, name: str) -> tuple[str, str] | None:
    """Return path and type of the deepest part that cannot be pickled.

    Args:
        found: what is sent to a worker.
        name: what the path begins with, such as `dataset`.

    Returns:
        `("dataset.reader.file", "BufferedReader")`, or None where all can be pickled.
    """
    return unpicklable_part(found, name, _Sent.dumps)


class _Sent(ForkingPickler):
    """Pickles as for a worker that is spawned, which has a `__main__` of its own."""

    def reducer_override(self, found: Any) -> Any:
        """Refuse what is looked for in `__main__`, and is not there in a worker."""
        is_named = isinstance(found, (type, FunctionType))
        if is_named and getattr(found, "__module__", None) == "__main__":
            top = found.__qualname__.partition(".")[0]
            if top not in names_told():
                msg = f"Can't pickle {found.__qualname__}: no worker finds it"
                raise pickle.PicklingError(msg)
        return NotImplemented
