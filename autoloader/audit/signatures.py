"""Say what differs between what an example is made of here and there.

Pure: signatures as the ledgers keep them, JSON rows of name, kind, dtype and shape.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def signature_differences(reference: str, arrived: str) -> dict[str, str]:
    """Return for each finding code what differs, of the first field that does.

    Args:
        reference: what the example is made of in one process.
        arrived: what it was made of where it came from.
    """
    right, seen = (sorted(json.loads(text), key=str) for text in (reference, arrived))
    if [row[0] for row in right] != [row[0] for row in seen]:
        return {"field_missing": _other_fields(right, seen)}
    found: dict[str, str] = {}
    for one, other in zip(right, seen, strict=True):
        if one[1:3] != other[1:3]:
            found.setdefault("dtype_mismatch", _said(one[0], _kind(other), _kind(one)))
        if one[3] != other[3]:
            words = _said(one[0], _shape(other[3]), _shape(one[3]))
            found.setdefault("shape_mismatch", words)
    return found


def _other_fields(right: Sequence[Any], seen: Sequence[Any]) -> str:
    names, arrived = ({row[0] for row in rows} for rows in (right, seen))
    gone, new = sorted(names - arrived), sorted(arrived - names)
    if gone:
        return f"{_called(gone[0])} is not there"
    return f"{_called(new[0])} is new" if new else "a field is there twice"


def _said(name: str, here: str, there: str) -> str:
    return f"{_called(name)} is {here}, {there} in one process"


def _called(name: str) -> str:
    if not name:
        return "the example"
    return f"field {name}" if name.replace(".", "").isdigit() else name


def _kind(row: Sequence[Any]) -> str:
    return str(row[2] or row[1])


def _shape(sizes: Any) -> str:
    if not isinstance(sizes, list):
        return "of no shape" if sizes is None else "of any shape"
    return " x ".join(map(str, sizes)) or "a single number"
