"""What terminals show of a made-up study, as text: the golden files of the views.

    python -m tests.report.captures

writes them anew, into `tests/report/captures`. Look at what changed (`git diff`) before
you commit it.
"""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.report.cleaning import clean
from autoloader.report.console import print_report
from autoloader.report.data import TuneReport
from autoloader.report.live import LiveView
from autoloader.report.plain import PlainView
from tests.report.fakes import MACHINE, Terminal
from tests.report.story import SPEC, TARGET, Hand, ending, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "captures"

SIZES = ((80, 24), (200, 50))
"""Columns and rows of the terminals."""


def captures() -> dict[str, str]:
    """Return every capture, by the name of its file."""
    found = {"lines.txt": told_in_lines()}
    for columns, rows in SIZES:
        with terminal_of(columns, rows):
            shown = {**moments(), "end": printed(Terminal())}
        for name, text in shown.items():
            found[f"{name}-{columns}x{rows}.txt"] = text
    return found


@contextmanager
def terminal_of(columns: int, rows: int, **others: str) -> Iterator[None]:
    """Let terminals be so large meanwhile.

    Args:
        columns: letters a line.
        rows: lines.
        others: variables of the environment.
    """
    before = dict(os.environ)
    os.environ.pop("NO_COLOR", None)
    os.environ.update(
        {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(rows)}
    )
    os.environ.update(others)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def moments() -> dict[str, str]:
    """Return the live region at each moment of the story, as it stands on a screen."""
    stream, clock = Terminal(), Hand()
    shown: dict[str, str] = {}
    view = LiveView(stream, dataset=SPEC, target=TARGET, machine=MACHINE, clock=clock)
    with view:
        for name in tell(view, clock):
            shown[f"live-{name}"] = _on_screen(stream.getvalue())
    return shown


def printed(stream: io.StringIO) -> str:
    """Return the end of the study as it is printed, without colours."""
    print_report(TuneReport.of(ending()), stream)
    lines = [clean(f"|{line}")[1:].rstrip() for line in stream.getvalue().split("\n")]
    return "\n".join(lines)


def told_in_lines() -> str:
    """Return what a pipe is told."""
    stream, clock = io.StringIO(), Hand()
    view = PlainView(stream, dataset=SPEC, target=TARGET, machine=MACHINE)
    with view:
        for _moment in tell(view, clock):
            pass
    return stream.getvalue()


def _on_screen(written: str) -> str:
    """Return the region as it was drawn last: what follows the last erased line."""
    drawn = written.rpartition("\x1b[2K")[2]
    lines = [clean(f"|{line}")[1:].rstrip() for line in drawn.split("\n")]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write all captures anew, and remove those that are none any more."""
    FOLDER.mkdir(exist_ok=True)
    found = captures()
    for path in FOLDER.glob("*.txt"):
        if path.name not in found:
            path.unlink()
    for name, text in found.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
