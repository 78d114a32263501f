"""Read the reference in a fresh process of its own, and answer with values.

Reading can change a dataset, consume a stream or warm a cache: no trial ever starts
from the process that did it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autoloader import errors
from autoloader.child.failures import signal_name
from autoloader.child.last_words import standing_places
from autoloader.child.stages import StageBoard
from autoloader.errors import AutoloaderError, DatasetError, ProtocolError
from autoloader.files import refusals_named
from autoloader.trial.aftercare import ask_for_stacks
from autoloader.trial.child import Child, ChildDied, Tick
from autoloader.trial.explaining import MOST_PLACES
from autoloader.trial.logs import STOPPED_HINT, who_is
from autoloader.trial.watchdog import (
    ChildHung,
    ChildStopped,
    patience_with_reading,
)
from autoloader.values.contract import Contract
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.outcome import Finding
from autoloader.values.scope import DatasetFacts, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoloader.values.ranks import RankPlace

STALL_S = 300.0
"""Longest time without progress: imports over a network take minutes, and so does the
next shard of a store. Once examples come, their own pace may tell that it is longer."""


def read_reference(
    order: ReferenceOrder,
    *,
    logs: Path,
    tmp: Path,
    hang_after_s: float | None = None,
    on_tick: Tick | None = None,
    place: RankPlace | None = None,
) -> Reference:
    """Return what one process reads: the data that every config must deliver.

    Args:
        order: what is read.
        logs: where the process prints.
        tmp: short path that becomes its TMPDIR.
        hang_after_s: what the user says; None: nothing.
        on_tick: told stage and count.
        place: of the rank that it stands for, or of the one that has all; None: there
            are no ranks.

    Raises:
        UsageError: the SPEC names no dataset, or a flag does not fit it.
        DatasetError: the dataset fails, changes or hangs by itself.
        StoredFileError: the disk refuses what is to be kept of it.
        ProtocolError: a bug of ours.
    """
    begun = time.monotonic()
    with refusals_named(logs):
        board = StageBoard.create(logs / "stage")
        more = None if place is None else place.environment()
        child = Child("reference", logs=logs, tmp=tmp, more=more)
    try:
        child.order({"order": order.to_dict(), "board": str(logs / "stage")})
        patience = patience_with_reading(usual_s=STALL_S, hang_after_s=hang_after_s)
        message = child.answer(board, patience=patience, on_tick=on_tick)
    except ChildDied as exc:
        raise _death(exc, board, logs) from None
    except ChildHung as exc:
        raise _hang(exc, child.pid, logs) from None
    finally:
        child.kill()
        board.close()
    if message["event"] == "error":
        raise error_of(message)
    return Reference(
        facts=DatasetFacts.from_dict(message["facts"]),
        scope=Scope.from_dict(message["scope"]),
        folder=order.folder,
        seconds=time.monotonic() - begun,
        contract=Contract.from_dict(message["contract"]),
        cautions=tuple(Finding.from_dict(item) for item in message["cautions"]),
    )


def error_of(message: Mapping[str, Any]) -> AutoloaderError:
    """Return the error that a child told, as the class that it named."""
    kind = getattr(errors, str(message["kind"]), ProtocolError)
    error: AutoloaderError = kind(message["message"], hint=message["hint"])
    return error


def _hang(exc: ChildHung, pid: int, logs: Path) -> DatasetError:
    """Return the error of a dataset that does not go on, or was stopped."""
    if isinstance(exc, ChildStopped):
        who = "the process that reads the reference"
        if exc.process.pid != pid:
            who = who_is(exc.process, trial_pid=None, host_pid=pid)
        return DatasetError(exc.told(who, "examples"), hint=STOPPED_HINT)
    places = places_now(pid, logs / "stderr.txt")
    stands = f"; it stands in {', '.join(places)}" if places else ""
    msg = (
        f"the dataset hangs in one process: {exc.stage.words} made no progress for "
        f"{exc.seconds:.0f} s after {exc.done} examples{stands}"
    )
    hint = f"what it printed is in {logs}; --hang-after TIME waits longer"
    return DatasetError(msg, hint=hint)


def places_now(pid: int, log: Path) -> list[str]:
    """Return where a process stands in the user's code; what it says stays in its log.

    Args:
        pid: the process, which leads its session.
        log: its own; earlier runs may have written to it as well.
    """
    with suppress(OSError), log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        ask_for_stacks(pid, log)
        return standing_places(file.read().decode("utf-8", "replace"))[:MOST_PLACES]
    return []


def _death(exc: ChildDied, board: StageBoard, logs: Path) -> DatasetError:
    stage, done = board.read()
    how = f"exit code {exc.code}" if exc.code >= 0 else signal_name(-exc.code)
    after = f" after {done} examples" if done else ""
    msg = f"the dataset ends its process ({how}) while {stage.words}{after}"
    return DatasetError(msg, hint=f"what it printed is in {logs}")
