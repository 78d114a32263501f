"""What most examples have in common, field by field.

Counts in, fields out; who deviates from them is said in `audit.contract_inference`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from autoloader.audit.contract import is_none
from autoloader.values.contract import VARIES, ContractField

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from autoloader.audit.contract import Kind, Kinds

GREAT_MAJORITY = 0.75
"""Share of the examples from which on the others count as deviating: three of four."""


def common_fields(
    counts: Mapping[Kinds, int], share: float
) -> tuple[ContractField, ...]:
    """Return the fields as at least `share` of the examples have them.

    Args:
        counts: how many examples are made of what; those that are None are left aside.
        share: 0-1; 0 takes whatever is commonest.
    """
    columns: dict[str, Counter[Kind]] = {}
    total = 0
    for kinds, count in counts.items():
        if is_none(kinds):
            continue
        total += count
        for kind in {kind[0]: kind for kind in kinds}.values():
            columns.setdefault(kind[0], Counter())[kind] += count
    found = (
        _common_field(path, column, total, share) for path, column in columns.items()
    )
    return tuple(field for field in found if field is not None)


def _common_field(
    path: str, column: Counter[Kind], total: int, share: float
) -> ContractField | None:
    """Return a field as most examples have it; None where most lack it."""
    there = {kind: count for kind, count in column.items() if kind[1] != "none"}
    present = sum(there.values())
    is_required = present >= max(share, 0.5) * total
    if not is_required and present <= min(1 - share, 0.5) * total:
        is_none = column.total() > 2 * present
        return ContractField(path=path, type="none", optional=True) if is_none else None
    type_ = _commonest(((kind[1], n) for kind, n in there.items()), share, VARIES)
    dtype = _commonest(((kind[2], n) for kind, n in there.items()), share, VARIES)
    many = _commonest(
        ((None if kind[3] is None else len(kind[3]), n) for kind, n in there.items()),
        share,
        None,
    )
    shape = None
    if many is not None:
        alike = [(s, n) for (_, _, _, s), n in there.items() if s and len(s) == many]
        shape = tuple(
            _commonest(((sizes[axis], n) for sizes, n in alike), share, None)
            for axis in range(many)
        )
    return ContractField(
        path=path,
        type=type_,
        dtype=dtype,
        shape=shape,
        optional=not is_required,
    )


def _commonest(
    counted: Iterable[tuple[Hashable, int]], share: float, otherwise: Any
) -> Any:
    """Return the value that at least `share` of all have, the first of equals."""
    counter: Counter[Hashable] = Counter()
    for value, count in counted:
        counter[value] += count
    value, count = max(counter.items(), key=lambda item: item[1])
    return value if count >= share * counter.total() else otherwise
