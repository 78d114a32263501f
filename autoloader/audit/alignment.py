"""Find out which example each row of a collated batch came from.

Pure: leaf digests in, places out.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

NO_SLOT = -1
"""Place of a row that no example of its batch explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Rows of one batch against the examples that collate_fn was given."""

    slots: tuple[int, ...]
    """For each row the place of its example, or `NO_SLOT`."""
    converted: tuple[int, ...] | None
    """Fields that collate_fn converts, so that no row equals its example there;
    None where the whole batch was not compared row by row."""


def align_rows(
    rows: Sequence[tuple[int, ...]], examples: Sequence[tuple[int, ...]]
) -> Alignment:
    """Match rows with examples by the digests of their fields.

    A field in which not one row equals its example is taken as converted by collate_fn
    (a label cast to float, say) and left out; a field in which some do is compared.

    Args:
        rows: for each row of the batch, one digest a field.
        examples: for each example that went into it, one digest a field.
    """
    width = len(rows[0]) if rows else 0
    comparable = bool(rows) and all(len(example) == width for example in examples)
    converted: tuple[int, ...] = ()
    if comparable:
        seen = [{example[field] for example in examples} for field in range(width)]
        converted = tuple(
            field
            for field in range(width)
            if not any(row[field] in seen[field] for row in rows)
        )
        if width and len(converted) == width:
            return Alignment(slots=tuple(range(len(examples))), converted=None)
    kept = [field for field in range(width) if field not in converted]
    return Alignment(slots=_match(rows, examples, kept), converted=converted)


def _match(
    rows: Sequence[tuple[int, ...]],
    examples: Sequence[tuple[int, ...]],
    kept: Sequence[int],
) -> tuple[int, ...]:
    """Give each row an example of its own: the one in its place first, then any."""

    def key(digests: tuple[int, ...]) -> tuple[int, ...]:
        fits = all(field < len(digests) for field in kept)
        return tuple(digests[field] for field in kept) if fits else (NO_SLOT, *digests)

    example_keys = [key(example) for example in examples]
    row_keys = [key(row) for row in rows]
    in_place = [
        place < len(example_keys) and row_key == example_keys[place]
        for place, row_key in enumerate(row_keys)
    ]
    free: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    for place, example_key in enumerate(example_keys):
        if not (place < len(in_place) and in_place[place]):
            free[example_key].append(place)
    slots = []
    for place, row_key in enumerate(row_keys):
        if in_place[place]:
            slots.append(place)
        elif free[row_key]:
            slots.append(free[row_key].popleft())
        else:
            slots.append(NO_SLOT)
    return tuple(slots)
