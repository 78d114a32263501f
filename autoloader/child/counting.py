"""Find the number of examples in a batch without calling anything of ours.

The gate notes the way to a field whose first size was the number of rows each time; the
timed pass follows it by functions that are written in C, so that nothing of the package
runs between two batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ATTRIBUTE = "@"


def steps_to(batch: Any, path: Iterable[Any]) -> tuple[int | str, ...] | None:
    """Return the way to a leaf of a batch; None where it cannot be written down.

    Args:
        batch: what a loader delivered.
        path: keys, places and names of attributes, as `child.digest.walk` gives them.
    """
    steps: list[int | str] = []
    found = batch
    for part in path:
        if isinstance(found, Mapping):
            if part not in found or str(part).startswith(_ATTRIBUTE):
                return None
            steps.append(part)
            found = found[part]
        elif isinstance(found, (list, tuple)):
            steps.append(int(part))
            found = found[int(part)]
        else:
            steps.append(f"{_ATTRIBUTE}{part}")
            found = getattr(found, part)
    return tuple(steps)


def getters_of(steps: Iterable[int | str]) -> tuple[Callable[[Any], Any], ...]:
    """Return the functions that lead from a batch to the field, one after the other."""
    return tuple(_getter(step) for step in steps)


def _getter(step: int | str) -> Callable[[Any], Any]:
    if isinstance(step, str) and step.startswith(_ATTRIBUTE):
        return attrgetter(step.removeprefix(_ATTRIBUTE))
    return itemgetter(step)
