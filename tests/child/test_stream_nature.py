"""What two passes over a stream say of its order and its fields."""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.child.digest import leaves
from autoloader.child.stream import StreamPass
from autoloader.child.stream_nature import StreamNature, compare_passes
from autoloader.errors import DatasetError

Rng = random.Random  # noqa: S311  # orders and augmentation, no secrets


def passed(examples: Iterable[Any], *, is_complete: bool = True) -> StreamPass:
    """Return a pass that read these examples."""
    found = StreamPass()
    for number, example in enumerate(examples):
        found.add(leaves(example))
        found.ids.append(number)
    found.is_complete = is_complete
    return found


def compared(
    one: Sequence[Any],
    other: Sequence[Any],
    *,
    is_complete: bool = True,
    label: str | None = None,
    id_path: str | None = None,
) -> StreamNature:
    """Return what two passes say."""
    first, second = (passed(part, is_complete=is_complete) for part in (one, other))
    return compare_passes(first, second, label, id_path)


def drawn(seed: int, make: Callable[[int, Rng], Any], count: int = 40) -> list[Any]:
    """Return examples with random fields drawn by a seed."""
    rng = Rng(seed)
    return [make(number, rng) for number in range(count)]


def shuffled(examples: Sequence[Any], seed: int, buffer: int = 1000) -> list[Any]:
    """Return examples through a shuffle buffer."""
    rng = Rng(seed)
    held: list[Any] = []
    out = []
    for example in examples:
        held.append(example)
        if len(held) > buffer:
            out.append(held.pop(rng.randrange(len(held))))
    rng.shuffle(held)
    return out + held


def with_noise(number: int, rng: Rng) -> Any:
    """Return fixed id and label, and random pixels."""
    return {"id": number, "label": number % 7, "pixels": rng.random()}


def without_id(number: int, rng: Rng) -> Any:
    """Return a fixed label and random pixels."""
    return rng.random(), number * number % 7


PLAIN = [(float(number), number % 7) for number in range(40)]


@pytest.mark.parametrize("is_complete", [True, False])
def test_equal_passes_keep_their_order_and_have_fixed_fields(
    is_complete: bool,
) -> None:
    """The same examples at the same places."""
    nature = compared(PLAIN, PLAIN, is_complete=is_complete, label="1")

    assert nature.keeps_order
    assert nature.plan.random == frozenset()
    assert nature.plan.label == "1"


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("make", "random_fields"), [(with_noise, {"pixels"}), (without_id, {"0"})]
)
def test_fields_that_change_at_their_places_are_random(
    make: Callable[[int, Rng], Any], random_fields: set[str], is_complete: bool
) -> None:
    """Others say that the order is kept."""
    nature = compared(drawn(1, make), drawn(2, make), is_complete=is_complete)

    assert nature.keeps_order
    assert nature.plan.random == random_fields


def test_a_field_that_changes_now_and_then_is_random() -> None:
    """A flip for every fourth example."""

    def make(number: int, rng: Rng) -> Any:
        return number * (-1 if rng.random() < 0.25 else 1), number % 5

    nature = compared(drawn(1, make), drawn(2, make))

    assert nature.keeps_order
    assert nature.plan.random == {"0"}


@pytest.mark.parametrize("buffer", [3, 10, 1000])
@pytest.mark.parametrize("make", [with_noise, without_id])
def test_another_order_is_no_random_field(
    make: Callable[[int, Rng], Any], buffer: int
) -> None:
    """A whole stream has the same values in all."""
    nature = compared(
        shuffled(drawn(1, make), 3, buffer), shuffled(drawn(2, make), 4, buffer)
    )

    assert not nature.keeps_order
    assert nature.plan.random == ({"pixels"} if make is with_noise else {"0"})


def test_a_shuffled_stream_of_sorted_labels_is_shuffled() -> None:
    """Most labels are where they were, as most neighbours are equal; ids are not."""
    examples = [(number, number // 20) for number in range(80)]

    nature = compared(shuffled(examples, 1, 5), shuffled(examples, 2, 5))

    assert not nature.keeps_order
    assert nature.plan.random == frozenset()


@pytest.mark.parametrize("id_path", [None, "id"])
@pytest.mark.parametrize("is_complete", [True, False])
def test_a_few_examples_that_change_places_are_another_order(
    id_path: str | None, is_complete: bool
) -> None:
    """Neighbours come in the order in which two readers have them."""
    one = [{"id": number, "label": number % 3} for number in range(40)]
    other = list(one)
    for at in (4, 11, 30):
        other[at : at + 2] = reversed(other[at : at + 2])

    nature = compared(one, other, is_complete=is_complete, id_path=id_path)

    assert not nature.keeps_order
    assert nature.plan.random == frozenset()


def test_a_constant_field_says_nothing_of_the_order() -> None:
    """It is the same at every place of every order."""
    examples = [{"id": number, "source": "web", "extra": None} for number in range(40)]

    nature = compared(shuffled(examples, 1), shuffled(examples, 2))

    assert not nature.keeps_order
    assert nature.plan.random == frozenset()


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_constant_field_beside_noise_says_nothing_of_the_order(
    is_complete: bool,
) -> None:
    """Nothing does."""
    one, other = (drawn(seed, lambda _, rng: (rng.random(), 1)) for seed in (1, 2))

    assert not compared(one, other, is_complete=is_complete).keeps_order


def test_a_rare_value_says_less_of_the_order_than_ids() -> None:
    """Most examples have the other one, whatever their order is."""
    one = [(number, number == 4) for number in range(40)]
    other = [(number, False) for number in reversed(range(10, 50))]

    assert not compared(one, other, is_complete=False).keeps_order


def test_equal_examples_have_any_order() -> None:
    """So it is kept."""
    assert compared([(1, 2)] * 9, [(1, 2)] * 9).keeps_order


def test_one_example_keeps_its_order() -> None:
    """There is no other."""
    assert compared([(1, 2)], [(1, 2)]).keeps_order


# Cut streams in another order


def test_a_cut_stream_in_another_order_has_the_fields_that_come_again() -> None:
    """A shuffle buffer brings mostly the same examples; noise never comes again."""
    one, other = (
        shuffled(drawn(seed, with_noise, 200), seed, 30)[:150] for seed in (1, 2)
    )

    nature = compared(one, other, is_complete=False)

    assert not nature.keeps_order
    assert nature.plan.random == {"pixels"}


def test_of_a_cut_stream_that_goes_on_all_content_tells() -> None:
    """Nothing comes again: what is random cannot be known."""
    later = [(number + 0.0, number % 7) for number in range(40, 80)]

    nature = compared(PLAIN, later, is_complete=False)

    assert not nature.keeps_order
    assert nature.plan.random == frozenset()


def test_of_a_stream_that_is_drawn_anew_all_content_tells() -> None:
    """Made of noise, for ever."""
    nature = compared(
        *(drawn(seed, lambda _, rng: (rng.random(), rng.random())) for seed in (1, 2)),
        is_complete=False,
    )

    assert not nature.keeps_order
    assert nature.plan.random == frozenset()


def test_a_field_that_the_user_names_tells_examples_apart() -> None:
    """Although none of its values came again."""
    one = [{"id": n, "label": n % 5, "pixels": n + 0.5} for n in range(40)]
    other = [{"id": n + 90, "label": n % 5, "pixels": n + 90.5} for n in range(40)]

    nature = compared(one, other, is_complete=False, id_path="id", label="label")

    assert not nature.keeps_order
    assert nature.plan.random == {"pixels"}


def test_an_id_that_changes_is_none() -> None:
    """It has to stay with its example."""
    one = [{"id": n, "label": n % 5} for n in range(40)]
    other = [{"id": n + 90, "label": n % 5} for n in range(40)]
    message = "reference_unstable: the id 'id' changes between readings"

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$") as it:
        compared(one, other, id_path="id")

    assert it.value.hint == "name a field that stays with its example"


# Shapes and fields


def test_random_fields_of_any_size_have_free_shapes() -> None:
    """A random crop; what is fixed keeps its shape in the comparison."""

    def make(number: int, rng: Rng) -> Any:
        return number, torch.full((rng.randint(1, 9),), rng.random()), [0] * 2

    nature = compared(drawn(1, make), drawn(2, make))

    assert nature.plan.random == {"1"}
    assert nature.plan.free_shapes == {"1"}


def test_fixed_fields_of_any_size_have_their_shapes() -> None:
    """Texts of different lengths."""
    examples = [torch.arange(number % 5 + 1) + number for number in range(20)]

    nature = compared(examples, examples)

    assert nature.plan.free_shapes == frozenset()


def boxes(number: int, rng: Rng) -> Any:
    """Return an image with a random number of boxes."""
    return {"id": number, "boxes": [1.0] * rng.randint(1, 5)}


def test_other_fields_at_the_same_place_are_unstable() -> None:
    """No reading says which are right."""
    one = [{"id": number} for number in range(9)]
    other = [dict(example) for example in one]
    other[4]["more"] = 1
    message = "reference_unstable: example 4 of the stream has other fields each time"

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$") as it:
        compared(one, other)

    assert it.value.hint == (
        "the usual cause is a random transform that leaves fields out or changes how "
        "many there are"
    )


def test_other_fields_in_all_are_unstable() -> None:
    """Whatever the order is."""
    message = "reference_unstable: the examples have other fields in each pass"

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$"):
        compared(shuffled(drawn(1, boxes), 1), shuffled(drawn(2, boxes), 2))


def test_examples_of_several_kinds_are_stable() -> None:
    """In any order."""
    examples: list[Any] = [
        {"id": n, **({"caption": str(n)} if n % 3 else {})} for n in range(30)
    ]

    assert compared(examples, examples).plan.random == frozenset()
    nature = compared(shuffled(examples, 1), shuffled(examples, 2))
    assert nature.plan.random == frozenset()


# Lengths


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ((9, True), (0, True), "the second pass over the stream is empty"),
        ((9, False), (0, True), "the second pass over the stream is empty"),
        ((9, True), (8, True), "the stream had 9 examples, then 8"),
        ((9, True), (10, True), "the stream had 9 examples, then 10"),
        ((9, True), (10, False), "the stream had 9 examples, then at least 10"),
        ((9, False), (5, True), "the stream had at least 9 examples, then 5"),
    ],
)
def test_a_length_that_moves_is_unstable(
    one: tuple[int, bool], other: tuple[int, bool], message: str
) -> None:
    """Before anything else is looked at."""
    first, second = (
        passed(PLAIN[:10][:length], is_complete=whole) for length, whole in (one, other)
    )

    with pytest.raises(DatasetError, match=f"^reference_unstable: {message}$") as it:
        compare_passes(first, second, None)

    assert it.value.hint == (
        "the usual cause is state that outlives a pass"
        if other[0]
        else "__iter__ must start anew: return a generator, not self"
    )


def test_a_cut_pass_may_be_shorter() -> None:
    """It was out of time, not at its end."""
    first, second = (
        passed(PLAIN, is_complete=False),
        passed(PLAIN[:30], is_complete=False),
    )

    nature = compare_passes(first, second, None)

    assert nature.keeps_order


@settings(max_examples=80)
@given(
    st.integers(3, 60),
    st.integers(0, 2**16),
    st.sampled_from([0, 2, 8, 1000]),
    st.booleans(),
)
def test_what_tells_examples_apart_is_never_random(
    count: int, seed: int, buffer: int, is_complete: bool
) -> None:
    """An id that comes again as it was is fixed, however the stream is ordered."""
    one, other = drawn(seed, with_noise, count), drawn(seed + 1, with_noise, count)
    if buffer:
        one, other = shuffled(one, seed, buffer), shuffled(other, seed + 2, buffer)

    nature = compared(one, other, is_complete=is_complete)

    assert "id" not in nature.plan.random
    assert nature.plan.random <= {"pixels"}
