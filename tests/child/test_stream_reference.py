"""The reference of a stream: what it is like, and what it cannot be."""

import itertools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

from autoloader.audit.ledger import ReferenceLedger, ScopeList
from autoloader.child.access import AccessWatch
from autoloader.child.epochs import EpochCalls
from autoloader.child.loader import LoaderParts
from autoloader.child.stages import StageBoard
from autoloader.child.stream_reference import run_stream_reference
from autoloader.child.units import UnitCounter
from autoloader.errors import AutoloaderError, DatasetError, UsageError
from autoloader.values.job import ReferenceOrder
from autoloader.values.scope import (
    DatasetFacts,
    Scope,
    ScopeRequest,
    SourceSpec,
    StreamFacts,
)


class Made(IterableDataset[Any]):
    """Yields what a function returns at each pass."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return self.make()


class Reference:
    """A reference that was read in this process."""

    def __init__(self, dataset: Any, folder: Path, **request: Any) -> None:
        board = StageBoard.create(folder / "board")
        order = ReferenceOrder(
            source=SourceSpec(spec="data.py:Made"),
            request=ScopeRequest(**request),
            folder=str(folder),
        )
        with AccessWatch([folder]) as access:
            access.begin_reading()
            message = run_stream_reference(
                order,
                LoaderParts.of(dataset),
                EpochCalls(dataset),
                board,
                access,
                UnitCounter(),
            )
        board.close()
        self.facts = DatasetFacts.from_dict(message["facts"])
        self.scope = Scope.from_dict(message["scope"])
        self.ids = ScopeList.read(folder).ids
        self.ledger = ReferenceLedger.read(folder)

    @property
    def stream(self) -> StreamFacts:
        """Return what is known of the stream."""
        assert self.scope.stream is not None
        return self.scope.stream


def turns(length: int | None = None) -> Iterator[int]:
    """Return this process's numbers, up to a length or for ever."""
    info = get_worker_info()
    first, step = (0, 1) if info is None else (info.id, info.num_workers)
    return itertools.islice(itertools.count(), first, length, step)


def pairs(length: int | None = None) -> Callable[[], Iterator[Any]]:
    """Return what makes passes over numbers with a label."""
    return lambda: ((float(number), number % 7) for number in turns(length))


def test_a_whole_stream_is_read_to_its_end(tmp_path: Path) -> None:
    """Order, fields and length are known."""
    found = Reference(Made(pairs(30)), tmp_path)

    assert found.stream == StreamFacts(
        is_complete=True, keeps_order=True, needs_worker=False, declared=None
    )
    assert (found.scope.examples, found.scope.of) == (30, 30)
    assert (found.scope.epoch_examples, found.scope.order) == (30, "stream")
    assert (found.scope.transforms, found.facts.label) == ("fixed", "1")
    assert (found.facts.kind, found.facts.random_fields) == ("iterable", ())
    assert found.ids == list(range(30))
    assert len(set(found.ledger.fixed.tolist())) == 30


def test_an_endless_stream_is_cut(tmp_path: Path) -> None:
    """Its end and its epoch are not known."""
    found = Reference(Made(pairs()), tmp_path, examples=50)

    assert not found.stream.is_complete
    assert found.stream.keeps_order
    assert (found.scope.examples, found.scope.of) == (50, None)
    assert found.scope.epoch_examples is None


def test_an_endless_stream_is_cut_by_time(tmp_path: Path) -> None:
    """Where no number of examples is named."""
    found = Reference(Made(pairs()), tmp_path, time_limit_s=0.01)

    assert not found.stream.is_complete
    assert found.scope.examples >= 1


def test_all_reads_to_the_end(tmp_path: Path) -> None:
    """However long it takes."""
    found = Reference(Made(pairs(30)), tmp_path, examples="all", time_limit_s=0.0)

    assert found.stream.is_complete
    assert found.scope.examples == 30


def test_ids_are_those_that_the_user_names(tmp_path: Path) -> None:
    """They go into the scope."""
    make = pairs(9)

    found = Reference(Made(lambda: ((int(a), b) for a, b in make())), tmp_path, id="0")

    assert found.ids == list(range(9))


def test_a_stream_that_needs_a_worker_gets_one(tmp_path: Path) -> None:
    """`get_worker_info().id` without a look at None."""

    def make() -> Iterator[Any]:
        info: Any = get_worker_info()
        return iter(range(info.id, 30, info.num_workers))

    found = Reference(Made(make), tmp_path)

    assert found.stream.needs_worker
    assert found.scope.examples == 30


def test_a_stream_is_not_begun_to_look_at_it(tmp_path: Path) -> None:
    """One that is its own iterator would lose its first example."""
    numbers = itertools.count()

    found = Reference(Made(lambda: ((n, n % 3) for n in numbers)), tmp_path, examples=8)

    assert next(numbers) == 16
    assert not found.stream.keeps_order


def test_a_shuffled_stream_keeps_no_order(tmp_path: Path) -> None:
    """Its fields are fixed all the same."""

    def make() -> Iterator[Any]:
        numbers = [(number, number % 7) for number in turns(30)]
        random.shuffle(numbers)
        return iter(numbers)

    found = Reference(Made(make), tmp_path)

    assert not found.stream.keeps_order
    assert found.scope.order == "stream, shuffled"
    assert found.facts.random_fields == ()


@pytest.mark.parametrize(
    "seed_of",
    [lambda info: info.seed, lambda info: torch.initial_seed()],
    ids=["info.seed", "torch.initial_seed()"],
)
def test_a_stream_that_shuffles_in_workers_only_keeps_no_order(
    seed_of: Callable[[Any], int], tmp_path: Path
) -> None:
    """The order of one process says nothing of theirs."""

    def make() -> Iterator[Any]:
        numbers = list(itertools.islice(turns(), 100))
        info = get_worker_info()
        if info is not None:
            random.Random(seed_of(info)).shuffle(numbers)  # noqa: S311  # an order
        return iter(numbers)

    found = Reference(Made(make), tmp_path, examples=50)

    assert not found.stream.keeps_order


def test_a_share_in_an_order_of_its_seed_keeps_no_order(tmp_path: Path) -> None:
    """Shards in an order that the seed decides: nothing comes again at the start."""

    def make() -> Iterator[Any]:
        info = get_worker_info()
        first = 0 if info is None else info.seed % 1000 * 1000
        return itertools.count(first)

    found = Reference(Made(make), tmp_path, examples=50)

    assert not found.stream.keeps_order


def test_a_share_that_goes_on_keeps_its_order(tmp_path: Path) -> None:
    """Workers that do so are to be judged by it."""
    held = itertools.count()

    def make() -> Iterator[Any]:
        return itertools.count() if get_worker_info() is None else held

    found = Reference(Made(make), tmp_path, examples=50)

    assert found.stream.keeps_order


def test_a_stream_that_fails_as_another_worker_keeps_its_order(tmp_path: Path) -> None:
    """The trials will say what is wrong."""

    def make() -> Iterator[Any]:
        info = get_worker_info()
        return iter([range(99)][0 if info is None else info.id])

    found = Reference(Made(make), tmp_path, examples=50)

    assert found.stream.keeps_order


def test_random_fields_are_told(tmp_path: Path) -> None:
    """Two passes under other seeds."""
    found = Reference(
        Made(lambda: ((torch.rand(2), number) for number in turns(30))), tmp_path
    )

    assert found.facts.random_fields == ("0",)
    assert found.scope.transforms == "random"


def test_nothing_is_random_in_a_shuffled_cut_if_the_user_says_so(
    tmp_path: Path,
) -> None:
    """Two passes cannot tell there."""

    def make() -> Iterator[Any]:
        first = random.randrange(10**6)  # noqa: S311  # an order, no secret
        return ((number % 9, float(number)) for number in itertools.count(first))

    found = Reference(Made(make), tmp_path, examples=40, transforms="fixed")

    assert found.facts.random_fields == ()


class Declares(Made):
    """Says how long it is, or fails to."""

    def __init__(self, declared: Any) -> None:
        super().__init__(pairs(30))
        self.declared = declared

    def __len__(self) -> int:
        if isinstance(self.declared, BaseException):
            raise self.declared
        return int(self.declared)


@pytest.mark.parametrize(
    ("declared", "told"),
    [(30, 30), (12, 12), (TypeError("no"), None), (RuntimeError("no"), None)],
    ids=repr,
)
def test_the_declared_length_is_kept(
    declared: Any, told: int | None, tmp_path: Path
) -> None:
    """Right or wrong; whatever is raised instead is none."""
    found = Reference(Declares(declared), tmp_path)

    assert (found.stream.declared, found.facts.length) == (told, told)


class IsItsOwnIterator(IterableDataset[Any]):
    """Never begins anew."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.at += 1
        if self.at > 30:
            raise StopIteration
        return self.at


class FailsInSecondPass(IterableDataset[Any]):
    """Its index is gone after the first pass."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        if self.passes > 1:
            raise ValueError("the index file vanished")
        return iter(range(30))


def fails_late() -> Iterator[Any]:
    """Fail as no worker could help."""
    yield from range(7)
    raise AttributeError("no attribute 'shard'")


def fails_as_worker() -> Iterator[Any]:
    """Need a worker, and fail in it."""
    info: Any = get_worker_info()
    yield info.id
    raise OSError("the shard is truncated")


@pytest.mark.parametrize(
    ("dataset", "asked", "kind", "message"),
    [
        (
            Made(lambda: iter([])),
            {},
            UsageError,
            "data.py:Made is empty: a pass over the stream gives nothing",
        ),
        (
            IsItsOwnIterator(),
            {},
            DatasetError,
            "reference_unstable: the second pass over the stream is empty",
        ),
        (
            FailsInSecondPass(),
            {},
            DatasetError,
            "the dataset fails in one process: example 0 of the second pass over the "
            "stream raises ValueError: the index file vanished",
        ),
        (
            Made(fails_late),
            {},
            DatasetError,
            "the dataset fails in one process: example 7 of the stream raises "
            "AttributeError: no attribute 'shard'",
        ),
        (
            Made(fails_as_worker),
            {},
            DatasetError,
            "the dataset fails in one process: example 1 of the stream raises "
            "OSError: the shard is truncated",
        ),
        (
            Made(lambda: 1 / 0),  # type: ignore[arg-type, return-value]  # it raises
            {},
            DatasetError,
            "the dataset fails in one process: example 0 of the stream raises "
            "ZeroDivisionError: division by zero",
        ),
        (
            Made(lambda: ((n, torch.rand(())) for n in turns(30))),
            {},
            DatasetError,
            "reference_unstable: the label '1' changes between readings",
        ),
        (
            Made(lambda: ((torch.rand(2), n) for n in turns(30))),
            {"transforms": "fixed"},
            DatasetError,
            "reference_unstable: 0 changes between readings",
        ),
        (
            Made(pairs(30)),
            {"label": "9"},
            UsageError,
            "--label 9 is no field of an example",
        ),
    ],
    ids=lambda it: it if isinstance(it, str) else type(it).__name__,
)
def test_what_cannot_be_a_reference_is_told(
    dataset: Any,
    asked: dict[str, Any],
    kind: type[AutoloaderError],
    message: str,
    tmp_path: Path,
) -> None:
    """Before any trial."""
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Reference(dataset, tmp_path, **asked)
