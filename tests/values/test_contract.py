"""A contract says what must hold, and contradicts itself nowhere."""

import json
import re
from collections.abc import Callable

import pytest

from autoloader.errors import StoredFileError
from autoloader.values.contract import (
    Contract,
    ContractField,
    ContractLabel,
    Padding,
    Rules,
    parse_size,
    size_name,
)

IDS = ContractField(path="input_ids", type="tensor", dtype="int64", shape=(None,))
MASK = ContractField(path="attention_mask", type="tensor", shape=(None,))

WHOLE = Contract(
    examples=101,
    fields=(IDS, MASK, ContractField(path="meta.label", type="int", shape=())),
    label=ContractLabel(path="meta", low=0, high=9),
    equal_sizes=(("input_ids[0]", "attention_mask[0]"),),
    padding=(Padding(mask="attention_mask", of="input_ids", axis=0),),
    rules=Rules(shapes="free", incomplete="allow", filtered=True),
    seen=64,
    of=101,
)


def test_a_contract_survives_the_pipe() -> None:
    """As JSON, and still usable as a key."""
    again = Contract.from_dict(json.loads(json.dumps(WHOLE.to_dict())))

    assert again == WHOLE
    assert hash(again) == hash(WHOLE)


def test_nothing_is_held_that_was_not_said() -> None:
    """The empty contract holds nothing, strictly."""
    empty = Contract.from_dict({})

    assert empty == Contract()
    assert empty.rules == Rules(shapes="fixed", incomplete="refuse", filtered=False)


@pytest.mark.parametrize("path", ["", "a", "a.0", "a[1]", "a\n[2]"])
def test_a_size_is_named_so_that_its_field_is_found(path: str) -> None:
    """Brackets in a field's own name do no harm."""
    assert parse_size(size_name(path, 12)) == (path, 12)


WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: parse_size("input_ids.0"),
        "a size must be written FIELD[axis], such as input_ids[0], got 'input_ids.0'",
    ),
    (
        lambda: ContractField(path="x", type="tensor", shape=(None, -1)),
        "a size of 'x' must be at least 0, got -1",
    ),
    (
        lambda: ContractField(
            path="x", type="tensor", shape=(3, 4), axes="channels_first"
        ),
        "channels_first needs a shape of 3 or 4 sizes, 'x' has 2",
    ),
    (
        lambda: ContractField(path="x", type="tensor", axes="channels_last"),
        "channels_last needs a shape of 3 or 4 sizes, 'x' has none",
    ),
    (
        lambda: ContractLabel(path="y", low=0),
        "a label has both low and high, or neither",
    ),
    (
        lambda: ContractLabel(path="y", low=9, high=0),
        "low must be at most high, got 9 and 0",
    ),
    (
        lambda: Padding(mask="m", of="x", axis=-1),
        "axis must be at least 0, got -1",
    ),
    (
        lambda: Rules(filtered=True),
        "filtered: true needs incomplete: allow, got incomplete: refuse",
    ),
    (lambda: Contract(examples=-1), "examples must be at least 0, got -1"),
    (lambda: Contract(seen=-3), "seen must be at least 0, got -3"),
    (
        lambda: Contract(fields=(IDS, MASK, IDS)),
        "the field 'input_ids' is named twice",
    ),
    (
        lambda: Contract(fields=(IDS,), label=ContractLabel(path="input_id")),
        "label names 'input_id', which is no field; did you mean 'input_ids'?",
    ),
    (
        lambda: Contract(fields=(IDS, MASK), label=ContractLabel(path="y")),
        "label names 'y', which is no field; fields are 'input_ids', 'attention_mask'",
    ),
    (
        lambda: Contract(equal_sizes=(("input_ids[0]",),)),
        "equal_sizes needs two sizes or more, got ['input_ids[0]']",
    ),
    (
        lambda: Contract(
            fields=(IDS, MASK), equal_sizes=(("input_ids[0]", "attention_mask[1]"),)
        ),
        "equal_sizes names axis 1 of 'attention_mask', which has 1",
    ),
    (
        lambda: Contract(fields=(IDS,), padding=(Padding(mask="m", of="input"),)),
        "padding names 'input', which is no field; did you mean 'input_ids'?",
    ),
    (
        lambda: Contract(
            fields=(IDS,), padding=(Padding(mask="m", of="input_ids", axis=2),)
        ),
        "padding names axis 2 of 'input_ids', which has 1",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG, ids=[text for _, text in WRONG])
def test_what_contradicts_itself_is_refused(
    make: Callable[[], object], sentence: str
) -> None:
    """In a sentence that names what, where, and the rule."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        make()


def test_where_fields_are_not_held_any_may_be_named() -> None:
    """A contract of a label alone is one."""
    kept = Contract(
        label=ContractLabel(path="y", low=0, high=1),
        equal_sizes=(("a[0]", "b[3]"),),
        padding=(Padding(mask="m", of="x", axis=7),),
    )

    assert kept.fields == ()


def test_a_stored_contradiction_is_a_fault_of_the_file() -> None:
    """Not of the one who reads it."""
    with pytest.raises(
        StoredFileError, match=r"^Contract cannot be used: examples must be at least 0"
    ):
        Contract.from_dict({"examples": -1})
