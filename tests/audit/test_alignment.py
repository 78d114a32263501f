"""Rows of a batch find the examples that they were made of."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.audit.alignment import MASK_BITS, NO_SLOT, align_rows, mask_of

EXAMPLES = [(10, 0, 7), (11, 1, 7), (12, 0, 8), (13, 1, 8)]
"""Fields: one that is unique, a label of two classes, a class of the batch's halves."""


def converted_label(row: tuple[int, ...]) -> tuple[int, ...]:
    """Return a row whose label collate_fn turned around."""
    return (row[0], 1 - row[1], row[2])


def test_a_stacked_batch_is_aligned_in_place() -> None:
    """The usual case: nothing is changed."""
    found = align_rows(EXAMPLES, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == ()
    assert found.altered == (0, 0, 0, 0)


def test_a_sorted_batch_is_aligned_by_content() -> None:
    """A collate_fn may put the longest first."""
    found = align_rows([EXAMPLES[place] for place in (2, 0, 3, 1)], EXAMPLES)

    assert found.slots == (2, 0, 3, 1)
    assert found.altered == (0, 0, 0, 0)


def test_a_dropped_row_leaves_its_example_without_one() -> None:
    """The rows behind it are not shifted onto it."""
    found = align_rows([EXAMPLES[0], *EXAMPLES[2:]], EXAMPLES)

    assert found.slots == (0, 2, 3)


def test_a_dropped_row_is_found_where_a_field_is_converted() -> None:
    """What is left alone still tells the rows apart."""
    rows = [(row[0], row[1], 99) for row in (EXAMPLES[0], *EXAMPLES[2:])]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 2, 3)
    assert found.converted == (2,)
    assert found.altered == (0b100, 0b100, 0b100)


def test_examples_that_are_dropped_may_be_of_another_make() -> None:
    """An example that could not be read is often None: one field instead of three."""
    found = align_rows(EXAMPLES, [EXAMPLES[0], (0,), *EXAMPLES[1:]])

    assert found.slots == (0, 2, 3, 4)
    assert found.converted == ()


def test_equal_examples_are_used_once_each() -> None:
    """A batch of one content has as many examples as rows."""
    found = align_rows([(5, 5)] * 3, [(5, 5)] * 3)

    assert found.slots == (0, 1, 2)


def test_one_row_too_many_has_no_slot() -> None:
    """It came from no example of its own."""
    found = align_rows([*EXAMPLES, EXAMPLES[0]], EXAMPLES)

    assert found.slots == (0, 1, 2, 3, NO_SLOT)
    assert found.altered == (0, 0, 0, 0, 0)


def test_a_field_that_collate_converts_is_told() -> None:
    """A picture scaled to floats has no value of its example."""
    rows = [(place, label, group) for place, (_, label, group) in enumerate(EXAMPLES)]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == (0,)
    assert found.altered == (1, 1, 1, 1)


def test_a_converted_field_of_few_values_does_not_hide_the_rows() -> None:
    """Each turned label is another example's; the unique field still says which."""
    rows = [converted_label(row) for row in EXAMPLES]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == ()
    assert found.altered == (0b10, 0b10, 0b10, 0b10)


def test_a_converted_label_is_told_where_its_values_are_not_balanced() -> None:
    """Three zeros and a one become three ones and a zero: two ones are new."""
    examples = [(place, int(place == 3), 7) for place in range(4)]

    found = align_rows([converted_label(row) for row in examples], examples)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == (1,)


def test_labels_rolled_by_one_are_seen_as_exchanged() -> None:
    """All values are the batch's own, on the wrong rows."""
    rows = [
        (row[0], EXAMPLES[place - 1][1], row[2]) for place, row in enumerate(EXAMPLES)
    ]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == ()
    assert found.altered == (0b10, 0b10, 0b10, 0b10)


def test_a_spoilt_row_keeps_its_place() -> None:
    """One value is new, in one row; all others are where they were."""
    rows = [EXAMPLES[0], (99, 1, 7), *EXAMPLES[2:]]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.converted == (0,)
    assert found.altered == (0, 1, 0, 0)


def test_a_spoilt_row_is_found_in_a_sorted_batch() -> None:
    """A unique field that is whole says which it is."""
    examples = [(place, 100 + place) for place in range(4)]
    rows = [examples[3], (examples[2][0], 999), examples[1], examples[0]]

    found = align_rows(rows, examples)

    assert found.slots == (3, 2, 1, 0)
    assert found.altered == (0, 0b10, 0, 0)


def test_a_row_overwritten_by_another_is_altered() -> None:
    """The example that it stood for is told by its place."""
    rows = [EXAMPLES[0], EXAMPLES[0], *EXAMPLES[2:]]

    found = align_rows(rows, EXAMPLES)

    assert found.slots == (0, 1, 2, 3)
    assert found.altered == (0, 0b11, 0, 0)


def test_a_single_row_of_new_values_is_aligned_with_its_example() -> None:
    """Alone, it may be converted or spoilt: all batches together tell."""
    found = align_rows([(1, 2, 3)], [(4, 5, 6)])

    assert found.slots == (0,)
    assert found.converted == (0, 1, 2)
    assert found.altered == (0b111,)


@pytest.mark.parametrize(
    ("rows", "examples"),
    [
        ([(1,)], [(2,), (3,), (4,)]),
        ([(1,), (2,), (3,), (4,)], [(5,), (6,)]),
        ([], [(1,), (2,)]),
        ([(1, 1)], [(1,), (2,)]),
        ([(1,)], []),
    ],
)
def test_a_batch_cut_otherwise_is_not_compared_by_row(
    rows: Sequence[tuple[int, ...]], examples: Sequence[tuple[int, ...]]
) -> None:
    """Packing texts into one row is no loss of examples."""
    found = align_rows(rows, examples)

    assert found.slots == tuple(range(len(examples)))
    assert found.converted is None
    assert found.altered == ()


def test_nothing_collated_to_nothing_is_in_order() -> None:
    """There is nothing to match."""
    found = align_rows([], [])

    assert (found.slots, found.converted, found.altered) == ((), (), ())


def test_a_row_of_another_make_than_its_example_is_altered_whole() -> None:
    """Fields cannot be told apart where one side has others."""
    found = align_rows([(1, 2), (3, 4)], [(1, 2), (5,)])

    assert found.slots == (0, 1)
    assert found.altered == (0, 0b11)


def test_a_field_of_another_shape_counts_as_padded() -> None:
    """Texts filled up to the longest are the commonest conversion, and no fault."""
    found = align_rows(
        [(1, 90), (2, 91)],
        [(1, 50), (2, 51)],
        row_shapes=[((), (9,)), ((), (9,))],
        example_shapes=[((), (9,)), ((), (4,))],
    )

    assert found.slots == (0, 1)
    assert found.converted == (1,)
    assert found.altered == (0b10, 0)


def test_shapes_of_another_make_excuse_nothing() -> None:
    """There is no field to compare with."""
    found = align_rows([(1, 2)], [(1,)], row_shapes=[((), ())], example_shapes=[((),)])

    assert found.altered == (0b11,)


def test_a_mask_has_a_bit_for_each_field_and_never_overflows() -> None:
    """An array of 64-bit words holds it, however many fields there are."""
    assert mask_of([0, 2]) == 0b101
    assert mask_of([MASK_BITS]) == 1
    assert mask_of(range(1000)) < 2**64


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=12)


@settings(deadline=None)
@given(rows=ROWS, data=st.data())
def test_any_order_of_rows_is_explained(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Each row has an equal example, each example one row."""
    shuffled = data.draw(st.permutations(rows))

    found = align_rows(shuffled, rows)

    assert sorted(found.slots) == list(range(len(rows)))
    assert all(
        rows[slot] == row for row, slot in zip(shuffled, found.slots, strict=True)
    )


@settings(deadline=None)
@given(rows=ROWS, examples=ROWS)
def test_no_example_is_used_twice(
    rows: list[tuple[int, int]], examples: list[tuple[int, int]]
) -> None:
    """Whatever a collate_fn makes, counts are kept, and as many rows are all placed."""
    found = align_rows(rows, examples)

    used = [slot for slot in found.slots if slot != NO_SLOT]
    assert len(used) == len(set(used))
    assert all(slot < len(examples) for slot in used)
    assert len(found.slots) in {len(rows), len(examples)}
    assert len(rows) != len(examples) or NO_SLOT not in found.slots
