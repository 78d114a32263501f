"""YAML that people write: what it means, and what is refused before it does harm."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autoloader.export.plain_yaml import plain_yaml


def refusal(text: str) -> str:
    """Return the sentence that a text is refused with."""
    with pytest.raises(ValueError, match=r"^x\.yaml is no YAML") as caught:
        plain_yaml(text, called="x.yaml")
    return str(caught.value).removeprefix("x.yaml is no YAML")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: {b: [1, 2.5, yes, ~, 'x']}", {"a": {"b": [1, 2.5, True, None, "x"]}}),
        ("a: &name 1\nb: 2", {"a": 1, "b": 2}),
        ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("a: {b: 1, <<: {b: 2, c: 3}}", {"a": {"b": 1, "c": 3}}),
    ],
)
def test_values_are_those_of_yaml(text: str, value: Any) -> None:
    """Line ends and a byte order mark of any editor included."""
    assert plain_yaml(text, called="x.yaml") == value


@pytest.mark.parametrize("text", ["2:16", "0:16", "1:30", "1:30.5", "-1:59"])
def test_a_range_is_text(text: str) -> None:
    """YAML 1.1 takes some of them for numbers in base 60: 2:16 would be 136."""
    assert plain_yaml(f"num-workers: {text}", called="x.yaml") == {"num-workers": text}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "target: 1\nseed: 2\ntarget: 3\n",
            " in line 3: the key 'target' stands twice, first in line 1",
        ),
        (
            "a:\n- {b: 1,\n   'b': 2}\n",
            " in line 3: the key 'b' stands twice, first in line 2",
        ),
        (
            "a: &x [1]\nb: *x\n",
            " in line 2: the alias *x is not read here, write the value out",
        ),
        (
            "a: &x [*x]\n",
            " in line 1: the alias *x is not read here, write the value out",
        ),
        ("- " * 60 + "1", " in line 1: values are nested more than 40 deep"),
        (
            "a: 0x" + "f" * 5000,
            " in line 1: a number of more than 1024 bits is not read here",
        ),
        ('a: "\\ud800"', " in line 1: '\\ud800' is half a letter"),
        ("a: !!int many", " in line 1: 'many' is no int"),
        ("a: !!bool many", " in line 1: 'many' is no bool"),
        ("a: !!int ''", " in line 1: '' is no int"),
        ("a: !!float many", " in line 1: 'many' is no float"),
        ("a: !!timestamp many", " in line 1: 'many' is no timestamp"),
        ("a: 2026-13-45", " in line 1: '2026-13-45' is no timestamp"),
        ("a: " + "9" * 5000, " in line 1: '" + "9" * 37 + "..." + "9" * 16 + "..."
         " is no int"),
        ("[1]: 2", " in line 1: found unhashable key"),
        ("a: !!python/none x", " in line 1: could not determine a constructor for the "
         "tag 'tag:yaml.org,2002:python/none'"),
        ("a: !" + "x" * 900, " in line 1: could not determine a constructor for the "
         "tag '!" + "x" * 149 + "..."),
        ("a: &x 1\nb: &x 2", " in line 2: found duplicate anchor 'x'; first "
         "occurrence, second occurrence"),
        ("--- 1\n--- 2\n", " in line 2: expected a single document in the stream, but "
         "found another document"),
        ("a: [", " in line 1: expected the node content, but found '<stream end>'"),
        ("a: \0", ": unacceptable character #x0000: special characters are not "
         "allowed"),
        ('a: "\\UFFFFFFFF"', ": an escape such as \\U00110000 names no letter"),
        ('a: "\\U00110000"', ": an escape such as \\U00110000 names no letter"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_line(text: str, words: str) -> None:
    """What is wrong, and the rule."""
    assert refusal(text) == words


def test_a_bomb_of_aliases_is_never_unfolded() -> None:
    """Nine lists of nine, nine deep, are 387 million values when they are shown."""
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")

    assert refusal("\n".join(lines)).startswith(" in line 2: the alias *a is not read")


@pytest.mark.parametrize(
    "tag",
    [
        "python/object/apply:os.mkdir", "python/object/new:os.mkdir",
        "python/name:os.mkdir", "python/module:os", "python/object:os.mkdir",
    ],
)  # fmt: skip
def test_nothing_in_a_text_is_ever_run(tmp_path: Path, tag: str) -> None:
    """Tags that make Python objects are unknown here."""
    made = tmp_path / "made"

    words = refusal(f"a: !!{tag} ['{made}']\n")

    assert words == (
        " in line 1: could not determine a constructor for the tag "
        f"'tag:yaml.org,2002:{tag}'"
    )
    assert not made.exists()
