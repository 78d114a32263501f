"""Read what a process printed before it hung or died: its exception, where it stands.

Text of a log in, types, words and places out; child and parent share it. What PyTorch
raises from it is read in `child.failures`.
"""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import NamedTuple

SUSPECTS = "suspects.json"
"""File in a pass's log folder: what workers inherit and cannot safely use."""

MOST_CHARACTERS = 300
"""Longest text of an exception that is passed on."""

LOG_BYTES = 1 << 20
"""End of a log that is read."""

_TRACEBACK = "Traceback (most recent call last):\n"
_RAISED = re.compile(r"^((?:\w+\.)*\w+)(?:: (.*))?$")
_FRAME = re.compile(r'^  File "([^"]+)", line (\d+) in (.+)$')


class Raised(NamedTuple):
    """An exception, as a traceback ends with it."""

    kind: str
    """Type, without its module."""
    words: str
    """Its text; empty where it has none."""

    def __str__(self) -> str:
        """Return type and words."""
        return f"{self.kind}: {self.words}".removesuffix(": ")


def read_end(path: Path) -> str:
    """Return the end of a log; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_raised(log: str) -> Raised | None:
    """Return the exception that the last traceback of a log ends with.

    Args:
        log: what a trial and its workers printed on stderr.
    """
    found = [_ending(part) for part in log.split(_TRACEBACK)[1:]]
    told = [item for item in found if item is not None and not _is_echo(item)]
    return told[-1] if told else None


def _ending(traceback: str) -> Raised | None:
    """Return the exception that a traceback ends with; None where it is cut short."""
    for line in traceback.splitlines():
        if not line or line.startswith(" "):
            continue
        match = _RAISED.match(line)
        if match is None:
            return None
        words = (match[2] or "").strip()[:MOST_CHARACTERS]
        return Raised(match[1].rpartition(".")[2], words)
    return None


def _is_echo(raised: Raised) -> bool:
    """Whether an exception only tells that a worker is gone, not why."""
    return raised.words.startswith("DataLoader worker (pid")


def standing_places(log: str) -> list[str]:
    """Return where threads stand in the user's code, each place once.

    Args:
        log: a log with stacks that faulthandler wrote, innermost call first.
    """
    found: dict[str, None] = {}
    frames: list[_Frame] = []
    for line in [*log.splitlines(), ""]:
        match = _FRAME.match(line)
        if match is not None:
            frames.append(_Frame(match[1], match[2], match[3]))
        elif frames:
            place = _place_of(frames)
            if place is not None:
                found[place] = None
            frames = []
    return list(found)


class _Frame(NamedTuple):
    file: str
    line: str
    function: str

    @property
    def library(self) -> str | None:
        """The installed package it belongs to; `python` for Python's own."""
        paths = sysconfig.get_paths()
        for name in ("purelib", "platlib"):
            if self.file.startswith(f"{paths[name]}/"):
                return self.file[len(paths[name]) + 1 :].partition("/")[0]
        is_python = self.file.startswith(("<", f"{paths['stdlib']}/"))
        return "python" if is_python else None


def _place_of(frames: list[_Frame]) -> str | None:
    """Return the innermost frame of the user's, and the library that it called."""
    library: str | None = None
    for frame in frames:
        if "/autoloader/child/" in frame.file:
            return None
        found = frame.library
        if found is None:
            inside = f", in {library}" if library not in {None, "python"} else ""
            return f"{frame.function} ({Path(frame.file).name}:{frame.line}){inside}"
        library = found if library in {None, "python"} else library
    return None
