"""The view of a check for terminals and notebooks: one line, redrawn as it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.report.region import Framed, region_on

if TYPE_CHECKING:
    from collections.abc import Callable


class LiveStatus(Framed):
    """Shows the running step in one line, which is gone in the end.

    Args:
        stream: a terminal, or the output of a notebook's cell.
        clock: seconds, monotonic.
        doing: what runs, as a word before its step.
    """

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        *,
        doing: str = "checking",
    ) -> None:
        self._doing = doing
        self._phase = ""
        self._stage = ""
        self._region = region_on(stream, self._draw, clock, title=doing)

    def on_phase(self, text: str) -> None:
        """Show what is checked now."""
        self._phase, self._stage = clean(text), ""
        self._region.redraw()

    def on_tick(self, stage: str, done: int) -> None:
        """Show where the running pass stands, unless that was shown a moment ago."""
        self._stage = f"  {clean(stage)}" + (f", {done:,} done" if done else "")
        self._region.tick()

    def _draw(self) -> Text:
        line = Text(
            f"{self._doing}  ", style="label", no_wrap=True, overflow="ellipsis"
        )
        line.append(self._phase, style="default")
        return line.append(self._stage)
