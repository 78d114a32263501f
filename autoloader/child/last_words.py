"""Read what a process printed before it hung or died: its exception, where it stands.

Text of a log in, types, words and places out; child and parent share it. What PyTorch
raises from it is read in `child.failures`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autoloader.child.failures import READING_ID
from autoloader.measure.tracebacks import Frame, Raised, cleaned, place_of, raised_in

if TYPE_CHECKING:
    from pathlib import Path

SUSPECTS = "suspects.json"
"""File in a pass's log folder: what workers inherit and cannot safely use."""

IDS = "ids.json"
"""File in a log folder: the lists of ids that are read, written before the first is."""

LOST = "autoloader: this exception cannot be sent to the training process"
"""Line that stands before the traceback of an exception that a worker cannot send."""

LOG_BYTES = 1 << 20
"""End of a log that is read."""

_CONNECTION_KINDS = frozenset({"ConnectionResetError", "BrokenPipeError", "EOFError"})
_ID = re.compile(rf"^{READING_ID}(.+)$", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"]+)", line (\d+) in (.+)$')


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
    told = [item for item in raised_in(log) if not _is_echo(item)]
    return told[-1] if told else None


def lost_raised(log: str) -> Raised | None:
    """Return the exception that a worker could not send; None where there is none."""
    _before, mark, after = log.rpartition(LOST)
    found = raised_in(after) if mark else []
    return found[0] if found else None


def lost_reading(log: str) -> str:
    """Return which example a worker read when it raised what it could not send.

    Returns:
        A clause to stand behind the exception; empty where that is not known.
    """
    found = _ID.search(log.rpartition(LOST)[2]) if LOST in log else None
    return "" if found is None else f", while it read id {found[1]}"


def _is_echo(raised: Raised) -> bool:
    """Whether an exception only tells that a worker is gone, not why.

    A lost connection does, where it was not the user's code that lost it.
    """
    is_lost = raised.kind in _CONNECTION_KINDS and raised.place is None
    return is_lost or raised.words.startswith("DataLoader worker (pid")


_NATIVE = (
    re.compile(r"terminate called after throwing an instance of '([^']+)'"),
    re.compile(r"^(Fatal Python error: .+)$", re.MULTILINE),
    re.compile(r"^(thread '[^']*' (?:\(\d+\) )?panicked at .+)$", re.MULTILINE),
    re.compile(r"^(.*: Assertion [`'].+' failed\.)$", re.MULTILINE),
    re.compile(
        r"^((?:double free or corruption|free\(\): |malloc\(\): |corrupted "
        r"size vs|munmap_chunk\(\): |realloc\(\): |\*\*\* stack smashing).*)$",
        re.MULTILINE,
    ),
    re.compile(r"^(.*: symbol lookup error: .+)$", re.MULTILINE),
)


def native_words(log: str) -> str | None:
    """Return what native code said before it ended its process; None: nothing.

    Args:
        log: what a trial and its workers printed on stderr.
    """
    found = [match for form in _NATIVE for match in form.finditer(log)]
    if not found:
        return None
    last = max(found, key=lambda match: match.start())
    return cleaned(last[1].strip())


def standing_places(log: str) -> list[str]:
    """Return where threads stand in the user's code, each place once.

    Args:
        log: a log with stacks that faulthandler wrote, innermost call first.
    """
    found: dict[str, None] = {}
    frames: list[Frame] = []
    for line in [*log.splitlines(), ""]:
        match = _FRAME.match(line)
        if match is not None:
            frames.append(Frame(match[1], match[2], match[3]))
        elif frames:
            place = place_of(frames)
            if place is not None:
                found[place] = None
            frames = []
    return list(found)
