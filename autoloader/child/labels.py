"""Find the label in an example: where the user says, or in the usual places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from autoloader.child.digest import Leaf, name_of
from autoloader.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL_KEYS = ("label", "labels", "target", "y")


def find_label(found: Sequence[Leaf], named: str | None) -> str | None:
    """Return the path of the label: the named one, or the usual places.

    Raises:
        UsageError: the named path is no field of an example.
    """
    tops = list(dict.fromkeys(str(leaf.path[0]) for leaf in found if leaf.path))
    names = {name_of(leaf.path) for leaf in found}
    if named is not None:
        known = names | {name.rsplit(".", 1)[0] for name in names} | set(tops)
        if named not in known:
            msg = f"--label {named} is no field of an example"
            hint = (
                did_you_mean(named, names) or f"fields are {', '.join(sorted(names))}"
            )
            raise UsageError(msg, hint=hint)
        return named
    if tops == ["0", "1"] and isinstance(found[0].path[0], int):
        return "1"
    return next((key for key in _LABEL_KEYS if key in tops), None)


def whole_number_at(example: Any, name: str) -> int | None:
    """Return the whole number in a field; None where it holds something else.

    Args:
        example: as the dataset gives it.
        name: path of the field, as people write it.
    """
    found = example
    for part in name.split(".") if name else ():
        found = _part(found, part)
    if isinstance(found, bool):
        return int(found)
    if isinstance(found, int):
        return found
    if isinstance(found, (torch.Tensor, np.ndarray, np.generic)):
        is_one = tuple(found.shape) in {(), (1,)}
        value = found.item() if is_one and not _is_odd(found) else None
        return int(value) if isinstance(value, (bool, int)) else None
    return None


def _part(found: Any, part: str) -> Any:
    """Return a field of a mapping, sequence or record; None where there is none."""
    if isinstance(found, Mapping):
        keys = {str(key): key for key in found}
        return found[keys[part]] if part in keys else None
    if isinstance(found, (list, tuple)):
        place = int(part) if part.isdecimal() else -1
        return found[place] if 0 <= place < len(found) else None
    return getattr(found, part, None)


def _is_odd(value: Any) -> bool:
    """Whether a tensor has no plain content: on no device, or of another layout."""
    return isinstance(value, torch.Tensor) and (
        value.is_meta or value.layout is not torch.strided or value.is_quantized
    )
