"""Find the cause behind a failure in what the processes left: logs, stacks, suspects.

A loader that hangs or a worker that dies often says why on stderr only; what workers
inherited is named beside it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from autoloader.child.failures import exhaustion
from autoloader.child.last_words import (
    SUSPECTS,
    last_raised,
    read_end,
    standing_places,
)
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.trial.child import ChildHung
    from autoloader.values.job import PassOrder

MOST_PLACES = 3
"""Places where processes stand that are named."""

_SUSPECTED = frozenset({"hung", "crashed", "worker_exception"})


def read_suspects(logs: Path) -> list[str]:
    """Return what workers inherited, and forget it; nothing where it was not noted."""
    path = logs / SUSPECTS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
    except (OSError, ValueError):
        return []
    return [str(item) for item in found]


def hung(exc: ChildHung, order: PassOrder, logs: Path) -> Failure:
    """Return the failure of a pass that made no progress.

    Args:
        exc: stage, units done in it, and seconds without progress.
        order: what it was doing.
        logs: where its processes printed, their stacks as well.
    """
    log = read_end(logs / "stderr.txt")
    places = standing_places(log)[:MOST_PLACES]
    raised = last_raised(log)
    exhausted = (
        None
        if raised is None
        else exhaustion(raised.words, raised.kind, phase=order.kind, log=str(logs))
    )
    if exhausted is not None:  # a feeder thread said so, and nobody heard it
        return exhausted
    said = [
        f"no progress for {exc.seconds:.0f} s while {exc.stage.words}, "
        f"after {exc.done} batches"
    ]
    if raised is not None:
        said.append(f"a process had printed {raised}")
    if places:
        said.append(f"a process stands in {', '.join(places)}")
    return Failure(
        kind="hung",
        phase=order.kind,
        message="; ".join(said),
        hint="the stacks of all its processes are in stderr.txt of the log folder",
        exception=None if raised is None else raised.kind,
        log=str(logs),
    )


def explained(failure: Failure, logs: Path) -> Failure:
    """Return a failure with the exception that a worker printed, and with suspects."""
    if failure.kind == "crashed" and failure.exit_code:
        raised = last_raised(read_end(logs / "stderr.txt"))
        if raised is not None and raised.kind not in failure.message:
            failure = replace(
                failure,
                message=f"{failure.message}, after it had printed {raised}",
                exception=raised.kind,
            )
    if failure.kind == "hung" and "stands in" not in failure.message:
        places = standing_places(read_end(logs / "stderr.txt"))[:MOST_PLACES]
        if places:
            stands = f"a process stands in {', '.join(places)}"
            failure = replace(failure, message=f"{failure.message}; {stands}")
    suspects = read_suspects(logs)
    if not suspects or failure.kind not in _SUSPECTED:
        return failure
    named = (
        f"there before the workers started: {', '.join(suspects)}; "
        "--start-method spawn starts workers without them"
    )
    hint = named if failure.hint is None else f"{failure.hint}; {named}"
    return replace(failure, hint=hint)
