"""What can be said of a stream that was cut: shares, repeats, gaps."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.audit.shares import (
    Delivery,
    Key,
    Share,
    ShareFaults,
    Telling,
    compare_share,
    lost_between,
    repeats_of,
)

SHARE = tuple(range(20))


def keys(numbers: Sequence[int]) -> list[Key]:
    """Return keys of one form."""
    return [(number, 0) for number in numbers]


def delivery(numbers: Sequence[int], *, given: int | None = None) -> Delivery:
    """Return what a worker delivered."""
    count = len(numbers) if given is None else given
    return Delivery(keys=keys(numbers), given=count)


def compared(
    numbers: Sequence[int],
    *,
    share: Sequence[int] = SHARE,
    due: int = 0,
    is_complete: bool = False,
    given: int | None = None,
) -> ShareFaults:
    """Return what is wrong with a delivery."""
    return compare_share(
        Share(keys=keys(share), is_complete=is_complete),
        delivery(numbers, given=given),
        due=due,
    )


def is_clean(faults: ShareFaults) -> bool:
    """Whether nothing is wrong."""
    return not (faults.skipped or faults.ended or faults.extra)


@pytest.mark.parametrize("count", [0, 1, 7, 20])
def test_the_beginning_of_a_share_is_right(count: int) -> None:
    """However much of it arrived before the cut."""
    assert is_clean(compared(range(count)))


@given(st.permutations(range(9)))
def test_the_order_of_a_delivery_is_free(order: list[int]) -> None:
    """A collate_fn may sort its batch."""
    assert is_clean(compared(order))


def test_what_lies_beyond_the_reading_of_a_share_is_not_foreign() -> None:
    """It was read to a limit; the worker went on."""
    assert is_clean(compared(range(26)))


def test_a_share_that_ended_has_nothing_beyond() -> None:
    """Then more is more than there is."""
    faults = compared(range(22), is_complete=True)

    assert faults.extra == Counter(keys([20, 21]))


@given(st.integers(0, 17), st.integers(19, 20))
def test_a_skipped_example_is_found_and_nothing_else(lost: int, end: int) -> None:
    """Those that came early in its place are not blamed."""
    faults = compared([number for number in range(end) if number != lost])

    assert (faults.skipped, faults.ended, +faults.extra) == ([lost], [], Counter())


def test_a_skipped_example_lets_one_come_from_beyond_the_reading() -> None:
    """The worker went one further."""
    faults = compared([number for number in range(21) if number != 5])

    assert (faults.skipped, +faults.extra) == ([5], Counter())


@given(st.integers(0, 8))
def test_a_repeated_example_is_found_and_nothing_else(again: int) -> None:
    """Those that it kept from coming are not missing."""
    faults = compared([*range(9), again])

    assert (faults.skipped, faults.extra) == ([], Counter(keys([again])))


@given(st.integers(0, 7))
def test_an_altered_example_is_missing_and_foreign(at: int) -> None:
    """What it was is missing, what it became is foreign."""
    faults = compared([99 if number == at else number for number in range(9)])

    assert (faults.skipped, faults.extra) == ([at], Counter(keys([99])))


def test_an_alteration_is_found_also_where_the_delivery_is_longer() -> None:
    """Than what was read of the share."""
    faults = compared([0, 99, *range(2, 26)])

    assert faults.skipped == [1]


def test_what_was_due_and_did_not_arrive_ended_too_soon() -> None:
    """The worker showed no more although its share has."""
    assert compared(range(5), due=8).ended == [5, 6, 7]
    assert compared(range(5), due=99).ended == list(range(5, 20))


def test_a_share_may_repeat_itself() -> None:
    """It begins anew for ever."""
    share = [0, 1, 2] * 6

    assert is_clean(compared([0, 1, 2, 0, 1], share=share))
    assert compared([0, 2, 0, 1, 2], share=share).skipped == [4]


def test_equal_examples_tell_nothing_and_accuse_nobody() -> None:
    """All fields are random: any delivery is right."""
    assert is_clean(compared([5] * 9, share=[5] * 20))


@pytest.mark.parametrize(
    ("numbers", "examples", "repeats"),
    [
        (range(40), 40, 0),
        ([*range(150), 3], 151, 1),
        ([number % 101 for number in range(1000)], 102, 1),
        ([5] * 40, 1, 0),
        ([], 0, 0),
    ],
)
def test_a_reference_tells_as_far_as_its_examples_differ(
    numbers: Sequence[int], examples: int, repeats: int
) -> None:
    """One in a hundred may be equal to another."""
    assert Telling.of(keys(numbers)) == Telling(examples, repeats)


def test_workers_that_read_the_same_are_clearly_wrong() -> None:
    """Each example came as often as there are workers."""
    again, is_clear = repeats_of([delivery(range(20))] * 2, Telling(40, 0))

    assert is_clear
    assert again == Counter(keys(range(20)))


def test_workers_of_an_endless_cycle_that_read_the_same_are_clearly_wrong() -> None:
    """The reference repeats itself as well, but not so soon."""
    numbers = [number % 101 for number in range(400)]

    _, is_clear = repeats_of([delivery(numbers)] * 2, Telling.of(keys(numbers)))

    assert is_clear


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_an_endless_cycle_that_is_shared_is_right(workers: int) -> None:
    """Later rounds bring what others had in earlier ones."""
    numbers = [number % 101 for number in range(800)]
    deliveries = [delivery(numbers[worker::workers]) for worker in range(workers)]

    _, is_clear = repeats_of(deliveries, Telling.of(keys(numbers)))

    assert not is_clear


def test_few_repeats_may_be_equal_examples() -> None:
    """They are reported, not refused."""
    again, is_clear = repeats_of([delivery([*range(30), 3])], Telling(40, 0))

    assert (again, is_clear) == (Counter(keys([3])), False)


def test_few_examples_prove_nothing() -> None:
    """Ten with the same ten labels are no proof."""
    _, is_clear = repeats_of([delivery(range(5))] * 2, Telling(10, 0))

    assert not is_clear


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("population", [10, 100, 1000, 100_000])
def test_draws_with_replacement_are_hardly_ever_accused(
    workers: int, population: int
) -> None:
    """An endless stream may draw its examples at random."""
    rng = Random(population + workers)  # noqa: S311  # draws, no secret
    accused = 0
    for _ in range(100):
        drawn = [
            [rng.randrange(population) for _ in range(200)] for _ in range(workers + 1)
        ]
        telling = Telling.of(keys(drawn.pop()))
        accused += repeats_of([delivery(part) for part in drawn], telling)[1]

    assert accused <= 2


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_shares_in_turns_lose_nothing(workers: int) -> None:
    """Every example is in one of them."""
    shares = [keys(range(worker, 90, workers)) for worker in range(workers)]

    assert lost_between(keys(range(60)), shares) == []


def test_shares_that_are_split_twice_lose_what_lies_between() -> None:
    """Each worker takes every second of its every second."""
    shares = [keys(range(0, 90, 4)), keys(range(3, 90, 4))]

    lost = lost_between(keys(range(60)), shares)

    assert lost == [place for place in range(3, 57) if place % 4 in {1, 2}]


def test_equal_examples_do_not_hide_what_lies_between() -> None:
    """9 comes twice and says nothing of the order; 4 is lost."""
    reference = [0, 1, 9, 2, 3, 4, 9, 5, 6, 7]

    lost = lost_between(keys(reference), [keys([0, 9, 3, 9, 6]), keys([1, 2, 5, 7])])

    assert lost == [5]


def test_a_share_that_begins_beyond_the_reference_says_nothing() -> None:
    """Ranges: the second worker starts where nobody has read."""
    shares = [keys(range(0, 60, 2)), keys(range(500, 560))]

    assert lost_between(keys(range(60)), shares) == []


def test_shares_in_an_order_of_their_own_say_nothing() -> None:
    """They may come to the rest later."""
    shares = [keys([0, 8, 2, 9]), keys([1, 7])]

    assert lost_between(keys(range(10)), shares) == []


@given(st.integers(1, 6), st.integers(1, 200), st.integers(1, 300), st.data())
def test_no_order_preserving_split_is_ever_accused(
    workers: int, length: int, limit: int, data: st.DataObject
) -> None:
    """Whoever gets which example, and wherever readings are cut."""
    owners = data.draw(
        st.lists(st.integers(0, workers - 1), min_size=length, max_size=length)
    )
    shares = [
        keys([number for number, owner in enumerate(owners) if owner == worker][:limit])
        for worker in range(workers)
    ]

    assert lost_between(keys(range(min(length, limit))), shares) == []
