"""Find the label in an example: where the user says, or in the usual places."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
