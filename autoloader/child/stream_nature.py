"""Tell from two passes over a stream what it is like: its order, its random fields.

Nothing is read here; `child.stream` reads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.child.digest import DigestPlan, name_of
from autoloader.errors import DatasetError

if TYPE_CHECKING:
    from autoloader.child.stream import StreamPass

RECURS = 0.5
"""Share of values that come again from which a field is taken to be fixed, or the order
to be kept where they come at the same places."""

LEAST_RECURRING = 0.05
"""Share of values that must come again for a pass to have met the same examples."""

AS_OFTEN = 0.8
"""Share of the best field's recurring values from which another is as fixed as it."""


@dataclass(frozen=True, slots=True)
class StreamNature:
    """What two passes say of a stream."""

    plan: DigestPlan
    """Fixed and random fields."""
    keeps_order: bool
    """Whether each pass gives the same examples in the same order."""


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of one field in both passes; None where an example lacks it."""

    one: list[int | None]
    other: list[int | None]

    @property
    def distinct(self) -> int:
        return len(set(self.one))

    @property
    def is_same(self) -> bool:
        """Whether all places have the same values."""
        return self.one == self.other

    @property
    def is_rearranged(self) -> bool:
        """Whether both passes have the same values, at other places."""
        return not self.is_same and Counter(self.one) == Counter(self.other)

    @property
    def kept(self) -> float:
        """Share of the places that have the same value in both passes."""
        pairs = zip(self.one, self.other, strict=True)
        return sum(a == b for a, b in pairs) / max(1, len(self.one))

    @property
    def is_in_place(self) -> bool:
        """Whether most values stay, and of the others most come again nowhere."""
        elsewhere = self.recurring - self.kept
        return self.kept > RECURS and elsewhere <= (1 - self.kept) / 2

    @property
    def recurring(self) -> float:
        """Share of the values that both passes have, at whatever places."""
        common = Counter(self.one) & Counter(self.other)
        return common.total() / max(1, len(self.one))


def compare_passes(
    first: StreamPass, second: StreamPass, label: str | None, id_path: str | None = None
) -> StreamNature:
    """Tell order and random fields from two passes under different seeds.

    The id, or the field with the most distinct values that come again, says whether
    they come at the same places. If so, a field is fixed where all its values do. Else
    it is fixed where a whole stream has the same values in all; of a stream that was
    cut, where as many of its values come again as of the best field. Where nothing
    comes again (it goes on, or is drawn anew), nothing can be told, and all content
    tells examples apart.

    Args:
        first: a pass.
        second: another one, over as many examples if there are as many.
        label: name of the label's field.
        id_path: name of the field that the user says identifies examples.

    Raises:
        DatasetError: the passes differ in length, in fields, or in their ids.
    """
    _check_length(first, second)
    count = min(len(first), len(second))
    is_whole = first.is_complete and second.is_complete
    columns = _columns(first, second, count)
    named = columns.get(id_path) if id_path is not None else None
    keeps_order = _keeps_order(columns) if named is None else named.is_same
    if keeps_order:
        fixed = {name for name, column in columns.items() if column.is_same}
    elif is_whole:
        fixed = {
            name
            for name, column in columns.items()
            if column.is_same or column.is_rearranged
        }
    else:
        fixed = _fixed_of_cut(columns, id_path)
    if named is not None and id_path not in fixed:
        msg = f"reference_unstable: the id {id_path!r} changes between readings"
        raise DatasetError(msg, hint="name a field that stays with its example")
    _check_fields(first, second, count, keeps_order=keeps_order, is_whole=is_whole)
    random = frozenset(columns.keys() - fixed)
    free = frozenset(name for name in random if _shapes(first, second, name) > 1)
    plan = DigestPlan(random=random, free_shapes=free, label=label)
    return StreamNature(plan, keeps_order=keeps_order)


def _check_length(first: StreamPass, second: StreamPass) -> None:
    if len(first) and not len(second):
        msg = "reference_unstable: the second pass over the stream is empty"
        hint = "__iter__ must start anew: return a generator, not self"
        raise DatasetError(msg, hint=hint)
    is_shorter = second.is_complete and len(second) < len(first)
    is_longer = first.is_complete and len(second) > len(first)
    if is_shorter or is_longer:
        at_least = ["" if it.is_complete else "at least " for it in (first, second)]
        msg = (
            f"reference_unstable: the stream had {at_least[0]}{len(first)} examples, "
            f"then {at_least[1]}{len(second)}"
        )
        raise DatasetError(msg, hint="the usual cause is state that outlives a pass")


def _keeps_order(columns: dict[str, _Column]) -> bool:
    telling = [
        column
        for column in columns.values()
        if column.distinct > 1 and column.recurring > RECURS
    ]
    if not telling:
        return all(column.is_same for column in columns.values())
    most = max(column.distinct for column in telling)
    return any(
        column.is_in_place for column in telling if 10 * column.distinct >= 9 * most
    )


def _fixed_of_cut(columns: dict[str, _Column], id_path: str | None) -> set[str]:
    """Return the fixed fields of a stream that was cut and changes its order."""
    best = max(
        (
            column.recurring
            for column in columns.values()
            if 2 * column.distinct > len(column.one)
        ),
        default=0.0,
    )
    if best < LEAST_RECURRING and id_path is None:
        return set(columns)
    least = AS_OFTEN * max(best, LEAST_RECURRING)
    return {
        name
        for name, column in columns.items()
        if column.recurring >= least or name == id_path
    }


def _columns(first: StreamPass, second: StreamPass, count: int) -> dict[str, _Column]:
    one, other = _values(first, count), _values(second, count)
    lacking: list[int | None] = [None] * count
    return {
        name: _Column(one.get(name, lacking), other.get(name, lacking))
        for name in dict.fromkeys([*one, *other])
    }


def _values(found: StreamPass, count: int) -> dict[str, list[int | None]]:
    """Return the values of each field over the first examples; None where it lacks."""
    columns: dict[str, list[int | None]] = {}
    for place in range(count):
        for leaf in found.leaves(place):
            column = columns.setdefault(name_of(leaf.path), [])
            column.extend([None] * (place - len(column)))
            column.append(leaf.digest)
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return columns


def _check_fields(
    first: StreamPass,
    second: StreamPass,
    count: int,
    *,
    keeps_order: bool,
    is_whole: bool,
) -> None:
    """Refuse a stream whose examples have other fields each time."""
    one, other = (
        [found.fields(place) for place in range(count)] for found in (first, second)
    )
    hint = (
        "the usual cause is a random transform that leaves fields out or changes how "
        "many there are"
    )
    if keeps_order and one != other:
        place = next(at for at in range(count) if one[at] != other[at])
        msg = (
            f"reference_unstable: example {first.ids[place]} of the stream has other "
            "fields each time"
        )
        raise DatasetError(msg, hint=hint)
    if is_whole and Counter(one) != Counter(other):
        msg = "reference_unstable: the examples have other fields in each pass"
        raise DatasetError(msg, hint=hint)


def _shapes(first: StreamPass, second: StreamPass, name: str) -> int:
    kinds = [*first.kinds(), *second.kinds()]
    return len(
        {leaf.shape for kind in kinds for leaf in kind if name_of(leaf.path) == name}
    )
