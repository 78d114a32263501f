"""A failure is narrowed to what shows it, and to no more."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from autoloader.audit.narrowing import smallest


def test_one_cause_of_a_thousand_is_found_in_few_tries() -> None:
    """About two for each halving."""
    found = smallest(range(1000), lambda part: 617 in part)

    assert found.items == (617,)
    assert found.is_smallest
    assert found.tries <= 20


def test_two_that_are_needed_together_are_both_kept() -> None:
    """A collate that cannot stack needs one of each shape."""
    found = smallest(range(64), lambda part: {3, 50} <= set(part))

    assert found.items == (3, 50)
    assert found.is_smallest


def test_an_item_that_is_needed_no_more_is_left_out() -> None:
    """Fewer items are batched in another way: what a part shows may be no sum."""
    found = smallest(
        range(8), lambda part: list(part) == [0, 1, 7] or len(part) > 3 or part == [0]
    )

    assert found.is_smallest
    assert len(found.items) <= 4


def test_what_any_item_shows_ends_with_one() -> None:
    """As a lock does that every worker waits for."""
    found = smallest(range(100), bool)

    assert len(found.items) == 1


def test_tries_that_are_up_are_said_to_be() -> None:
    """What is left then may not be the smallest."""
    found = smallest(range(1000), lambda part: 617 in part, most_tries=3)

    assert found.tries == 3
    assert not found.is_smallest
    assert 617 in found.items


@given(
    length=st.integers(1, 40),
    data=st.data(),
)
def test_no_item_can_be_left_out_of_what_is_found(
    length: int, data: st.DataObject
) -> None:
    """Whatever set of items is needed together."""
    needed = data.draw(
        st.frozensets(st.integers(0, length - 1), min_size=1, max_size=4)
    )

    def shows(part: Sequence[int]) -> bool:
        return needed <= set(part)

    found = smallest(range(length), shows, most_tries=2000)

    assert found.is_smallest
    assert set(found.items) == needed
    assert list(found.items) == sorted(found.items)
