"""The timed pass tells where it stands, between epochs only."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoloader.child.stages import Stage, StageBoard
from autoloader.child.timing import timed_pass
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan

BATCHES = 3


class Loader:
    """Three batches an epoch, and where its board stood when each was asked for."""

    def __init__(self, board: StageBoard) -> None:
        self._board = board
        self.seen: list[tuple[Stage, int]] = []

    def __iter__(self) -> Iterator[int]:
        """Start workers, as a loader does here that keeps none, and load."""
        for number in range(BATCHES):
            self.seen.append(self._board.read())
            yield number


def context_of(
    folder: Path, *, entries: int, size: int, drop_last: bool = False
) -> tuple[Any, Loader]:
    """Return the context of a pass over two epochs, and the loader that it reads."""
    board = StageBoard.create(folder / "stage")
    loader = Loader(board)
    order = SimpleNamespace(
        plan=PassPlan(warm_batches=0, steady_batches=3, tail_batches=0, epochs=2),
        config=LoaderConfig.canonical(num_workers=2, batch_size=size),
        count_path=None,
        reference=str(folder),
    )
    context: Any = SimpleNamespace(
        order=order,
        board=board,
        size=size,
        epoch=lambda: range(entries),
        loader=lambda _entries: loader,
        calls=SimpleNamespace(begin=lambda _number: None),
        meeting=SimpleNamespace(wait=lambda: None),
        scope=SimpleNamespace(cache="warm", drop_last=drop_last),
        facts=SimpleNamespace(batching="size"),
    )
    return context, loader


def test_each_epoch_whose_workers_start_anew_begins_with_none_done(
    tmp_path: Path,
) -> None:
    """That is how the parent knows that they may still be on their way."""
    context, loader = context_of(tmp_path, entries=BATCHES, size=1)

    found = timed_pass(context)

    assert loader.seen == [
        (Stage.LOADING, 0), (Stage.LOADING, 1), (Stage.LOADING, 2),
        (Stage.LOADING, 0), (Stage.LOADING, 4), (Stage.LOADING, 5),
    ]  # fmt: skip
    assert len(found["arrivals_s"]) == 2 * BATCHES
    assert context.board.read()[0] is Stage.SHUTTING_DOWN
    context.board.close()


@pytest.mark.parametrize(
    ("entries", "drop_last", "counts"),
    [(6, False, [2, 2, 2]), (5, False, [2, 2, 1]), (7, True, [2, 2, 2])],
)
def test_batches_that_cannot_be_counted_have_the_sizes_of_their_epoch(
    tmp_path: Path, entries: int, drop_last: bool, counts: list[int]
) -> None:
    """Such as graphs that are one object: the last one may be smaller."""
    context, _loader = context_of(
        tmp_path, entries=entries, size=2, drop_last=drop_last
    )

    found = timed_pass(context)

    assert found["counts"] == counts * 2
    assert found["expected"] == 2 * sum(counts)
    context.board.close()
