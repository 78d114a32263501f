"""Lines at the bottom of a terminal that are written over again, seldom.

A measuring runs meanwhile: the region is redrawn when something happened, and for mere
progress twice a second at most. No thread draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TextIO

from rich.live import Live

from autoloader.report.redrawn import Redrawn
from autoloader.report.surface import console_on, is_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, RenderableType

    from autoloader.report.cell import CellRegion

LEAST_S = 0.5
"""Time between two redraws for mere progress."""


class Region(Redrawn):
    """A context: inside it the region stands, afterwards it is gone without a trace.

    Args:
        console: a terminal.
        draw: what the region shows now.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        console: Console,
        draw: Callable[[], RenderableType],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(clock, LEAST_S)
        self._console = console
        self._live = Live(
            get_renderable=draw,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        """Draw the region."""
        self._live.start(refresh=True)
        self._drawn_at = self._clock()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Take the region away."""
        self._live.stop()

    def redraw(self) -> None:
        """Draw the region now."""
        self._live.refresh()
        self._drawn_at = self._clock()

    def say(self, words: RenderableType) -> None:
        """Write words above the region, where they stay."""
        self._console.print(words)


def region_on(
    stream: TextIO,
    draw: Callable[[], RenderableType],
    clock: Callable[[], float],
    *,
    title: str,
) -> Region | CellRegion:
    """Return the region that a stream can show.

    Args:
        stream: a terminal, or the output of a notebook's cell.
        draw: what the region shows now.
        clock: seconds, monotonic.
        title: what goes on; a cell keeps it in the end.
    """
    if is_cell(stream):
        from autoloader.report.cell import CellRegion

        return CellRegion(draw, clock, title)
    return Region(console_on(stream), draw, clock)


class Framed:
    """A view whose region stands while its work goes on."""

    _region: Region | CellRegion

    def __enter__(self) -> Self:
        """Draw the region for the first time."""
        self._region.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """Take the region away."""
        self._region.__exit__(*exc)
