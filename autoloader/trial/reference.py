"""Read the reference in a fresh process of its own, and answer with values.

Reading can change a dataset, consume a stream or warm a cache: no trial ever starts
from the process that did it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from autoloader import errors
from autoloader.child.failures import signal_name
from autoloader.child.stages import StageBoard
from autoloader.errors import AutoloaderError, DatasetError, ProtocolError
from autoloader.trial.child import Child, ChildDied, ChildHung, Tick
from autoloader.values.contract import Contract
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.outcome import Finding
from autoloader.values.scope import DatasetFacts, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STALL_S = 300.0
"""Longest time without progress: imports over a network take minutes."""


def read_reference(
    order: ReferenceOrder,
    *,
    logs: Path,
    tmp: Path,
    stall_s: float = STALL_S,
    on_tick: Tick | None = None,
) -> Reference:
    """Return what one process reads: the data that every config must deliver.

    Raises:
        UsageError: the SPEC names no dataset, or a flag does not fit it.
        DatasetError: the dataset fails, changes or hangs by itself.
        ProtocolError: a bug of ours.
    """
    begun = time.monotonic()
    board = StageBoard.create(logs / "stage")
    child = Child("reference", logs=logs, tmp=tmp)
    try:
        child.order({"order": order.to_dict(), "board": str(logs / "stage")})
        message = child.answer(board, stall_s=stall_s, on_tick=on_tick)
    except ChildDied as exc:
        raise _death(exc, board, logs) from None
    except ChildHung as exc:
        msg = (
            f"the dataset hangs in one process: {exc.stage.words} made no progress for "
            f"{exc.seconds:.0f} s after {exc.done} examples"
        )
        raise DatasetError(msg, hint=f"what it printed is in {logs}") from None
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


def _death(exc: ChildDied, board: StageBoard, logs: Path) -> DatasetError:
    stage, done = board.read()
    how = f"exit code {exc.code}" if exc.code >= 0 else signal_name(-exc.code)
    after = f" after {done} examples" if done else ""
    msg = f"the dataset ends its process ({how}) while {stage.words}{after}"
    return DatasetError(msg, hint=f"what it printed is in {logs}")
