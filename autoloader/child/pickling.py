"""Find what in an object cannot be pickled, by its attribute path.

Workers that are spawned get the dataset by pickle; the error names a type, not a place.
"""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch.multiprocessing  # noqa: F401  # registers how tensors are sent

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 6
"""Attributes of attributes that are looked through."""


def unpicklable_path(found: Any, name: str) -> tuple[str, str] | None:
    """Return path and type of the deepest part that cannot be pickled.

    Args:
        found: what is sent to a worker.
        name: what the path begins with, such as `dataset`.

    Returns:
        `("dataset.reader.file", "BufferedReader")`, or None where all can be pickled.
    """
    return _search(found, name, DEEPEST, set())


def _search(
    found: Any, name: str, depth: int, seen: set[int]
) -> tuple[str, str] | None:
    if id(found) in seen or _can_pickle(found):
        return None
    seen.add(id(found))
    if depth:
        for part, value in _parts(found):
            deeper = _search(value, f"{name}{part}", depth - 1, seen)
            if deeper is not None:
                return deeper
    kind = getattr(found, "__qualname__", None) or type(found).__qualname__
    return name, str(kind)


def _can_pickle(found: Any) -> bool:
    try:
        ForkingPickler.dumps(found)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError):
        return False
    return True


def _parts(found: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(found, dict):
        for key, value in found.items():
            yield f"[{key!r}]", value
    elif isinstance(found, (list, tuple)):
        for place, value in enumerate(found):
            yield f"[{place}]", value
    else:
        for key, value in getattr(found, "__dict__", {}).items():
            yield f".{key}", value
