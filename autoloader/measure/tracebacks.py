"""Read tracebacks out of a text: which exceptions they end with, and what led to them.

Text in, values out: groups of exceptions and chains of causes as Python prints them,
from its own process or from another's. What they mean is not decided here.
"""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARACTERS = 300
"""Longest text of an exception that is passed on."""

MOST_PARTS = 3
"""Exceptions of a group that are named."""

_HEADING = "Traceback (most recent call last):"
_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_RAISED = re.compile(r"^([\w.<>]*\w)(?:: ?(.*))?$")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.+)$')
_MARGIN = re.compile(r"^( *)(?:\| ?|\+ (?=Exception Group))")
_PART = re.compile(r"^ *\+[-+]*-+ (?:\d+|\.\.\.) -+$")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@'\"]+@")
_QUERY = re.compile(r"(\w://[^\s?'\"]+)\?[^\s'\")>]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception, as a traceback ends with it."""

    kind: str
    """Type, without its module."""
    words: str
    """First line of its text; empty where it has none."""
    place: str | None = None
    """Where in the user's code it was raised; None: not in it, or not known."""
    parts: tuple[Raised, ...] = ()
    """Exceptions of a group, in their order."""
    cause: Raised | None = None
    """What was raised before, and led to it; None: nothing."""

    def __str__(self) -> str:
        """Return type and words, and those of its parts."""
        said = f"{self.kind}: {self.words}".removesuffix(": ")
        if not self.parts:
            return said
        return f"{said} [{'; '.join(map(str, self.parts[:MOST_PARTS]))}]"

    @property
    def told(self) -> str:
        """Type and words, the place where it says nothing, and its first cause."""
        said = str(self)
        if not self.words and self.place is not None:
            said = f"{said}, without a word, in {self.place}"
        first = self.first_cause
        if first is None or str(first) in said:
            return said
        return f"{said}, which began as {first}"

    @property
    def first_cause(self) -> Raised | None:
        """The exception that all of it began with; None: it began itself."""
        found = self.cause
        while found is not None and found.cause is not None:
            found = found.cause
        return found

    def all(self) -> Iterator[Raised]:
        """Yield it, its parts, and all that led to them."""
        current: Raised | None = self
        while current is not None:
            yield current
            for part in current.parts:
                yield from part.all()
            current = current.cause


def raised_in(log: str) -> list[Raised]:
    """Return the exceptions that the tracebacks of a text end with, in its order."""
    reader = _TracebackReader()
    for line in log.splitlines():
        reader.feed(line)
    return reader.found


class _TracebackReader:
    """Reads tracebacks line by line, groups of exceptions as well."""

    def __init__(self) -> None:
        self.found: list[Raised] = []
        self._is_open = False
        self._is_linked = False
        self._is_part = False
        self._wants_words = False
        self._awaits_cause = True
        self._cause: Raised | None = None  # one that was never raised has no heading
        self._frames: list[Frame] = []

    def feed(self, line: str) -> None:
        """Read one more line."""
        margin = _MARGIN.match(line)
        bare = line if margin is None else line[margin.end() :]
        if _PART.match(line):
            self._begin()
            self._is_part = True
        elif bare.endswith(_HEADING):
            self._begin()
            self._is_part = margin is not None and len(margin[1]) > 2  # deeper in
        elif bare.strip() in _LINKS:
            self._link()
        elif self._awaits_cause and bare.strip():
            self._awaits_cause, self._cause = False, _raised(bare, [])
        elif self._is_open and bare and not bare.startswith(" "):
            self._end(bare)
        elif self._is_open:
            frame = _FRAME.match(bare)
            if frame is not None:
                self._frames.append(Frame(frame[1], frame[2], frame[3]))
        elif self._wants_words and bare.strip():
            self._add_words(bare)

    def _begin(self) -> None:
        self._is_open, self._wants_words = True, False
        self._awaits_cause, self._cause = False, None
        self._frames = []

    def _link(self) -> None:
        """Note that what comes next was led to by what came last."""
        if self._cause is not None:
            _join(self.found, self._cause, linked=self._is_linked)
        self._is_linked, self._wants_words = True, False
        self._awaits_cause, self._cause = True, None

    def _end(self, line: str) -> None:
        """Note the exception that a traceback ends with, where the line is one."""
        self._is_open = False
        raised = _raised(line, self._frames)
        linked, self._is_linked = self._is_linked, False
        if raised is None:
            return
        self._wants_words = ":" in line and not raised.words
        if self._is_part and self.found:
            parts = list(self.found[-1].parts)
            _join(parts, raised, linked=linked)
            self.found[-1] = replace(self.found[-1], parts=tuple(parts))
        else:
            _join(self.found, raised, linked=linked)

    def _add_words(self, line: str) -> None:
        """Give the last exception its words: its text began with an empty line."""
        self._wants_words = False
        last = self.found[-1]
        if last.parts:
            part = replace(last.parts[-1], words=cleaned(line))
            self.found[-1] = replace(last, parts=(*last.parts[:-1], part))
        else:
            self.found[-1] = replace(last, words=cleaned(line))


def _raised(line: str, frames: list[Frame]) -> Raised | None:
    """Return the exception that a line names; None where it names none.

    Args:
        line: type and words.
        frames: calls that led to it, outermost first.
    """
    match = _RAISED.match(line)
    if match is None:
        return None
    return Raised(
        kind=match[1].rpartition(".")[2],
        words=cleaned(match[2] or ""),
        place=place_of(frames[::-1]),
    )


def _join(found: list[Raised], raised: Raised, *, linked: bool) -> None:
    """Add an exception to others, the last of which may have led to it."""
    cause = found.pop() if linked and found else None
    found.append(replace(raised, cause=cause))


def cleaned(words: str) -> str:
    """Return words of an exception without passwords and signatures of addresses."""
    hidden = _QUERY.sub(r"\1?...", _CREDENTIALS.sub("...@", words.strip()))
    return hidden[:MOST_CHARACTERS]


class Frame(NamedTuple):
    """One call of a stack."""

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


def place_of(frames: list[Frame]) -> str | None:
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
