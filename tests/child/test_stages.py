"""Where a child stands is read by another, without a message."""

import os
from pathlib import Path

import pytest

from autoloader.child.stages import Stage, StageBoard


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a board goes."""
    return tmp_path / "stage"


def test_a_fresh_board_stands_at_the_start(path: Path) -> None:
    """Before the child says anything, it is starting."""
    board = StageBoard.create(path)

    assert board.read() == (Stage.STARTING, 0)


def test_what_one_writes_another_reads(path: Path) -> None:
    """Parent and child open the same file."""
    parent = StageBoard.create(path)
    child = StageBoard(path)

    child.enter(Stage.LOADING)
    child.advance()
    child.advance()

    assert parent.read() == (Stage.LOADING, 2)


def test_a_new_stage_counts_from_nothing(path: Path) -> None:
    """Units belong to their stage."""
    board = StageBoard.create(path)
    board.enter(Stage.READING)
    board.advance()

    board.enter(Stage.WRITING)

    assert board.read() == (Stage.WRITING, 0)


def test_a_stage_that_is_begun_again_is_told_from_the_one_before(path: Path) -> None:
    """Two epochs stand at the same batch; units alone are no new turn."""
    parent = StageBoard.create(path)
    child = StageBoard(path)
    child.enter(Stage.LOADING)
    child.advance()
    first = parent.read(), parent.turn()

    child.advance()
    same = parent.turn()
    child.enter(Stage.LOADING)
    child.advance()

    assert same == first[1]
    assert parent.read() == first[0]
    assert parent.turn() == first[1] + 1


def test_a_loop_writes_units_alone(path: Path) -> None:
    """What it is given reaches neither the stage nor the turn."""
    board = StageBoard.create(path)
    board.enter(Stage.LOADING)

    with board.counter() as counter:
        counter[0] = 3
        length = len(counter)

    assert length == 1
    assert (board.read(), board.turn()) == ((Stage.LOADING, 3), 1)


def test_a_board_that_is_made_again_starts_afresh(path: Path) -> None:
    """What an earlier pass left is gone."""
    StageBoard.create(path).enter(Stage.SHUTTING_DOWN)

    assert StageBoard.create(path).read() == (Stage.STARTING, 0)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_writes_to_the_same_board(path: Path) -> None:
    """A trial inherits the board that its host opened."""
    board = StageBoard.create(path)
    pid = os.fork()
    if pid == 0:
        board.enter(Stage.LOADING)
        board.advance()
        os._exit(0)

    os.waitpid(pid, 0)

    assert board.read() == (Stage.LOADING, 1)


def test_the_board_outlives_its_file(path: Path) -> None:
    """A folder that is cleaned up does not take the reader down."""
    board = StageBoard.create(path)

    path.unlink()
    board.enter(Stage.WEIGHING)

    assert board.read() == (Stage.WEIGHING, 0)


def test_a_closed_board_lets_its_file_go(path: Path) -> None:
    """Nothing stays mapped."""
    board = StageBoard.create(path)

    board.close()

    with pytest.raises(ValueError, match=r"^mmap closed or invalid$"):
        board.read()


def test_a_stage_is_named_as_people_say_it() -> None:
    """A hang is reported with it."""
    assert Stage.STARTING_WORKERS.words == "starting workers"
    assert [stage.value for stage in Stage] == list(range(len(Stage)))
