"""One output of a notebook's cell that is drawn anew, seldom.

It is what `region` is on a terminal, without cursor moves and colours: the notebook
replaces what is shown. Nothing is known here of what is drawn.
"""

from __future__ import annotations

import importlib
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from rich.console import Group

from autoloader.report.redrawn import Redrawn
from autoloader.report.surface import console_on
from autoloader.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

LEAST_S = 1.0
"""Time between two redraws for mere progress: each is a message to a browser."""


class CellRegion(Redrawn):
    """A context: inside it the region stands, afterwards one line says how it ended.

    Args:
        draw: what the region shows now.
        clock: seconds, monotonic.
        title: what goes on, for that line.
    """

    def __init__(
        self,
        draw: Callable[[], RenderableType],
        clock: Callable[[], float],
        title: str,
    ) -> None:
        super().__init__(clock, LEAST_S)
        self._draw, self._title = draw, title
        self._said: list[RenderableType] = []
        self._begun_at = clock()
        # there is a cell, so IPython is loaded
        self._publish: Any = importlib.import_module("IPython.display")
        self._id = uuid4().hex

    def __enter__(self) -> Self:
        """Draw the region."""
        self._begun_at = self._clock()
        self._show(self._draw(), is_new=True)
        return self

    def __exit__(self, kind: object, *_exc: object) -> None:
        """Leave what was said, and how long it took."""
        how = "took" if kind is None else "stopped after"
        self._show(
            f"{self._title}: {how} {format_seconds(self._clock() - self._begun_at)}"
        )

    def redraw(self) -> None:
        """Draw the region now."""
        self._show(self._draw())

    def say(self, words: RenderableType) -> None:
        """Show words above the region, where they stay."""
        self._said.append(words)
        self.redraw()

    def _show(self, drawing: RenderableType, *, is_new: bool = False) -> None:
        text = _plain(Group(*self._said, drawing))
        self._publish.publish_display_data(
            {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"},
            transient={"display_id": self._id},
            update=not is_new,
        )
        self._drawn_at = self._clock()


def _plain(drawing: RenderableType) -> str:
    """Return lines without colours, and without the spaces that fill them up."""
    stream = StringIO()
    console_on(stream).print(drawing)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")
