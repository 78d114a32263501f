"""A list is compact, and yields Python's own numbers whatever it is kept in."""

import re
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.audit.scope_list import Ints, ScopeList, compact, told_id

NUMBERS = st.integers(-(2**63), 2**63 - 1)

INDICES = st.one_of(
    st.lists(st.integers(0, 9)),
    st.lists(NUMBERS),
    st.lists(NUMBERS | st.just(2**63)),
    st.lists(st.integers(0, 2) | st.text(max_size=1) | st.booleans()),
)


class Place(IntEnum):
    """Ids of a class of their own, as some datasets have."""

    FIRST = 1


@pytest.mark.parametrize(
    ("index", "told"),
    [
        (3, 3),
        (Place.FIRST, 1),
        (True, "True"),
        ("a/b.jpg", "a/b.jpg"),
        ((1, 2), "(1, 2)"),
    ],
)
def test_an_id_is_told_as_a_number_or_its_text(index: object, told: int | str) -> None:
    """JSON has both, and no class of its own comes with them."""
    found = told_id(index)

    assert (type(found), found) == (type(told), told)


@settings(deadline=None)
@given(indices=INDICES)
def test_a_list_is_what_the_sampler_yielded(indices: list[Any]) -> None:
    """Each id once, in order of first use; True, which equals 1, is none of its own."""
    listed = ScopeList.of(indices)

    assert list(listed.ids) == list(dict.fromkeys(indices))
    assert listed.indices(range(len(indices))) == indices
    assert listed.indices(list(range(len(indices)))[::-1]) == indices[::-1]


@settings(deadline=None, max_examples=50)
@given(indices=INDICES)
def test_a_list_comes_back_from_the_disk(
    tmp_path_factory: pytest.TempPathFactory, indices: list[Any]
) -> None:
    """Kinds of ids included."""
    folder = tmp_path_factory.mktemp("scope")
    listed = ScopeList.of(indices)

    listed.write(folder)
    again = ScopeList.read(folder)

    assert again == listed
    assert again.indices(range(len(indices))) == indices
    kinds = [type(index) for index in listed.indices(range(len(indices)))]
    read = again.indices(range(len(indices)))
    assert [type(index) for index in read] == kinds


@pytest.mark.parametrize("first", [0, -5, 2**40])
def test_numbers_are_pythons_own(tmp_path: Path, first: int) -> None:
    """A dataset may look its index up in a dict of JSON, or multiply it."""
    ScopeList.of(range(first, first + 9)).write(tmp_path)

    listed = ScopeList.read(tmp_path)

    for found in (
        listed.indices([3, 0]),
        listed.indices(range(2, 5)),
        list(listed.ids),
        [listed.ids[0], listed.ids[-1], *listed.ids[::4]],
        [listed.places[2]],
    ):
        assert {type(number) for number in found} == {int}
    assert [*listed.ids[::4], listed.ids[-1]] == [
        first,
        first + 4,
        first + 8,
        first + 8,
    ]


def test_numbers_take_eight_bytes_or_four(tmp_path: Path) -> None:
    """Ten million examples fit in 120 MB, in memory and on disk."""
    ScopeList.of(range(-1, 999)).write(tmp_path)

    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}

    assert sizes["scope_ids.npy"] < 8 * 1000 + 200
    assert sizes["scope_places.npy"] < 4 * 1000 + 200
    assert sizes["scope.json"] < 100


def test_a_list_of_another_kind_replaces_one_on_the_disk(tmp_path: Path) -> None:
    """What lies there from before is not read."""
    ScopeList.of([1, 2]).write(tmp_path)
    ScopeList.of(["a", 2]).write(tmp_path)

    assert ScopeList.read(tmp_path).ids == ["a", 2]


def test_lists_given_as_they_are_are_written_compactly(tmp_path: Path) -> None:
    """A stream numbers its examples by itself."""
    ScopeList([10, 11], [0, 1]).write(tmp_path)

    again = ScopeList.read(tmp_path)

    assert isinstance(again.ids, Ints)
    assert again.indices([1]) == [11]


def test_batches_of_the_users_own_are_kept(tmp_path: Path) -> None:
    """The first ones, and the last."""
    listed = ScopeList.of(range(10), [3, 3, 2, 2])
    listed.write(tmp_path)

    again = ScopeList.read(tmp_path)

    assert again.cuts == [3, 3, 2, 2]
    assert again.batches(10) == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert again.batches(8) == [[0, 1, 2], [3, 4, 5], [8, 9]]
    assert again.batches(1) == [[0, 1, 2], [8, 9]]
    assert ScopeList.of(range(2), [2]).batches(1) == [[0, 1]]


def test_a_list_of_free_batches_has_none_of_its_own() -> None:
    """They are cut by the config."""
    sentence = "the batch size is free, so the list has no batches of its own"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        ScopeList.of([1]).batches(1)


@pytest.mark.parametrize(
    ("values", "is_compact"),
    [
        ([1, 2], True),
        (range(3), True),
        ((1, 2), True),
        ([], True),
        ([2**63], False),
        ([True, False], False),
        ([1, "1"], False),
        ([1.0], False),
        ([np.int64(1)], False),
    ],
)
def test_only_plain_numbers_of_64_bits_lie_in_arrays(
    values: Sequence[Any], is_compact: bool
) -> None:
    """All else would come back as something else."""
    found = compact(values)

    assert isinstance(found, Ints) is is_compact
    assert list(found) == list(values)
    assert compact(found) == found


def test_numbers_equal_those_of_a_list() -> None:
    """And nothing else."""
    numbers = Ints(np.arange(3))

    assert numbers == [0, 1, 2]
    assert numbers == (0, 1, 2)
    assert numbers == Ints(np.arange(3, dtype=np.int32))
    assert numbers != [0, 1]
    assert numbers != "012"
    assert repr(numbers) == "Ints(array([0, 1, 2]))"
    assert 2 in numbers
    assert numbers.index(2) == 2
    assert np.asarray(numbers).tolist() == [0, 1, 2]
    assert numbers.take(range(1, 9, 4)[:1]) == [1]


def test_an_entry_beyond_the_list_is_an_error() -> None:
    """As it is for a list."""
    with pytest.raises(IndexError):
        ScopeList.of(range(3)).indices(range(4))
