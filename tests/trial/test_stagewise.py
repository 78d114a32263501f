"""What ended a process is named by what was written before it read."""

from pathlib import Path

import pytest

from autoloader.child.stages import Stage, StageBoard
from autoloader.trial.reference import STALL_S
from autoloader.trial.stagewise import ids_at, patience_of_stages
from autoloader.trial.watchdog import STALL_S as HANG_AFTER_S
from autoloader.values.diagnosis import StageName

LISTS = [[0, 99, 7], [0, 1, 2], [3]]


@pytest.mark.parametrize(
    ("place", "stage", "ids"),
    [
        (1, StageName.ACCESS, (99,)),
        (4, StageName.TRANSFORM, (1,)),
        (3, StageName.COLLATE, (0, 1, 2)),
        (6, StageName.COLLATE, (3,)),
        (1, StageName.HAND_OVER, ()),
        (7, StageName.ACCESS, ()),
        (7, StageName.COLLATE, ()),
    ],
)
def test_a_place_leads_to_its_ids(
    place: int, stage: StageName, ids: tuple[int, ...]
) -> None:
    """An example has one, a batch its list, what is sent on has none."""
    assert ids_at(LISTS, place, stage) == ids


def test_an_example_of_a_stream_is_named_by_its_number() -> None:
    """Nothing else is known of it before it is read."""
    assert ids_at(None, 5, StageName.ACCESS) == (5,)


def test_a_board_names_the_unit_before_it_is_worked_on(tmp_path: Path) -> None:
    """`stand` counts nothing: it says which."""
    board = StageBoard.create(tmp_path / "stage")

    board.stand(Stage.ACCESSING, 12)

    assert board.read() == (Stage.ACCESSING, 12)
    board.close()


def test_slow_examples_are_waited_for_at_their_own_pace() -> None:
    """Unless the user says what a hang is."""
    usual, said = patience_of_stages(None), patience_of_stages(90.0)

    assert (usual.example_s, usual.has_pace) == (HANG_AFTER_S, True)
    assert (said.example_s, said.has_pace) == (90.0, False)
    assert said.stall_s == STALL_S
