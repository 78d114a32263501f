"""Find the cause behind a failure in what the processes left: logs, stacks, suspects.

A loader that hangs or a worker that dies often says why on stderr only; what workers
inherited, and files that an earlier trial left half written, are named beside it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from autoloader.child.last_words import (
    SUSPECTS,
    last_raised,
    lost_raised,
    lost_reading,
    native_words,
    read_end,
    standing_places,
)
from autoloader.measure.exhaustion import exhaustion
from autoloader.measure.throttling import is_throttled, speaks_of_throttling, throttled
from autoloader.trial.unfinished import named_unfinished, read_unfinished
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.trial.watchdog import ChildHung
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
    log, phase = read_end(logs / "stderr.txt"), order.kind
    raised, lost = last_raised(log), lost_raised(log)
    exhausted = (
        None
        if raised is None
        else exhaustion(raised.words, raised.kind, phase=phase, log=str(logs))
    )
    if exhausted is not None:  # a feeder thread said so, and nobody heard it
        return exhausted
    said = [
        f"no progress for {exc.seconds:.0f} s while {exc.stage.words}, "
        f"after {exc.done} batches"
    ]
    if lost is not None:
        said.append(f"a worker could not send {lost.told}{lost_reading(log)}")
    if raised is not None and raised != lost:
        said.append(f"a process had printed {raised.told}")
    for item in (lost, raised):
        if item is not None and is_throttled(item):
            return throttled("; ".join(said), item.kind, phase=phase, log=str(logs))
    if speaks_of_throttling(log):
        said.append("its log speaks of a store that is asked too often")
    places = standing_places(log)[:MOST_PLACES]
    if places:
        said.append(f"a process stands in {', '.join(places)}")
    known = lost or raised
    return Failure(
        kind="hung",
        phase=phase,
        message="; ".join(said),
        hint="the stacks of all its processes are in stderr.txt of the log folder",
        exception=None if known is None else known.kind,
        log=str(logs),
    )


def explained(failure: Failure, logs: Path) -> Failure:
    """Return a failure with what its processes printed, with suspects and old traces.

    Args:
        failure: why a pass ended.
        logs: where its processes printed; the files that earlier trials left half
            written are listed in the folder above.
    """
    suspects = read_suspects(logs)
    if failure.signal == "SIGSTOP":  # which nothing that was printed explains
        return failure
    log = read_end(logs / "stderr.txt")
    if failure.kind == "crashed":
        failure = _with_last_words(failure, log)
    if failure.kind == "hung" and "stands in" not in failure.message:
        places = standing_places(log)[:MOST_PLACES]
        if places:
            stands = f"a process stands in {', '.join(places)}"
            failure = replace(failure, message=f"{failure.message}; {stands}")
    raised = last_raised(log)
    said = f"{failure.message}\n{'' if raised is None else raised.told}"
    unfinished = named_unfinished(read_unfinished(logs.parent), said)
    if unfinished is not None:
        failure = _with_hint(failure, unfinished)
    if not suspects or failure.kind not in _SUSPECTED:
        return failure
    return _with_hint(
        failure,
        f"there before the workers started: {', '.join(suspects)}; "
        "--start-method spawn starts workers without them",
    )


def _with_last_words(failure: Failure, log: str) -> Failure:
    """Return the failure of a death with what was printed right before it.

    A process that native code ended, or the kernel, prints no traceback of its own: the
    last one in its log is of something else.
    """
    raised = last_raised(log) if failure.exit_code else None
    if raised is not None and raised.kind not in failure.message:
        message = f"{failure.message}, after it had printed {raised.told}"
        if is_throttled(raised):
            return throttled(
                message, raised.kind, phase=failure.phase, log=failure.log or ""
            )
        return replace(failure, message=message, exception=raised.kind)
    native = None if failure.signal == "SIGKILL" else native_words(log)
    if native is None:
        return failure
    message = f"{failure.message}, after it had printed {native}"
    if "bad_alloc" in native:
        return replace(
            failure,
            kind="out_of_memory",
            message=message,
            hint="fewer workers, a smaller queue, or a higher limit of memory",
        )
    return replace(failure, message=message)


def _with_hint(failure: Failure, hint: str) -> Failure:
    both = hint if failure.hint is None else f"{failure.hint}; {hint}"
    return replace(failure, hint=both)
