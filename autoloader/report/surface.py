"""What is written on: a stream, as plain text or through rich.

Decides once what a stream can show: colour, cursor moves, letters beyond ASCII. What is
shown is decided elsewhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Columns where nobody tells: a pipe or a file."""

MOST_WIDTH = 100
"""Columns beyond which lines are hard to read."""

GREY, GREEN, RED, AMBER, TEAL = 243, 28, 196, 130, 30
"""Numbers of the 256 colours that a terminal's theme leaves alone: of middle lightness,
so that they are read on white and on black. Yellow and cyan are not, on white."""

STYLES = {
    "label": f"color({GREY})",
    "strong": "bold",
    "good": f"color({GREEN})",
    "bad": f"color({RED})",
    "doubt": f"color({AMBER})",
    "chosen": f"bold color({GREEN})",
    "done": f"color({TEAL})",
}
"""What is coloured, by what it says; no meaning is told by its colour alone."""

# One column each, as what they stand for.
_ASCII = str.maketrans("\u2013\u00d7…▸·━╸╺│", "-x.>,---|")


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person looks at the stream while it is written."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def moves_cursor(stream: TextIO) -> bool:
    """Return whether lines can be written over again."""
    return is_terminal(stream) and os.environ.get("TERM") not in {"dumb", "unknown"}


def is_cell(stream: TextIO) -> bool:
    """Return whether it is the output of a notebook's cell, which can be redrawn."""
    return type(stream).__module__ == "ipykernel.iostream"


def is_redrawn(stream: TextIO) -> bool:
    """Return whether what is shown can be replaced by what comes next."""
    return moves_cursor(stream) or is_cell(stream)


def shows_colour(stream: TextIO) -> bool:
    """Return whether colour is possible, and wanted (https://no-color.org)."""
    return moves_cursor(stream) and not os.environ.get("NO_COLOR")


def writable(stream: TextIO) -> TextIO:
    """Return the stream, or one over it that replaces what its encoding lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "").startswith("utf"):
        return stream
    return cast("TextIO", _Narrow(stream, encoding))


def console_on(stream: TextIO) -> Console:
    """Return a console on a stream; what is printed to it is never read as markup."""
    from rich.console import Console
    from rich.theme import Theme

    console = Console(
        file=writable(stream),
        force_terminal=is_terminal(stream),
        force_jupyter=False,  # it would write into the cell, past the stream
        color_system="auto" if shows_colour(stream) else None,
        markup=False,
        emoji=False,
        highlight=False,
        theme=Theme(STYLES),
    )
    width = console.width if is_terminal(stream) else WIDTH
    console.width = min(width, MOST_WIDTH)
    return console


class _Narrow:
    """A stream whose encoding cannot write every letter."""

    def __init__(self, stream: TextIO, encoding: str) -> None:
        self._stream = stream
        self.encoding = encoding

    def write(self, text: str) -> int:
        """Write what the encoding has; the rest as what is closest."""
        data = text.translate(_ASCII).encode(self.encoding, "backslashreplace")
        return self._stream.write(data.decode(self.encoding))

    def flush(self) -> None:
        """Pass on what is held back."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return what the stream says."""
        return is_terminal(self._stream)

    def fileno(self) -> int:
        """Return the stream's descriptor."""
        return self._stream.fileno()
