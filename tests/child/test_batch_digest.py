"""A batch is digested as a whole and row by row, each byte once."""

import pickle
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import default_collate

from autoloader.child import batch_digest
from autoloader.child.batch_digest import LEAST_ROW_BYTES, BatchDigest
from autoloader.child.columns import row_digests
from autoloader.child.digest import digest_leaf, leaves

LARGE = LEAST_ROW_BYTES // 4
"""Floats of a row that is large."""

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32,
    torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.complex64,
]  # fmt: skip


def whole(batch: Any) -> int:
    """Return the digest of a batch."""
    return BatchDigest(batch, is_single=False).whole


def large(rows: int = 3) -> torch.Tensor:
    """Return a batch of large rows."""
    return torch.arange(rows * LARGE, dtype=torch.float32).reshape(rows, LARGE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 3), (4, 0), (0, 3), (0,)])
def test_rows_have_the_digests_of_tensors_of_their_own(
    dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    """Of every dtype, numbers by value and all else by bytes."""
    count = int(np.prod(shape))
    column = (torch.arange(count) - 3).reshape(shape).to(dtype)

    assert row_digests(column) == [digest_leaf((), row).digest for row in column]


@settings(deadline=None)
@given(st.lists(st.floats(), max_size=9), st.sampled_from(["f2", "f4", "f8"]))
def test_floats_of_a_column_are_digested_by_value(
    values: list[float], kind: str
) -> None:
    """NaN of any sign, zeros of both signs, and what has no end."""
    with np.errstate(over="ignore"):
        column = torch.from_numpy(np.array(values, kind))

    assert row_digests(column) == [digest_leaf((), row).digest for row in column]


@pytest.mark.parametrize(
    "column",
    [
        large().t(),
        large(4)[::2],
        torch.ones(3, 4, requires_grad=True),
        torch.ones(3, dtype=torch.complex64).conj(),
    ],
    ids=["turned", "every other", "gradient", "conjugate"],
)
def test_rows_that_lie_apart_are_digested_as_well(column: torch.Tensor) -> None:
    """A column may be a view."""
    assert row_digests(column) == [digest_leaf((), row).digest for row in column]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_large_row_is_read_once(dtype: torch.dtype) -> None:
    """The digest of the batch follows from those of its rows."""
    batch = {"x": large().to(dtype), "y": torch.arange(3)}
    found = BatchDigest(batch, is_single=False)

    with mock.patch.object(batch_digest, "row_digests") as read:
        digests, shapes = found.column(("x",), batch["x"])

    assert not read.called
    assert digests == [digest_leaf((), row).digest for row in batch["x"]]
    assert list(shapes) == [(LARGE,)] * 3


def test_the_leaves_of_a_batch_say_what_it_is_made_of() -> None:
    """Whether they were digested by row or not."""
    batch = {"x": large(), "y": torch.arange(3), "z": ["a", "b", "c"]}

    found = BatchDigest(batch, is_single=False)

    plain = [leaf._replace(digest=0) for leaf in leaves(batch)]
    assert [leaf._replace(digest=0) for leaf in found.leaves] == plain
    assert found.size == sum(leaf.size for leaf in leaves(batch))


def test_a_single_element_has_the_digests_of_an_example() -> None:
    """Nothing was collated, so there are no rows."""
    batch = [large(), 3]

    assert BatchDigest(batch, is_single=True).leaves == leaves(batch)


def views(batch: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the same values, lying otherwise in memory."""
    wide = torch.zeros(len(batch), 2, *batch.shape[1:], dtype=batch.dtype)
    wide[:, 0] = batch
    last = batch.dim() - 1
    return {
        "apart": wide[:, 0],
        "turned": batch.transpose(0, last).contiguous().transpose(0, last),
        "shared": batch.clone().share_memory_(),  # type: ignore[no-untyped-call]
        "sent": pickle.loads(pickle.dumps(batch)),  # noqa: S301  # our own bytes
        "gradient": batch.clone().requires_grad_(),
    }


@pytest.mark.parametrize("name", ["apart", "turned", "shared", "sent", "gradient"])
@pytest.mark.parametrize("width", [3, LARGE])
def test_how_a_batch_lies_in_memory_is_no_content(name: str, width: int) -> None:
    """Worker and training process may hold it otherwise."""
    batch = torch.rand(4, width)

    assert whole((views(batch)[name], 1)) == whole((batch, 1))


@settings(deadline=None)
@given(
    row=st.integers(0, 2),
    at=st.integers(0, LARGE - 1),
    width=st.sampled_from([2, LARGE]),
)
def test_one_changed_value_changes_the_digest(row: int, at: int, width: int) -> None:
    """Of any row, large or small."""
    batch = torch.rand(3, width)
    other = batch.clone()
    other[row, at % width] += 1

    assert whole({"x": batch}) != whole({"x": other})


@pytest.mark.parametrize("width", [2, LARGE])
def test_rows_in_another_order_change_the_digest(width: int) -> None:
    """The batch is not what was returned."""
    batch = torch.rand(3, width)

    assert whole(batch) != whole(batch.flip(0))


def test_a_value_that_stands_twice_in_a_batch_is_two_fields() -> None:
    """One tensor under two names."""
    shared = large()
    batch = {"a": shared, "b": shared, "c": torch.ones(3, 2)}

    assert whole(batch) == whole({**batch, "b": shared.clone()})


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta:UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(LARGE).to_sparse(),
        lambda: torch.eye(LARGE).to_sparse_csr(),
        lambda: torch.nested.nested_tensor([torch.ones(LARGE), torch.ones(2)]),
        lambda: torch.zeros(3, LARGE, device="meta"),
        lambda: torch.zeros(0, LARGE),
        lambda: np.zeros((3, LARGE)),
    ],
    ids=["sparse", "rows", "nested", "meta", "empty", "array"],
)
def test_what_has_no_rows_in_memory_is_digested_as_one(make: Any) -> None:
    """Its digest is that of a leaf."""
    value = make()

    assert BatchDigest([value], is_single=False).leaves == leaves([value])


def test_a_list_of_tensors_is_read_once() -> None:
    """A collate_fn for pictures of several sizes leaves them apart."""
    pictures = [torch.rand(size) for size in (2, 3)]
    batch = {"pictures": pictures, "names": ["a", "b"]}
    found = BatchDigest(batch, is_single=False)

    with mock.patch.object(batch_digest, "digest_leaf") as read:
        digests, shapes = found.column(("pictures",), pictures)

    assert not read.called
    assert digests == [digest_leaf((), picture).digest for picture in pictures]
    assert list(shapes) == [(2,), (3,)]
    names, _ = found.column(("names",), batch["names"])
    assert names == [digest_leaf((), name).digest for name in "ab"]


def test_a_collated_batch_has_the_digests_of_its_examples() -> None:
    """Small fields and large ones, numbers and texts."""
    examples = [
        {"x": torch.rand(LARGE), "s": torch.rand(3), "n": at, "f": at / 3, "t": "x"}
        for at in range(4)
    ]
    batch = default_collate(examples)
    found = BatchDigest(batch, is_single=False)

    for name in "xsnft":
        digests, _ = found.column((name,), batch[name])
        expected = [digest_leaf((), example[name]).digest for example in examples]
        assert digests == expected
