"""The timed pass tells where it stands, between epochs only."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_each_epoch_whose_workers_start_anew_begins_with_none_done(
    tmp_path: Path,
) -> None:
    """That is how the parent knows that they may still be on their way."""
    board = StageBoard.create(tmp_path / "stage")
    loader = Loader(board)
    order = SimpleNamespace(
        plan=PassPlan(warm_batches=0, steady_batches=3, tail_batches=0, epochs=2),
        config=LoaderConfig.canonical(num_workers=2, batch_size=1),
        count_path=None,
        reference=str(tmp_path),
    )
    context: Any = SimpleNamespace(
        order=order,
        board=board,
        size=1,
        epoch=lambda: range(BATCHES),
        loader=lambda _entries: loader,
        calls=SimpleNamespace(begin=lambda _number: None),
        meeting=SimpleNamespace(wait=lambda: None),
        scope=SimpleNamespace(cache="warm", drop_last=False),
        facts=SimpleNamespace(batching="size"),
    )

    found = timed_pass(context)

    assert loader.seen == [
        (Stage.LOADING, 0), (Stage.LOADING, 1), (Stage.LOADING, 2),
        (Stage.LOADING, 0), (Stage.LOADING, 4), (Stage.LOADING, 5),
    ]  # fmt: skip
    assert len(found["arrivals_s"]) == 2 * BATCHES
    assert board.read()[0] is Stage.SHUTTING_DOWN
    board.close()
