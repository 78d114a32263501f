"""Remember which files were being written when a trial was ended: the next may fail.

A cache that is half written looks like one that is there. Paths only, in a file beside
the trials' logs; what they are to a later failure is said in `trial.explaining`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.measure.proc import processes_of_session
from autoloader.measure.written import open_for_writing
from autoloader.units import in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNFINISHED = "unfinished.jsonl"
"""File in the folder of the trials: a path a line."""

MOST_FILES = 1000
"""Paths that are remembered: the first ones, those after them are not."""

MOST_NAMED = 3
"""Paths that are named beside one failure."""


def note_unfinished(session_id: int, folder: Path, *, own: Sequence[str]) -> None:
    """Remember what a session is writing; to be called right before it is ended.

    Args:
        session_id: of the trial.
        folder: of all trials' logs.
        own: further folders whose files are ours: the TMPDIR of the trials, the study.
    """
    pids = [item.pid for item in processes_of_session(session_id)]
    found = open_for_writing(pids, own=(str(folder.resolve()), *own))
    _append(folder / UNFINISHED, found)


def read_unfinished(folder: Path) -> tuple[str, ...]:
    """Return the files that were being written when an earlier trial was ended.

    A line that is torn, or is none of ours, is passed over.
    """
    try:
        with (folder / UNFINISHED).open(encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return ()
    found: dict[str, None] = {}
    for line in lines[:MOST_FILES]:
        with contextlib.suppress(ValueError):
            path = json.loads(line)
            if isinstance(path, str) and path.startswith("/"):
                found[path] = None
    return tuple(found)


def named_unfinished(paths: Iterable[str], text: str) -> str | None:
    """Return a sentence on those of the files that a text names; None: it names none.

    Args:
        paths: files that were being written when an earlier trial was ended.
        text: what a failure says.
    """
    named = [path for path in paths if _names(text, path)]
    if not named:
        return None
    which = "this file was" if len(named) == 1 else "these files were"
    return (
        f"{which} being written when an earlier trial was ended: "
        f"{in_short(named, MOST_NAMED)}; remove what is half written"
    )


def _names(text: str, path: str) -> bool:
    """Whether a text names a file: by its path, or by its name as a word of its own."""
    if path in text:
        return True
    name = re.escape(Path(path).name)
    return re.search(rf"(?<![\w.-]){name}(?![\w-]|\.\w)", text) is not None


def _append(path: Path, found: Iterable[str]) -> None:
    known = set(read_unfinished(path.parent))
    new = [item for item in found if item not in known]
    new = new[: max(0, MOST_FILES - len(known))]
    if not new:
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    lines = "".join(f"{json.dumps(item)}\n" for item in new)
    with contextlib.suppress(OSError):  # a full disk must not hide why a trial ended
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, lines.encode())
        finally:
            os.close(file)
