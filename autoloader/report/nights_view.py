"""The nights of a recommendation, laid out for a terminal, a pipe or a file.

Pure: a report in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.report.night import GOOD
from autoloader.report.nights import SHORT, changed_settings, day
from autoloader.report.table import labelled
from autoloader.units import format_rate

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from autoloader.report.nights import Nights

MOST_ROWS = 14
"""Nights in the terminal, the last ones; the page has more, `--json` all."""


def draw_nights(found: Nights, *, page: Path | None) -> RenderableType:
    """Return the last nights as a table, then what is said of all.

    Args:
        found: the report.
        page: that was written; None: none was.
    """
    said = [*found.sentences]
    if page is not None:
        said.append(("page", str(page)))
    facts = labelled(
        (Text(label, style="label"), Text(clean(words))) for label, words in said
    )
    style = "good" if found.last.verdict in GOOD else "doubt"
    first = Text(clean(f"{found.verdict}."), style=style)
    return Group(first, Text(""), _table(found), Text(""), facts, Text(""))


def _table(found: Nights) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("night", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("examples/s", justify="right", no_wrap=True)
    table.add_column("vs default", justify="right", no_wrap=True)
    table.add_column("what was another", overflow="fold")
    nights = found.nights
    for number in range(max(0, len(nights) - MOST_ROWS), len(nights)):
        night = nights[number]
        changes = [change.sentence for change in night.changes]
        settings = changed_settings(nights, number)
        table.add_row(
            clean(day(night)),
            Text(SHORT[night.verdict], style="" if night.verdict in GOOD else "doubt"),
            "-" if night.rate is None else format_rate(night.rate),
            "-" if night.vs_default is None else f"{night.vs_default:.2f}\u00d7",
            clean("; ".join([*([settings] if settings else []), *changes])),
        )
    return table
