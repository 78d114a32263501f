"""Read examples stage by stage in a process of its own; name what ends that process.

Which example was being worked on is read from the board, and its id from what the child
wrote before it read the first one: neither needs an answer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from autoloader.child.last_words import IDS, native_words, read_end
from autoloader.child.stages import Stage, StageBoard
from autoloader.errors import DatasetError
from autoloader.files import refusals_named
from autoloader.trial.child import Child, ChildDied, Tick
from autoloader.trial.logs import STOPPED_HINT, how_ended, who_is
from autoloader.trial.reference import STALL_S, error_of, places_now
from autoloader.trial.watchdog import STALL_S as HANG_AFTER_S
from autoloader.trial.watchdog import (
    ChildHung,
    ChildStopped,
    Patience,
    patience_with_reading,
)
from autoloader.values.diagnosis import Breakdown, StageName, StagesOrder, StagesReport
from autoloader.values.outcome import MAX_IDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMES = {
    Stage.ACCESSING: StageName.ACCESS,
    Stage.TRANSFORMING: StageName.TRANSFORM,
    Stage.COLLATING: StageName.COLLATE,
    Stage.HANDING_OVER: StageName.HAND_OVER,
    Stage.PINNING: StageName.PIN,
    Stage.TRANSFERRING: StageName.TRANSFER,
}
"""Stages in which the child works on examples or batches; before them it builds."""

_OF_EXAMPLES = frozenset({StageName.ACCESS, StageName.TRANSFORM})


def read_stages(
    order: StagesOrder,
    *,
    logs: Path,
    tmp: Path,
    hang_after_s: float | None = None,
    on_tick: Tick | None = None,
) -> StagesReport:
    """Return what each stage did, and where it stopped.

    Args:
        order: what is read.
        logs: where the process prints.
        tmp: short path that becomes its TMPDIR.
        hang_after_s: what the user says; None: nothing.
        on_tick: told stage and count.

    Raises:
        UsageError: the SPEC names no dataset, or a flag does not fit it.
        DatasetError: it cannot be imported or built, or was stopped by a signal.
        ProtocolError: a bug of ours.
    """
    with refusals_named(logs):
        board = StageBoard.create(logs / "stage")
        (logs / IDS).unlink(missing_ok=True)
        child = Child("stages", logs=logs, tmp=tmp)
    patience = patience_of_stages(hang_after_s)
    try:
        child.order({"order": order.to_dict(), "board": str(logs / "stage")})
        message = child.answer(board, patience=patience, on_tick=on_tick)
    except ChildDied as exc:
        return StagesReport(breakdown=_death(exc, board, logs))
    except ChildStopped as exc:
        who = who_is(exc.process, trial_pid=None, host_pid=child.pid)
        raise DatasetError(exc.told(who, "examples"), hint=STOPPED_HINT) from None
    except ChildHung as exc:
        return StagesReport(breakdown=_hang(exc, child.pid, board, logs))
    finally:
        child.kill()
        board.close()
    if message["event"] == "error":
        raise error_of(message)
    return StagesReport.from_dict(message["report"])


def patience_of_stages(hang_after_s: float | None) -> Patience:
    """Return the patience with a process that reads stage by stage.

    Imports and the first example may take minutes; once examples come, one is waited
    for as long as a trial's batch would be, or longer at their own pace.

    Args:
        hang_after_s: what the user says; None: nothing.
    """
    usual = patience_with_reading(usual_s=STALL_S, hang_after_s=hang_after_s)
    return replace(usual, example_s=hang_after_s or HANG_AFTER_S)


def _death(exc: ChildDied, board: StageBoard, logs: Path) -> Breakdown:
    said = native_words(read_end(logs / "stderr.txt"))
    after = "" if said is None else f", after it had printed {said}"
    return _ended(f"the process {how_ended(exc.code)}{after}", board, logs, place=None)


def _hang(exc: ChildHung, pid: int, board: StageBoard, logs: Path) -> Breakdown:
    places = places_now(pid, logs / "stderr.txt")
    message = f"no progress for {exc.seconds:.0f} s"
    return _ended(message, board, logs, place=", ".join(places) or None)


def _ended(
    message: str, board: StageBoard, logs: Path, *, place: str | None
) -> Breakdown:
    """Return the breakdown of a process that gave no answer."""
    stage, unit = board.read()
    name = _NAMES.get(stage, StageName.BUILD)
    return Breakdown(
        stage=name,
        ids=ids_at(_lists(logs / IDS), unit, name),
        message=f"{message} while {stage.words}",
        place=place,
        log=str(logs),
    )


def _lists(path: Path) -> list[list[int | str]] | None:
    """Return the lists that the child was to read; None: it had not come so far."""
    try:
        found: list[list[int | str]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def ids_at(
    lists: Sequence[Sequence[int | str]] | None, place: int, stage: StageName
) -> tuple[int | str, ...]:
    """Return the ids that a stage worked on.

    Args:
        lists: of ids, in the order in which they are read; None: a stream, of which
            an example's number is its id, or nothing is known.
        place: number of the example, or of the first of a batch.
        stage: which says whether it is an example or its batch.
    """
    if stage in _OF_EXAMPLES:
        if lists is None:
            return (place,)
        flat = [index for listed in lists for index in listed]
        return tuple(flat[place : place + 1])
    if stage is not StageName.COLLATE or lists is None:
        return ()
    first = 0
    for listed in lists:
        if first <= place < first + len(listed):
            return tuple(listed[:MAX_IDS])
        first += len(listed)
    return ()
