"""Write a page to its file: never over a file that is none of ours, never too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.files import check_writable, write_whole
from autoloader.report.html.rendering import MARKER, MARKER_WITHIN, html_of
from autoloader.report.html.study_page import MOST_BYTES, study_page

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from autoloader.report.study import StudyReport

MOST_PAGE_BYTES = 500_000
"""Size that a page stays below."""


def check_page(path: Path, sources: Iterable[Path]) -> None:
    """Raise where a page could not be written, or would replace what is no page.

    Args:
        path: the page.
        sources: what it is made of.

    Raises:
        UsageError: the place cannot be written, or holds another file.
    """
    check_writable(path)
    if not path.exists():
        return
    hint = "--out names another place"
    if any(source.exists() and source.samefile(path) for source in sources):
        msg = f"--out {path} is what the page is made of"
        raise UsageError(msg, hint=hint)
    with path.open("rb") as file:
        head = file.read(MARKER_WITHIN)
    if MARKER.encode() not in head:
        msg = f"{path} is there, and is no page of this command: it stays as it is"
        raise UsageError(msg, hint=hint)


def write_page(path: Path, text: str) -> None:
    """Write a page at once, or leave what stands there untouched.

    Raises:
        StoredFileError: the disk refuses.
    """
    write_whole(path, text)


def fitting_text(report: StudyReport, *, version: str) -> str:
    """Return the page of a study as text, with as many readings as there is room for.

    Args:
        report: of the study.
        version: of this package.
    """
    room = MOST_BYTES
    while True:
        text = html_of(study_page(report, most_bytes=room), version=version)
        if len(text.encode()) < MOST_PAGE_BYTES or not room:
            return text
        room = room // 2 if room > MOST_BYTES // 16 else 0
