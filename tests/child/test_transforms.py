"""A transform is told apart from the access around it."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoloader.child.stages import Stage, StageBoard
from autoloader.child.transforms import TransformWatch
from autoloader.errors import UsageError


@pytest.fixture
def board(tmp_path: Path) -> StageBoard:
    """Return a fresh board."""
    return StageBoard.create(tmp_path / "stage")


class Doubling:
    """A transform with an attribute of its own."""

    factor = 2

    def __call__(self, value: int) -> int:
        """Return the product."""
        return self.factor * value


class Data:
    """A dataset that transforms what it reads."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __getitem__(self, index: int) -> Any:
        return self.transform(index)


def test_the_board_says_when_a_transform_runs(board: StageBoard) -> None:
    """Before it runs: what kills the process there is named."""
    seen: list[tuple[Stage, int]] = []

    def transform(value: int) -> int:
        seen.append(board.read())
        return value

    data, watch = Data(transform), TransformWatch(board)
    watch.watch(data, None)
    watch.begin(7)
    before = board.read()

    assert data[3] == 3
    assert before == (Stage.ACCESSING, 7)
    assert seen == [(Stage.TRANSFORMING, 7)]
    assert board.read() == (Stage.ACCESSING, 7)


def test_its_time_is_counted_once_where_one_calls_another(board: StageBoard) -> None:
    """An inner transform belongs to the outer one."""
    data, watch = Data(None), TransformWatch(board)
    data.transform = lambda value: data.__dict__["target_transform"](value) + 1
    data.__dict__["target_transform"] = lambda value: 2 * value
    watch.watch(data, None)
    watch.begin(0)

    assert data[5] == 11
    assert watch.paths == ["transform", "target_transform"]
    assert watch.seconds > 0


def test_what_a_transform_raises_is_known_through_what_is_raised_from_it(
    board: StageBoard,
) -> None:
    """A dataset may say it in its own words."""

    def transform(_value: int) -> int:
        raise ValueError("too small")

    class Wraps(Data):
        def __getitem__(self, index: int) -> Any:
            try:
                return self.transform(index)
            except ValueError as exc:
                raise RuntimeError("example cannot be used") from exc

    data, watch = Wraps(transform), TransformWatch(board)
    watch.watch(data, None)
    watch.begin(0)

    with pytest.raises(RuntimeError) as raised:
        _ = data[0]

    assert watch.led_to(raised.value)
    assert not watch.led_to(KeyError("another"))


def test_transforms_of_datasets_in_datasets_are_found(board: StageBoard) -> None:
    """Subsets and concatenations hold the one that transforms."""
    inner = [Data(Doubling()), Data(Doubling())]
    outer = SimpleNamespace(dataset=SimpleNamespace(datasets=inner))
    watch = TransformWatch(board)

    watch.watch(outer, None)

    assert watch.paths == [
        "dataset.datasets.0.transform",
        "dataset.datasets.1.transform",
    ]
    assert inner[1][4] == 8


def test_a_stand_in_looks_like_the_transform(board: StageBoard) -> None:
    """A dataset may ask it for more, or change it between epochs."""
    data, watch = Data(Doubling()), TransformWatch(board)
    watch.watch(data, None)

    data.transform.factor = 3

    assert data.transform.factor == 3
    assert data[2] == 6


def test_a_dataset_without_a_transform_has_none(board: StageBoard) -> None:
    """Access and transform are one then."""
    watch = TransformWatch(board)

    watch.watch([1, 2, 3], None)

    assert watch.paths == []


@pytest.mark.parametrize(
    ("data", "named", "sentence"),
    [
        (
            Data(Doubling()),
            "transfor",
            "--transform transfor: Data has no 'transfor'",
        ),
        (Data(3), "transform", "--transform transform is nothing that can be called"),
        (
            SimpleNamespace(inner=(1, 2)),
            "inner.count",
            "--transform inner.count cannot be replaced by what notes its time",
        ),
    ],
)
def test_a_transform_that_cannot_be_watched_is_refused(
    data: Any, named: str, sentence: str, board: StageBoard
) -> None:
    """Where it was named; where it was not, nothing is said."""
    watch = TransformWatch(board)

    with pytest.raises(UsageError, match=f"^{re.escape(sentence)}$"):
        watch.watch(data, named)
