"""Plain data becomes frozen values, or an error that names what is wrong."""

import dataclasses
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import pytest

from autoloader.errors import StoredFileError
from autoloader.values.decode import fields_of, plain, shown, value_of


class Colour(StrEnum):
    """A choice of words."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A value within another."""

    size: int = 0

    def __post_init__(self) -> None:
        """Check the size."""
        if self.size < 0:
            msg = f"size must be at least 0, got {self.size}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """One field of each kind that values have."""

    name: str
    share: float = 0.5
    is_kept: bool = False
    colour: Colour = Colour.RED
    count: int | Literal["all"] | None = None
    pairs: tuple[tuple[str, Any], ...] = ()
    bounds: tuple[int, int] = (0, 1)
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)


FULL = Outer(
    name="full",
    share=1.0,
    is_kept=True,
    colour=Colour.BLUE,
    count="all",
    pairs=(("root", [1, {"deep": None}]),),
    bounds=(2, 3),
    inner=Inner(size=1),
    inners=(Inner(size=2), Inner()),
    extra={"anything": [1.5]},
)


@pytest.mark.parametrize("value", [FULL, Outer(name="")])
def test_a_value_comes_back_equal_from_its_plain_form(value: Outer) -> None:
    """Tuples, words, nested values and None are what they were."""
    assert value_of(Outer, plain(value)) == value


def test_the_plain_form_holds_nothing_but_plain_types() -> None:
    """JSON and YAML can write it."""
    data = plain(FULL)

    assert data["colour"] == "blue"
    assert type(data["colour"]) is str
    assert data["bounds"] == [2, 3]
    assert data["inners"] == [{"size": 2}, {"size": 0}]


def test_a_class_is_no_value() -> None:
    """Only instances have fields to write."""
    assert plain(Outer) is Outer


def test_a_whole_number_stands_for_a_float() -> None:
    """YAML edited by hand has 2 where a float is kept."""
    found = value_of(Outer, {"name": "x", "share": 2})

    assert type(found.share) is float


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": 3}, "Outer.name must be str, got 3"),
        ({"share": "half"}, "Outer.share must be float, got 'half'"),
        ({"share": True}, "Outer.share must be float, got True"),
        ({"share": math.nan}, "Outer.share must be a finite number, got nan"),
        ({"share": -math.inf}, "Outer.share must be a finite number, got -inf"),
        (
            {"share": 10**400},
            "Outer.share must be a finite number, got <a number of 1329 bits>",
        ),
        ({"is_kept": 1}, "Outer.is_kept must be bool, got 1"),
        ({"is_kept": None}, "Outer.is_kept must be bool, got None"),
        ({"colour": "green"}, "Outer.colour must be 'red' | 'blue', got 'green'"),
        ({"count": 1.5}, "Outer.count must be int | 'all' | None, got 1.5"),
        ({"count": False}, "Outer.count must be int | 'all' | None, got False"),
        ({"pairs": {"root": 1}}, "Outer.pairs must be a list, got {'root': 1}"),
        ({"pairs": [["root"]]}, "Outer.pairs[0] must have 2 items, got 1"),
        ({"pairs": [[1, 2]]}, "Outer.pairs[0][0] must be str, got 1"),
        ({"bounds": [1, "2"]}, "Outer.bounds[1] must be int, got '2'"),
        ({"inner": []}, "Outer.inner must be a mapping | None, got []"),
        ({"inner": {"sizes": 1}}, "Outer.inner has no field 'sizes'"),
        (
            {"inners": [{}, {"size": -1}]},
            "Outer.inners[1] cannot be used: size must be at least 0, got -1",
        ),
        ({"extra": []}, "Outer.extra must be a mapping, got []"),
    ],
)
def test_a_value_of_another_type_is_refused(
    changes: dict[str, object], sentence: str
) -> None:
    """The sentence names the place, what belongs there and what was found."""
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        value_of(Outer, {"name": "x", **changes})


def test_a_long_value_is_cut_short_in_the_sentence() -> None:
    """A sentence stays readable whatever stands in the file."""
    found = list(range(99))

    sentence = f"Outer.name must be str, got {repr(found)[:57]}..."
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        value_of(Outer, {"name": found})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (16**5000, "<a number of 20001 bits>"),
        ([-(16**5000)], "[<a number of 20001 bits>]"),
        ([[[[[1]]]]], "[[[[...]]]]"),
        ("x" * 10**6, f"'{'x' * 37}...{'x' * 16}..."),
    ],
    ids=["number", "list", "deep", "long"],
)
def test_what_is_huge_or_deep_is_shown_in_part(value: object, words: str) -> None:
    """Python itself cannot write a number of so many digits."""
    assert shown(value) == words


@pytest.mark.parametrize(
    ("place", "data", "sentence"),
    [
        ("parts[3]", {"name": 3}, "parts[3].name must be str, got 3"),
        ("parts[3]", {}, "parts[3] lacks the field 'name'"),
        ("parts[3]", [], "parts[3] must be a mapping, got list"),
        (
            "parts[3]",
            {"name": "", "inner": {"size": -1}},
            "parts[3].inner cannot be used: size must be at least 0, got -1",
        ),
        ("", {"name": 3}, "name must be str, got 3"),
        ("", {}, "it lacks the field 'name'"),
        ("", {"name": "", "inner": {"size": ""}}, "inner.size must be int, got ''"),
    ],
)
def test_errors_name_the_place_in_the_file(
    place: str, data: object, sentence: str
) -> None:
    """With dots, from the file's top on, whatever the class is called."""
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        value_of(Outer, data, place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubled:
    """A value that reckons with its number."""

    number: int

    def __post_init__(self) -> None:
        """Work something out."""
        float(self.number)


def test_a_number_that_is_too_large_to_reckon_with_is_refused() -> None:
    """JSON has numbers of any length."""
    sentence = "Doubled cannot be used: int too large to convert to float"

    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        value_of(Doubled, {"number": 10**400})


@pytest.mark.parametrize(
    ("data", "sentence", "hint"),
    [
        (None, "Outer must be a mapping, got NoneType", None),
        ({}, "Outer lacks the field 'name'", None),
        (
            {"name": "x", "shares": 1},
            "Outer has no field 'shares'",
            "did you mean 'share'?",
        ),
        ({"name": "x", 7: 1}, "Outer has no field 7", None),
    ],
)
def test_an_unknown_or_missing_key_is_refused(
    data: object, sentence: str, hint: str | None
) -> None:
    """A misspelt key never falls back to a default."""
    with pytest.raises(StoredFileError) as caught:
        fields_of(Outer, data)

    assert str(caught.value) == sentence
    assert caught.value.hint == hint


def test_fields_are_given_as_they_stand() -> None:
    """Who converts them otherwise gets the plain data."""
    data = {"name": "x", "bounds": [1, 2]}

    assert fields_of(Outer, data) == data
