"""Reading a stream in one process, alone or told to be a worker."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

from autoloader.child.digest import DigestPlan, name_of
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stream import (
    StreamLimits,
    StreamPass,
    as_worker,
    ledger_of,
    read_pass,
)
from autoloader.errors import DatasetError, UsageError

ALL = StreamLimits(examples=None, seconds=None)


class Counts(IterableDataset[Any]):
    """Numbers from 0, dealt to workers in turns."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return ((number, number % 3) for number in range(first, self.length, step))


class Made(IterableDataset[Any]):
    """Yields what a function returns at each pass."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return self.make()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[StageBoard]:
    """Return a board that nobody reads."""
    made = StageBoard.create(tmp_path / "board")
    yield made
    made.close()


def read(
    dataset: Any, board: StageBoard, limits: StreamLimits = ALL, **options: Any
) -> StreamPass:
    """Return a pass over a dataset."""
    return read_pass(
        dataset, limits, board, **{"needs_worker": False, "id_path": None, **options}
    )


def test_a_pass_reads_to_the_end(board: StageBoard) -> None:
    """Every example, its cost, its bytes, its number."""
    board.enter(Stage.READING)
    found = read(Counts(), board)

    assert (len(found), found.is_complete) == (10, True)
    assert found.ids == list(range(10))
    assert len(found.seconds) == len(found.cpu_seconds) == 10
    assert found.bytes_total == 160
    assert board.read() == (Stage.READING, 10)


@pytest.mark.parametrize(
    ("examples", "count", "is_complete"),
    [(4, 4, False), (10, 10, False), (11, 10, True)],
)
def test_a_pass_is_cut_after_as_many_examples(
    examples: int, count: int, is_complete: bool, board: StageBoard
) -> None:
    """An end that was not asked for is not known."""
    found = read(Counts(), board, StreamLimits(examples=examples, seconds=None))

    assert (len(found), found.is_complete) == (count, is_complete)


def test_a_pass_out_of_time_has_one_example(board: StageBoard) -> None:
    """However slow it is: a stream of nothing is empty."""
    found = read(Counts(), board, StreamLimits(examples=None, seconds=0.0))

    assert (len(found), found.is_complete) == (1, False)


def test_an_empty_stream_is_complete(board: StageBoard) -> None:
    """It came to its end at once."""
    found = read(Counts(0), board)

    assert (len(found), found.is_complete) == (0, True)


def test_examples_of_several_kinds_are_kept_apart(board: StageBoard) -> None:
    """Fields and shapes may differ from example to example."""
    examples = [{"a": 1}, {"a": 1, "b": torch.zeros(2)}, {"a": 2}, {"b": "text"}]
    found = read(Made(lambda: iter(examples)), board)

    assert [found.fields(place) for place in range(4)] == [
        ("a",), ("a", "b"), ("a",), ("b",),
    ]  # fmt: skip
    assert [name_of(leaf.path) for leaf in found.leaves(1)] == ["a", "b"]
    assert found.leaves(0)[0].digest == found.leaves(1)[0].digest
    assert found.leaves(0)[0].digest != found.leaves(2)[0].digest
    assert len(found.kinds()) == 3


def test_the_ledger_has_one_row_an_example(board: StageBoard) -> None:
    """Equal content is equal, random fields are no content."""
    examples = [(1, 5, 0.1), (2, 5, 0.2), (1, 5, 0.3)]
    found = read(Made(lambda: iter(examples)), board)

    ledger = ledger_of(found, DigestPlan(random=frozenset({"2"}), label="1"))

    assert len(ledger.fixed) == 3
    assert ledger.fixed[0] == ledger.fixed[2] != ledger.fixed[1]
    assert len(set(ledger.label.tolist())) == 1
    assert ledger.signature.tolist() == [0, 0, 0]
    assert len(ledger.signatures) == 1


def test_a_buffer_that_is_used_again_is_digested_in_time(board: StageBoard) -> None:
    """The example is what it was when it came."""

    def make() -> Iterator[Any]:
        buffer = torch.zeros(3)
        for number in range(4):
            buffer.fill_(number)
            yield buffer

    ledger = ledger_of(read(Made(make), board), DigestPlan())

    assert len(set(ledger.fixed.tolist())) == 4


# As a worker


def test_as_worker_answers_for_a_worker_and_takes_it_back() -> None:
    """Number, count, seed and dataset, as PyTorch gives them."""
    dataset = Counts()

    with as_worker(dataset, 1, 3, 42):
        info = get_worker_info()
        assert info is not None
        assert (info.id, info.num_workers, info.seed) == (1, 3, 42)
        assert info.dataset is dataset

    assert get_worker_info() is None


def test_as_worker_takes_it_back_after_an_error() -> None:
    """Of the stream, or of worker_init_fn."""

    def init(number: int) -> None:
        raise ValueError(number)

    with pytest.raises(KeyError), as_worker(None, 0, 1, 0):
        raise KeyError
    with pytest.raises(ValueError, match="2"), as_worker(None, 2, 3, 0, init):
        pass

    assert get_worker_info() is None


def test_as_worker_gives_back_what_was_there() -> None:
    """Also within another one."""
    with as_worker(None, 1, 2, 0):
        with as_worker(None, 0, 5, 0):
            pass
        info = get_worker_info()

        assert info is not None
        assert (info.id, info.num_workers) == (1, 2)


def test_worker_init_fn_runs_as_the_worker() -> None:
    """Some split the stream there."""
    seen = []

    def init(number: int) -> None:
        info = get_worker_info()
        assert info is not None
        seen.append((number, info.id))

    with as_worker(None, 1, 2, 0, init):
        pass

    assert seen == [(1, 1)]


def test_a_worker_reads_its_share(board: StageBoard) -> None:
    """And nothing of the others'."""
    whole = ledger_of(read(Counts(), board), DigestPlan()).fixed.tolist()
    shares = []
    for worker in range(3):
        dataset = Counts()
        with as_worker(dataset, worker, 3, 0):
            share = ledger_of(read(dataset, board), DigestPlan())
        shares.append(share.fixed.tolist())

    assert shares == [whole[worker::3] for worker in range(3)]


def test_a_stream_that_needs_a_worker_is_read_as_the_only_one(
    board: StageBoard,
) -> None:
    """Worker 0 of 1 has the whole stream."""

    def make() -> Iterator[Any]:
        info: Any = get_worker_info()
        return iter(range(info.id, 7, info.num_workers))

    assert len(read(Made(make), board, needs_worker=True)) == 7
    assert get_worker_info() is None
    with pytest.raises(DatasetError, match="example 0 of the stream raises Attribute"):
        read(Made(make), board)


# Ids


@pytest.mark.parametrize(
    ("example", "path", "example_id"),
    [
        ({"id": 7}, "id", 7),
        ({"key": "a/b.jpg"}, "key", "a/b.jpg"),
        ({"meta": {"id": torch.tensor(7)}}, "meta.id", 7),
        ({"id": torch.tensor([7])}, "id", 7),
        ({"id": np.int64(7)}, "id", 7),
        ({"id": np.array(7)}, "id", 7),
        ({"id": np.str_("a")}, "id", "a"),
        ((1.5, 7), "1", 7),
        (7, "", 7),
    ],
    ids=str,
)
def test_a_field_can_name_the_examples(
    example: Any, path: str, example_id: Any, board: StageBoard
) -> None:
    """A whole number or a text, however it is packed."""
    found = read(Made(lambda: iter([example])), board, id_path=path)

    assert found.ids == [example_id]
    assert type(found.ids[0]) in {int, str}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, "float"),
        (torch.tensor(1.5), "float"),
        (torch.tensor([1, 2]), "Tensor"),
        (np.array([1, 2]), "ndarray"),
        (b"a", "bytes"),
        (None, "NoneType"),
    ],
    ids=str,
)
def test_another_field_cannot(value: Any, kind: str, board: StageBoard) -> None:
    """What it is is said; its value is not."""
    message = f"--id id is a {kind}; a whole number or text can name an example"

    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        read(Made(lambda: iter([{"id": value}])), board, id_path="id")


def test_a_field_that_is_not_there_is_told_with_those_that_are(
    board: StageBoard,
) -> None:
    """Fields are named as --id names them."""
    examples = [{"pixels": 1, "meta": {"key": "a"}}]

    with pytest.raises(UsageError, match=r"^--id key is no field of an example$") as it:
        read(Made(lambda: iter(examples)), board, id_path="key")

    assert it.value.hint == "fields are meta.key, pixels"


# Errors


def failing(at: int) -> Iterator[Any]:
    """Yield numbers, and fail instead of one of them."""
    for number in range(10):
        if number == at:
            raise OSError("the shard is truncated")
        yield number


@pytest.mark.parametrize("at", [0, 7])
def test_a_stream_that_fails_is_told_with_the_number(
    at: int, board: StageBoard
) -> None:
    """How many came before, what was raised, and in which pass."""
    message = (
        f"the dataset fails in one process: example {at} of the second pass raises "
        "OSError: the shard is truncated"
    )

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$") as it:
        read(Made(lambda: failing(at)), board, name="the second pass")

    assert it.value.hint == "no DataLoader setting mends that"
    assert isinstance(it.value.__cause__, OSError)


def test_an_iter_that_fails_is_told_as_well(board: StageBoard) -> None:
    """Without words of its own the type stands alone."""

    def make() -> Iterator[Any]:
        raise AssertionError

    message = (
        "the dataset fails in one process: example 0 of the stream raises "
        "AssertionError"
    )

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$"):
        read(Made(make), board)
