"""YAML that is written reads as it is, and loads to what was written."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from autoloader.export.contract_file import read_contract, write_contract
from autoloader.export.plain_yaml import plain_yaml
from autoloader.export.recommendation import Recommendation
from autoloader.export.yaml_text import visible, yaml_text
from autoloader.values.contract import Contract, ContractField

TURNED = "pixels\u202egnp.exe\u202c"
"""Shown as `pixelsexe.png` by what draws letters in the order they ask for."""

HIDDEN = (
    "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068"
    "\u2069\u00ad\ufeff\ufff9\U000e0041\u3164\u115f\u00a0\u2028\u2029\x85\x7f\x1b\r\t"
)
"""Letters that turn writing around, have no shape, end lines or move cursors."""


def read_back(text: str) -> Any:
    """Return what a text loads to, by PyYAML and by the reader of this package."""
    found = yaml.safe_load(text)
    assert plain_yaml(text, called="it") == found
    return found


def assert_all_is_seen(text: str) -> None:
    """Check that each letter of a file has a shape, and stands where it is."""
    unseen = {letter for letter in text if letter != "\n" and not letter.isprintable()}
    assert unseen == set()
    assert not set(text) & set(HIDDEN)


@pytest.mark.parametrize("letter", HIDDEN, ids=lambda letter: f"{ord(letter):04x}")
def test_a_letter_that_cannot_be_seen_is_an_escape(letter: str) -> None:
    """In a value, in a key, at the ends and in the middle of long lines."""
    word = f"{letter}a{letter}b{letter}"
    data = {word: word, "long": " ".join([word] * 60), "list": [word, 1]}

    text = yaml_text(data, width=88)

    assert_all_is_seen(text)
    assert read_back(text) == data


@pytest.mark.parametrize("word", ["größe: 3", "사진", "👍", "a\u0301", "'quoted'"])
def test_what_can_be_seen_stands_as_it_is(word: str) -> None:
    """Letters of all scripts are no escapes."""
    text = yaml_text({"name": word}, width=88)

    assert word in text
    assert read_back(text) == {"name": word}


@given(word=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example(word=HIDDEN)
@example(word=f"\\{TURNED}\\\\{TURNED}")
@example(word=f"# {TURNED}\n- x: \"'")
@example(word="\ufffe\uffff")
def test_any_text_loads_to_what_it_was(word: str) -> None:
    """Backslashes, quotes and breaks before an escape included."""
    text = yaml_text({word: [word, {"of": word}]}, width=88)

    assert_all_is_seen(text)
    assert read_back(text) == {word: [word, {"of": word}]}


def test_equal_values_are_written_out() -> None:
    """An alias is not what people read, and is not read here."""
    shared = ["a"]

    assert yaml_text({"x": shared, "y": shared}, width=88) == "x:\n- a\ny:\n- a\n"


def test_a_recommendation_reads_as_it_is() -> None:
    """Its evidence, and its own name in the head, which is Python."""
    name = f"{TURNED}.yaml"

    text = Recommendation({"schema": 1, "fields": [{"path": TURNED}]}).to_yaml(name)

    assert_all_is_seen(text)
    assert read_back(text)["fields"] == [{"path": TURNED}]
    named = text.splitlines()[2].partition("load(")[2].partition(").dataloader")[0]
    assert ast.literal_eval(named) == name
    assert json.loads(named) == name


def test_a_name_that_is_no_text_stands_in_the_head_of_its_file(tmp_path: Path) -> None:
    """Python keeps its bytes, which UTF-8 cannot."""
    path = tmp_path / "\udce9t\udce9.yaml"

    Recommendation({"schema": 1}).write(path)

    assert 'open("\\udce9t\\udce9.yaml")' in path.read_text(encoding="utf-8")


def test_a_contract_reads_as_it_is(tmp_path: Path) -> None:
    """People edit it: a path that looks like another would be held for it."""
    path = tmp_path / "contract.yaml"
    contract = Contract(fields=(ContractField(path=TURNED, type="int"),))

    write_contract(path, contract, dataset="data.py:train")

    assert_all_is_seen(path.read_text(encoding="utf-8"))
    assert "pixels\\u202egnp.exe\\u202c" in path.read_text(encoding="utf-8")
    assert read_contract(path) == contract


def test_an_escape_is_as_short_as_can_be() -> None:
    """Two, four or eight digits."""
    assert visible("a\x7f\u200b\U000e0041é\n") == "a\\x7f\\u200b\\U000e0041é\n"
