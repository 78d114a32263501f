"""Find out which example each row of a collated batch came from, and how it changed.

Pure: leaf digests in, places out. Whether a change is collate_fn's work or a fault
takes all batches to tell; `audit.conversion` does.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

NO_SLOT = -1
"""Place of a row that no example of its batch explains."""

MASK_BITS = 63
"""Fields that a mask tells apart; further ones share its bits."""

Digests = Sequence[int]
Shapes = Sequence[tuple[int, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Rows of one batch against the examples that collate_fn was given."""

    slots: tuple[int, ...]
    """For each row the place of its example, or `NO_SLOT`."""
    converted: tuple[int, ...] | None
    """Fields with values that no example of the batch has (a label cast to float, say);
    None where the whole batch was not compared row by row."""
    altered: tuple[int, ...] = ()
    """For each row a mask of the fields that differ from its example, other than by
    shape. Empty where nothing was compared."""


def align_rows(
    rows: Sequence[Digests],
    examples: Sequence[Digests],
    *,
    row_shapes: Sequence[Shapes] | None = None,
    example_shapes: Sequence[Shapes] | None = None,
) -> Alignment:
    """Match rows with examples by the digests of their fields.

    Each row gets an example of its own: one equal in all fields, else in all that have
    no new values, else in any; where there are as many rows as examples, the rest stays
    in order. A batch with another number of rows that has nothing of its examples
    (packed, or cut otherwise) is not compared.

    Args:
        rows: for each row of the batch, one digest a field.
        examples: for each example that went into it, one digest a field.
        row_shapes: shape of each field of each row; None: not known.
        example_shapes: shape of each field of each example; None: not known.
    """
    if len({len(row) for row in rows}) <= 1 and list(rows) == list(examples):
        count = len(rows)  # the usual case: a batch that was stacked
        return Alignment(slots=tuple(range(count)), converted=(), altered=(0,) * count)
    match = _Match(rows, examples)
    match.by(tuple)
    width = len(rows[0]) if rows else 0
    converted = () if match.is_whole else _converted(rows, examples, width)
    kept = [field for field in range(width) if field not in converted]
    if kept and converted:
        match.by(itemgetter(*kept))
    if len(rows) == len(examples):
        for field in _most_distinct_first(rows, width):
            match.by(itemgetter(field))
        match.in_order()
    elif not match.slots:
        return Alignment(slots=tuple(range(len(examples))), converted=None)
    slots = tuple(match.slots.get(row, NO_SLOT) for row in range(len(rows)))
    altered = []
    for row, slot in enumerate(slots):
        if slot == NO_SLOT:
            altered.append(0)
            continue
        fields = _differing(rows[row], examples[slot])
        if row_shapes is not None and example_shapes is not None:
            fields = _of_one_shape(fields, row_shapes[row], example_shapes[slot])
        altered.append(mask_of(fields))
    return Alignment(slots=slots, converted=converted, altered=tuple(altered))


def mask_of(fields: Iterable[int]) -> int:
    """Return the mask of some fields."""
    mask = 0
    for field in fields:
        mask |= 1 << field % MASK_BITS
    return mask


def _converted(
    rows: Sequence[Digests], examples: Sequence[Digests], width: int
) -> tuple[int, ...]:
    """Return the fields in which rows have values that no example is left for."""
    fitting = [example for example in examples if len(example) == width]
    return tuple(
        field
        for field in range(width)
        if Counter(row[field] for row in rows)
        - Counter(example[field] for example in fitting)
    )


def _most_distinct_first(rows: Sequence[Digests], width: int) -> list[int]:
    distinct = [len({row[field] for row in rows}) for field in range(width)]
    return sorted(range(width), key=lambda field: -distinct[field])


def _differing(row: Digests, example: Digests) -> Sequence[int]:
    if len(row) != len(example):
        return range(len(row))
    return [field for field, digest in enumerate(row) if digest != example[field]]


def _of_one_shape(fields: Sequence[int], row: Shapes, example: Shapes) -> Sequence[int]:
    """Leave out the fields that collate_fn gave another shape, as padding does."""
    if len(row) != len(example):
        return fields
    return [field for field in fields if row[field] == example[field]]


class _Match:
    """Rows and the examples that they were given, one each."""

    def __init__(self, rows: Sequence[Digests], examples: Sequence[Digests]) -> None:
        self.slots: dict[int, int] = {}
        """Place of the example of each row that has one."""
        self._rows, self._examples = rows, examples
        self._width = len(rows[0]) if rows else 0
        self._left = list(range(len(rows)))
        self._free = set(range(len(examples)))

    @property
    def is_whole(self) -> bool:
        """Whether every row has its example."""
        return not self._left

    def by(self, key: Callable[[Digests], Hashable]) -> None:
        """Match what is left by a part of the digests: in place, then anywhere."""
        if self.is_whole:
            return
        keys = {
            place: key(self._examples[place])
            for place in sorted(self._free)
            if len(self._examples[place]) == self._width
        }
        for row in self._left:
            if row in keys and keys[row] == key(self._rows[row]):
                self._give(row, row)
        places: dict[Hashable, deque[int]] = defaultdict(deque)
        for place, found in keys.items():
            if place in self._free:
                places[found].append(place)
        for row in self._left:
            if row not in self.slots and (fits := places[key(self._rows[row])]):
                self._give(row, fits.popleft())
        self._left = [row for row in self._left if row not in self.slots]

    def in_order(self) -> None:
        """Give each row that is left the example in its place, else the next one."""
        for row in self._left:
            if row in self._free:
                self._give(row, row)
        rest = iter(sorted(self._free))
        for row in self._left:
            if row not in self.slots:
                self._give(row, next(rest))
        self._left = []

    def _give(self, row: int, place: int) -> None:
        self.slots[row] = place
        self._free.discard(place)
