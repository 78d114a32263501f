"""Examples become digests: equal content is equal, other content is not."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import default_collate

from autoloader.child.digest import (
    DigestPlan,
    Leaf,
    combine,
    digest_leaf,
    leaves,
    name_of,
    signature,
    walk,
)

Pair = namedtuple("Pair", ["image", "label"])


@dataclass
class Sample:
    """An example as a dataclass."""

    pixels: Any
    label: int


def names(example: Any) -> list[str]:
    """Return the names of the leaves of an example."""
    return [name_of(path) for path, _ in walk(example)]


def digest(value: Any) -> int:
    """Return the digest of a single leaf."""
    return digest_leaf((), value).digest


def made_of(value: Any) -> tuple[str, str | None, tuple[int, ...] | None]:
    """Return kind, element type and shape of a leaf."""
    leaf = digest_leaf((), value)
    return leaf.type, leaf.dtype, leaf.shape


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (3, [""]),
        ((1, 2), ["0", "1"]),
        ([1, [2, 3]], ["0", "1.0", "1.1"]),
        ({"b": 1, "a": {"x": 2}}, ["a.x", "b"]),
        ({0: 1, "1": 2, True: 3}, ["0", "1", "True"]),
        (Pair(1, (2, 3)), ["0", "1.0", "1.1"]),
        (Sample([1], 2), ["pixels.0", "label"]),
        (range(2), ["0", "1"]),
        ((), []),
        ({}, []),
        (None, [""]),
        ({1, 2}, [""]),
        (Sample, [""]),
    ],
)
def test_an_example_is_walked_to_its_leaves(example: Any, expected: list[str]) -> None:
    """Names are keys, places and attributes, joined by dots."""
    assert names(example) == expected


def test_the_order_of_keys_is_no_content() -> None:
    """It can follow from a set, which each process orders otherwise."""
    one, other = {"a": 1, "b": 2.0}, {"b": 2.0, "a": 1}

    assert leaves(one) == leaves(other)
    assert DigestPlan().digest(one) == DigestPlan().digest(other)


def test_keys_of_lone_surrogates_are_names_too() -> None:
    """A file name that is no text can be a key."""
    plan = DigestPlan(label="\udcff")

    assert plan.digest({"\udcff": 1}).label != 0


EQUAL = [
    pytest.param(1, 1.0, id="int and float"),
    pytest.param(1, True, id="int and bool"),
    pytest.param(3, np.int64(3), id="int and numpy's"),
    pytest.param(3, torch.tensor(3, dtype=torch.uint8), id="int and tensor"),
    pytest.param(3, torch.tensor(3, dtype=torch.uint16), id="int and unsigned tensor"),
    pytest.param(3, np.array(3, np.uint16), id="int and array without axes"),
    pytest.param(0.5, torch.tensor(0.5, dtype=torch.bfloat16), id="float and bfloat16"),
    pytest.param(0.1, np.float64(0.1), id="float and numpy's"),
    pytest.param(float("nan"), -float("nan"), id="nan of either sign"),
    pytest.param(float("nan"), torch.tensor(float("nan")), id="nan and tensor"),
    pytest.param(2**60, torch.tensor(2**60), id="big int and tensor"),
    pytest.param("text", np.str_("text"), id="text and numpy's"),
    pytest.param(b"bytes", bytearray(b"bytes"), id="bytes and bytearray"),
    pytest.param(b"bytes", memoryview(b"bytes"), id="bytes and memoryview"),
    pytest.param(
        torch.arange(6.0), np.arange(6, dtype=np.float32), id="tensor and array"
    ),
    pytest.param(
        torch.arange(12).reshape(3, 4).t(),
        torch.arange(12).reshape(3, 4).t().contiguous(),
        id="transposed and contiguous",
    ),
    pytest.param(torch.arange(9)[::2], torch.tensor([0, 2, 4, 6, 8]), id="every other"),
    pytest.param(np.arange(9)[::-1], np.array([*range(8, -1, -1)]), id="turned around"),
    pytest.param(
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(6).reshape(2, 3),
        id="by column and by row",
    ),
    pytest.param(
        torch.ones(2, requires_grad=True), torch.ones(2), id="with and without gradient"
    ),
    pytest.param(
        torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j]), id="conjugate view"
    ),
    pytest.param({"b", "a", 1}, {1, "a", "b"}, id="sets"),
    pytest.param(
        np.array(["a", None], object), np.array(["a", None], object), id="objects"
    ),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_content_has_an_equal_digest(one: Any, other: Any) -> None:
    """However it lies in memory, and whatever holds it."""
    assert digest(one) == digest(other)


OTHER = [
    pytest.param(1, 2, id="ints"),
    pytest.param(0.0, -0.0, id="zeros of either sign"),
    pytest.param(2**60, 2**60 + 1, id="big ints"),
    pytest.param(2**53, 2**53 + 1, id="ints where floats end"),
    pytest.param(10**5000, 10**5000 + 1, id="ints beyond decimal printing"),
    pytest.param(1 + 2j, 1 - 2j, id="complex numbers"),
    pytest.param("a", "b", id="texts"),
    pytest.param("\udcff", "\udcfe", id="lone surrogates"),
    pytest.param(b"a", b"b", id="bytes"),
    pytest.param(torch.tensor([True]), torch.tensor([False]), id="bools"),
    pytest.param(torch.zeros(2), torch.zeros(3), id="lengths"),
    pytest.param(
        torch.ones(2, dtype=torch.bfloat16),
        torch.zeros(2, dtype=torch.bfloat16),
        id="bfloat16",
    ),
    pytest.param(
        np.array(["2020-01-01"], "datetime64[D]"),
        np.array(["2020-01-02"], "datetime64[D]"),
        id="dates",
    ),
    pytest.param(
        np.datetime64("2020-01-01"), np.datetime64("2020-01-02"), id="single dates"
    ),
    pytest.param(np.array(["a", "b"]), np.array(["a", "c"]), id="arrays of texts"),
    pytest.param(
        np.array(["a", None], object), np.array(["a", 1], object), id="objects"
    ),
    pytest.param({"a", "b"}, {"a", "c"}, id="sets"),
    pytest.param(None, 0, id="none and zero"),
    pytest.param(
        np.ma.masked_array([1, 2], [True, False]),
        np.ma.masked_array([1, 2], [False, False]),
        id="masks",
    ),
]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_content_has_another_digest(one: Any, other: Any) -> None:
    """One bit is enough."""
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, ("int", None, ())),
        (True, ("bool", None, ())),
        (0.5, ("float", None, ())),
        (1j, ("complex", None, ())),
        (np.float32(1), ("number", "float32", ())),
        (np.datetime64("2020-01-01"), ("number", "datetime64[D]", ())),
        ("text", ("str", None, None)),
        (np.str_("text"), ("str", None, None)),
        (b"bytes", ("bytes", None, None)),
        (None, ("none", None, None)),
        (torch.zeros(2, 3), ("tensor", "float32", (2, 3))),
        (torch.tensor(1), ("tensor", "int64", ())),
        (torch.zeros(0, 3), ("tensor", "float32", (0, 3))),
        (np.zeros((2, 1), np.uint16), ("array", "uint16", (2, 1))),
        (np.array(1.5), ("array", "float64", ())),
        (np.array(["ab"]), ("array", "<U2", (1,))),
        (np.zeros(0, "U0"), ("array", "<U1", (0,))),
        (np.array([None]), ("array", "object", (1,))),
        (np.void(b"abc"), ("array", "|V3", ())),
        ({1}, ("set", None, None)),
        (torch.eye(2).to_sparse(), ("tensor", "float32", (2, 2))),
        (torch.zeros(2, device="meta"), ("tensor", "float32", (2,))),
        (Pair, ("type", None, None)),
    ],
)
def test_a_leaf_says_what_it_is_made_of(
    value: Any, expected: tuple[str, str | None, tuple[int, ...] | None]
) -> None:
    """Kind, element type and sizes, without content."""
    assert made_of(value) == expected


def test_what_lies_between_the_fields_of_a_record_is_no_content() -> None:
    """Aligned records have bytes that nobody wrote."""
    kind = np.dtype([("small", np.int8), ("wide", np.float64)], align=True)
    one = np.frombuffer(b"\x00" * 16, kind)
    other = np.frombuffer(b"\x00" + b"\xff" * 7 + b"\x00" * 8, kind)

    assert digest(one) == digest(other)
    assert digest(one) != digest(np.array([(1, 0.0)], kind))
    assert digest(one[0]) == digest(other[0])


def test_arrays_of_variable_texts_are_digested() -> None:
    """Their bytes are addresses."""
    kind = np.dtypes.StringDType()
    one, same, other = (
        np.array(["a", text], kind) for text in ("long " * 9, "long " * 9, "short")
    )

    assert digest(one) == digest(same)
    assert digest(one) != digest(other)


SPARSE = ["to_sparse", "to_sparse_csr", "to_sparse_csc"]


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta:UserWarning")
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors_are_digested_by_content(name: str) -> None:
    """They have no bytes of their own, and their pickle tells addresses."""
    one, same, other = (
        getattr(torch.diag(torch.tensor(values)), name)()
        for values in ([1.0, 2.0], [1.0, 2.0], [1.0, 3.0])
    )

    assert digest_leaf((), one) == digest_leaf((), same)
    assert digest(one) != digest(other)


def test_sparse_tensors_of_other_sizes_differ() -> None:
    """The same entries in a larger matrix are other content."""
    small, large = (
        torch.sparse_coo_tensor(
            torch.tensor([[0], [0]]), torch.ones(1), size, check_invariants=True
        )
        for size in ((2, 2), (3, 3))
    )

    assert digest(small) != digest(large)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_nested_tensors_are_digested_by_content() -> None:
    """They have no regular shape."""
    one, same, other = (
        torch.nested.nested_tensor([torch.ones(2), torch.full((3,), value)])
        for value in (1.0, 1.0, 2.0)
    )

    assert digest(one) == digest(same)
    assert digest(one) != digest(other)
    assert digest_leaf((), one).shape is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantised_tensors_are_digested_by_value_and_scale() -> None:
    """The same integers at another scale are other numbers."""
    one, same, other = (
        torch.quantize_per_tensor(torch.ones(3), scale, 0, torch.qint8)
        for scale in (0.5, 0.5, 1.0)
    )
    by_channel = torch.quantize_per_channel(
        torch.ones(2, 2), torch.tensor([0.1, 0.2]), torch.zeros(2), 0, torch.qint8
    )

    assert digest(one) == digest(same)
    assert digest(one) != digest(other)
    assert digest(by_channel) != digest(one)


class Graph:
    """An object of a user's own, as graph libraries have them."""

    def __init__(self, value: float, name: str = "x") -> None:
        self.nodes = torch.full((3,), value)
        self.name = name
        self.tags = {"red", "green", name}
        self.edges = [np.arange(4), {"weights": torch.ones(2)}]
        self.kind = Graph
        self.score = len
        self.itself = self


def test_objects_are_digested_by_content_and_not_by_address() -> None:
    """A tensor within an object pickles to where it lies; content is what counts."""
    one, same, other = Graph(1.0), Graph(1.0), Graph(2.0)

    assert digest(one) == digest(same)
    assert digest(one) != digest(other)
    assert digest_leaf((), one).type == "Graph"


def test_another_process_has_the_same_digests() -> None:
    """Sets are ordered otherwise there, and everything lies elsewhere."""
    example = {"graph": Graph(1.0), "tags": {"a", "b", "c", "d"}, 7: np.array([None])}
    code = (
        "from tests.child.test_digest import Graph, np, DigestPlan\n"
        "example = {'tags': {'d', 'c', 'b', 'a'}, 7: np.array([None])}\n"
        "example['graph'] = Graph(1.0)\n"
        "print(DigestPlan().digest(example).full)"
    )

    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(found.stdout) == DigestPlan().digest(example).full


def test_whether_two_equal_texts_are_one_object_is_no_content() -> None:
    """Names are shared within one process and copied on the way to another."""
    shared = Graph(1.0, "nodes")
    copied = Graph(1.0, "".join(["no", "des"]))

    assert digest(shared) == digest(copied)


def test_objects_of_a_local_class_are_digested_by_content() -> None:
    """Pickle cannot name such a class; its attributes are there all the same."""

    class Local:
        def __init__(self, value: int) -> None:
            self.value = value

    assert digest(Local(1)) == digest(Local(1))
    assert digest(Local(1)) != digest(Local(2))


class Stubborn:
    """Refuses to be pickled."""

    def __reduce__(self) -> str:
        msg = "not me"
        raise TypeError(msg)


def test_what_cannot_be_pickled_is_known_by_its_type() -> None:
    """There is nothing more to compare."""
    assert digest(Stubborn()) == digest(Stubborn())
    assert made_of(Stubborn()) == ("Stubborn", None, None)


EXAMPLES = st.tuples(
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.floats(width=32).map(lambda value: np.float32(value)),
    st.lists(st.integers(0, 255), min_size=3, max_size=3).map(
        lambda values: torch.tensor(values, dtype=torch.uint8)
    ),
    st.integers(0, 65535).map(lambda value: np.full((2, 2), value, np.uint16)),
)


@settings(deadline=None)
@given(st.lists(EXAMPLES, min_size=1, max_size=4))
def test_a_collated_row_is_its_example(examples: list[tuple[Any, ...]]) -> None:
    """What default_collate makes of an example has the digests of the example."""
    columns = default_collate(examples)

    for place, example in enumerate(examples):
        row = [digest_leaf((), column[place]).digest for column in columns]
        assert row == [leaf.digest for leaf in leaves(example)]


def test_the_digest_of_several_leaves_depends_on_their_names() -> None:
    """Two fields that change places are other content."""
    assert combine(leaves({"a": 1, "b": 2})) != combine(leaves({"a": 2, "b": 1}))


def test_random_fields_are_left_out_of_what_is_fixed() -> None:
    """Augmented pixels differ from reading to reading, the rest must not."""
    plan = DigestPlan(random=frozenset({"pixels"}), label="label")
    one = plan.digest({"pixels": torch.zeros(2), "label": 3, "id": 1})
    other = plan.digest({"pixels": torch.ones(2), "label": 3, "id": 1})
    wrong = plan.digest({"pixels": torch.zeros(2), "label": 3, "id": 2})

    assert one.fixed == other.fixed
    assert one.full != other.full
    assert one.fixed != wrong.fixed


@pytest.mark.parametrize(
    ("label", "example", "changed"),
    [
        ("1", (0, 5), (9, 5)),
        ("y", {"x": 0, "y": 5}, {"x": 9, "y": 5}),
        ("meta", {"x": 0, "meta": {"y": 5}}, {"x": 9, "meta": {"y": 5}}),
        ("meta.y", {"meta": {"x": 0, "y": 5}}, {"meta": {"x": 9, "y": 5}}),
    ],
)
def test_the_label_is_the_leaf_that_was_named_or_all_below_it(
    label: str, example: Any, changed: Any
) -> None:
    """Nothing else of the example counts as label."""
    plan = DigestPlan(label=label)

    assert plan.digest(example).label == plan.digest(changed).label
    assert plan.digest(example).label != 0
    assert plan.digest(example).fixed != plan.digest(changed).fixed


def test_a_field_whose_name_begins_like_the_labels_is_none() -> None:
    """Names are compared part by part."""
    plan = DigestPlan(label="y")

    one, other = ({"y": 1, "y2": value, "yz": value} for value in (0, 9))

    assert plan.digest(one).label == plan.digest(other).label


def test_an_example_without_label_has_none() -> None:
    """Zero stands for it, in every example alike."""
    assert DigestPlan().digest((1, 2)).label == 0
    assert DigestPlan(label="y").digest((1, 2)).label == 0


def test_a_signature_tells_make_and_shapes_of_an_example() -> None:
    """As JSON, so that it can be compared and stored once."""
    found = leaves({"x": torch.zeros(2, 3), "y": 1, "name": "n"})

    assert json.loads(signature(found)) == [
        ["name", "str", None, None],
        ["x", "tensor", "float32", [2, 3]],
        ["y", "int", None, []],
    ]


def test_a_free_shape_is_left_out_of_the_signature() -> None:
    """Random crops have sizes of their own."""
    free = frozenset({"x"})

    small, large = (
        signature(leaves({"x": torch.zeros(size)}), free) for size in (2, 3)
    )

    assert small == large
    assert json.loads(small) == [["x", "tensor", "float32", "free"]]


def test_the_size_of_a_leaf_is_that_of_its_content() -> None:
    """Memory and bandwidth are predicted from it."""
    sizes = [
        leaf.size
        for leaf in leaves((torch.zeros(2, 3), np.zeros(4), "größe", b"abc", None, 1))
    ]

    assert sizes == [24, 32, 7, 3, 0, 8]


def test_a_leaf_can_be_built_at_any_path() -> None:
    """Rows of a collated batch get the path of their field."""
    leaf = digest_leaf(("meta", 0), 5)

    assert leaf == Leaf(("meta", 0), "int", None, (), digest(5), 8)
    assert name_of(leaf.path) == "meta.0"
