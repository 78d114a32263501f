"""Examples read together have the digests that each has alone."""

import pickle
from collections import namedtuple
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.child import columns, makes
from autoloader.child.digest import DigestPlan, leaves
from autoloader.child.makes import ExampleReader

Pair = namedtuple("Pair", ["image", "label"])

PLANS = [
    DigestPlan(),
    DigestPlan(label="1"),
    DigestPlan(label="y", random=frozenset({"0", "x"}), free_shapes=frozenset({"x"})),
    DigestPlan(random=frozenset({"", "0", "1", "2"})),
    DigestPlan(label="1", id="0"),
    DigestPlan(id="x"),
]


@dataclass
class Record:
    """An example as a dataclass."""

    x: Any
    y: int


class Key(StrEnum):
    """A key that equals its text, and is printed as that."""

    X = "x"


class Own(torch.Tensor):
    """A tensor of a user's own class."""


def check(examples: list[Any], plan: DigestPlan, reader: ExampleReader | None) -> None:
    """Compare what is read together with what is read alone."""
    seen = (reader or ExampleReader(plan)).read(examples)

    found = [leaves(example) for example in examples]
    assert list(seen) == [plan.digest_leaves(each) for each in found]
    assert seen.digests == [tuple(leaf.digest for leaf in each) for each in found]
    assert seen.shapes == [tuple(leaf.shape for leaf in each) for each in found]
    paths = [tuple(leaf.path for leaf in each) for each in found]
    assert [seen.makes[place].paths for place in seen.make] == paths
    assert len(seen) == len(examples)
    assert len(seen.id) == (len(examples) if plan.id is not None else 0)


def tensors() -> list[torch.Tensor]:
    """Return tensors of every kind that a plain array cannot hold, and some it can."""
    return [
        torch.arange(6.0),
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6.0).reshape(3, 2).t(),
        torch.arange(12.0)[::2],
        torch.arange(6.0, dtype=torch.float64),
        torch.arange(6.0, dtype=torch.bfloat16),
        torch.ones(6, requires_grad=True),
        torch.tensor(5),
        torch.tensor(5.0),
        torch.tensor(-0.0),
        torch.tensor(float("nan")),
        -torch.tensor(float("nan")),
        torch.tensor(1 + 2j),
        torch.tensor([1 + 2j]),
        torch.tensor([1 + 2j]).conj(),
        torch.tensor([1 + 2j]).conj().imag,
        torch.tensor(True),
        torch.zeros(0, 3),
        torch.zeros(2, device="meta"),
        torch.eye(3).to_sparse(),
        torch.ones(3).as_subclass(Own),
        torch.zeros(3, 32, 32),
        torch.zeros(32, 3, 32).transpose(0, 1),
        torch.zeros(3, 32, 32, dtype=torch.bfloat16),
    ]


VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(0, 3),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from(tensors()),
    st.sampled_from([np.arange(3), np.float32(1), np.array(["a"]), np.int64(7)]),
)

EXAMPLES = st.one_of(
    VALUES,
    st.tuples(VALUES, VALUES),
    st.lists(VALUES, max_size=3),
    st.builds(Pair, VALUES, VALUES),
    st.builds(Record, VALUES, st.integers(0, 3)),
    st.dictionaries(st.sampled_from(["x", "y", 1, True, "1", Key.X]), VALUES),
    st.tuples(st.tuples(VALUES, st.dictionaries(st.just("x"), VALUES)), VALUES),
)


@settings(deadline=None, max_examples=200)
@given(
    batches=st.lists(st.lists(EXAMPLES, max_size=4), max_size=3),
    plan=st.sampled_from(PLANS),
)
def test_examples_of_any_make_are_read_as_each_alone(
    batches: list[list[Any]], plan: DigestPlan
) -> None:
    """Whatever was read before by the same reader."""
    reader = ExampleReader(plan)
    for examples in batches:
        check(examples, plan, reader)


@settings(deadline=None, max_examples=200)
@given(data=st.data(), plan=st.sampled_from(PLANS))
def test_examples_that_are_alike_are_read_as_each_alone(
    data: st.DataObject, plan: DigestPlan
) -> None:
    """The usual case: a few kinds of values, in the same fields of all examples."""
    kinds = data.draw(
        st.lists(
            st.sampled_from(
                [
                    st.integers(),
                    st.floats(),
                    st.booleans(),
                    st.text(max_size=3),
                    st.integers(0, 9).map(lambda n: torch.full((3,), float(n))),
                    st.integers(0, 9).map(lambda n: torch.tensor(n)),
                    st.floats(width=32).map(lambda x: torch.tensor(x)),
                    st.integers(0, 9).map(lambda n: torch.full((2, 999), n)),
                    st.sampled_from(tensors()),
                ]
            ),
            min_size=1,
            max_size=3,
        )
    )
    examples = data.draw(st.lists(st.tuples(*kinds), min_size=1, max_size=5))
    form = data.draw(st.sampled_from(["tuple", "list", "dict", "first"]))
    forms: dict[str, list[Any]] = {
        "tuple": list(examples),
        "list": [list(example) for example in examples],
        "dict": [dict(zip("xyz", example, strict=False)) for example in examples],
        "first": [example[0] for example in examples],
    }

    check(forms[form], plan, None)


def test_keys_that_equal_texts_are_named_as_they_print() -> None:
    """An equal key of another class can have another name."""
    for examples in ([{"x": 1}, {Key.X: 1}], [{1: 1}, {True: 1}], [{True: 1}, {1: 1}]):
        check(examples, DigestPlan(label="x"), None)


def test_makes_beyond_those_that_are_kept_are_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Random crops can have thousands of sizes."""
    monkeypatch.setattr(makes, "MOST_KEPT", 2)
    examples = [(torch.zeros(size), size) for size in (1, 2, 3, 4, 1, 4, 3)]
    reader = ExampleReader(DigestPlan(label="1"))

    for _ in range(2):
        check(examples, DigestPlan(label="1"), reader)
        check([list(range(size)) for size in (1, 5, 3)], DigestPlan(label="1"), reader)


@pytest.mark.parametrize("most", [0, 2, 100])
def test_labels_of_few_and_of_many_values_are_combined_alike(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Few are kept, many are worked out together."""
    monkeypatch.setattr(makes, "MOST_NEW", most)
    plan = DigestPlan(label="1")
    reader = ExampleReader(plan)

    for first in (0, 3):
        check([(torch.ones(2), first + at % 5) for at in range(9)], plan, reader)


def test_examples_of_one_id_have_one_digest_of_it_whatever_else_they_are() -> None:
    """Read together or each by itself; a number is its value; 0 where it lacks."""
    reader = ExampleReader(DigestPlan(id="x"))

    alike = reader.read([{"x": n, "y": torch.ones(n % 2 + 1)} for n in (4, 6, 4)])
    others = reader.read([{"x": torch.tensor(4), "y": "a"}, {"y": "b"}, {"x": 6}])

    first, second, again = alike.id
    assert first == again != second
    assert list(others.id) == [first, 0, second]
    assert [digest.id for digest in others] == list(others.id)


def test_a_reader_that_has_read_can_be_sent_to_a_worker() -> None:
    """What it keeps to be quick stays behind."""
    plan = DigestPlan(label="1")
    reader = ExampleReader(plan)
    reader.read([(torch.ones(2), 1)])

    again = pickle.loads(pickle.dumps(reader))  # noqa: S301  # our own bytes

    check([(torch.ones(2), 1)], plan, again)


def test_what_was_read_arrives_as_it_was_read() -> None:
    """Digests travel from a worker along with their batch."""
    examples = [(torch.ones(2), 1), (torch.ones(3), 2), (torch.ones(2), 3)]
    seen = ExampleReader(DigestPlan(label="1")).read(examples)

    again = pickle.loads(pickle.dumps(seen))  # noqa: S301  # our own bytes

    assert list(again) == list(seen)
    assert again[1:] == list(seen)[1:]
    assert again.paths == ((0,), (1,))


def test_the_fields_of_most_examples_are_those_of_the_batch() -> None:
    """An example that could not be read is often None."""
    examples = [(torch.ones(2), 1), None, (torch.ones(3), 1), (torch.ones(1), 1)]

    assert ExampleReader(DigestPlan()).read(examples).paths == ((0,), (1,))
    assert ExampleReader(DigestPlan()).read([]).paths == ()


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.0],
        [1, True],
        [torch.ones(2), torch.ones(2, dtype=torch.float64)],
        [torch.ones(2), torch.ones(3)],
        [torch.zeros(2, 999), torch.zeros(999, 2)],
        [torch.zeros(2, 999), torch.zeros(2, 999, requires_grad=True)],
        [torch.ones(2, requires_grad=True)],
        [torch.ones(2), torch.ones(2, requires_grad=True)],
        [torch.ones(2, dtype=torch.bfloat16)],
        [torch.ones(2), torch.ones(2, device="meta")],
        [torch.ones(2).as_subclass(Own)],
        [np.ones(2)],
        [None],
        [b"a"],
    ],
)
def test_values_that_are_not_plainly_alike_are_no_column(values: list[Any]) -> None:
    """They are read one by one instead."""
    assert columns.read_column(values) is None
