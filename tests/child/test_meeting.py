"""Ranks meet, and one that is alone waits for nobody."""

import multiprocessing
import os
from pathlib import Path

import pytest
from torch import distributed

from autoloader.child.meeting import Meeting, RankLost, stand_for_rank
from autoloader.child.stages import Stage, StageBoard
from autoloader.errors import UsageError
from autoloader.values.ranks import RankPlace


def rank(folder: Path, number: int, leaves_early: bool) -> None:
    """Be one of two ranks: meet, and meet again unless it leaves before."""
    os.environ |= RankPlace(rank=number, ranks=2, port=1).environment()
    stand_for_rank()
    told: tuple[object, ...] = (distributed.get_rank(), distributed.get_world_size())
    board = StageBoard.create(folder / f"board-{number}")
    meeting = Meeting(str(folder), board)
    meeting.join()
    told += (distributed.get_backend(), distributed.get_rank())
    if leaves_early and number == 1:
        os._exit(0)
    try:
        meeting.wait()
        said = ""
    except RankLost as exc:
        said = str(exc)
    found = f"{told}|{board.read()[0].words}|{said}"
    (folder / f"told-{number}").write_text(found)
    os._exit(0)


@pytest.mark.parametrize("leaves_early", [False, True])
def test_ranks_meet_and_miss_the_one_that_ended(
    tmp_path: Path, leaves_early: bool
) -> None:
    """Each knows who it is before and after; a lost one is an event of its own."""
    context = multiprocessing.get_context("fork")
    ranks = [
        context.Process(target=rank, args=(tmp_path, number, leaves_early))
        for number in range(2)
    ]

    for process in ranks:
        process.start()
    for process in ranks:
        process.join(timeout=60)

    told, words, said = (tmp_path / "told-0").read_text().split("|", 2)
    assert told == "(0, 2, 'gloo', 0)"
    assert words == "meeting"
    start = "another rank ended while this one waited for it: "
    assert said.startswith(start) == leaves_early
    assert (tmp_path / "told-1").exists() != leaves_early


def test_a_process_that_is_alone_waits_for_nobody(tmp_path: Path) -> None:
    """And makes no group."""
    board = StageBoard.create(tmp_path / "board")
    meeting = Meeting(None, board, RankPlace(rank=0, ranks=2, port=1))

    meeting.join()
    meeting.wait()

    assert board.read() == (Stage.STARTING, 0)
    board.close()
    assert not distributed.is_initialized()


def test_a_process_that_stands_for_no_rank_has_no_group() -> None:
    """It has none in training either."""
    stand_for_rank()

    assert not distributed.is_initialized()


def test_a_pytorch_without_process_groups_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it is built for some systems."""
    for name, value in RankPlace(rank=0, ranks=2, port=1).environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(distributed, "is_available", lambda: False)

    with pytest.raises(UsageError) as caught:
        stand_for_rank()

    assert caught.value.message == (
        "this PyTorch was built without torch.distributed, which --ranks needs"
    )
