"""Cells of tables: quantities in words, an interval beneath where there is one.

Pure: values in, cells and words out. Which table they stand in is the pages'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.report.html.blocks import Cell
from autoloader.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.measure.intervals import Interval

TO, TIMES = "\u2013", "\u00d7"


def interval_cell(interval: Interval | None, words: Callable[[float], str]) -> Cell:
    """Return a median, with its interval beneath where there is one."""
    if interval is None:
        return Cell()
    beneath = ""
    if interval.low is not None and interval.high is not None:
        beneath = f"{words(interval.low)}{TO}{words(interval.high)}"
    return Cell(said=words(interval.median), beneath=beneath)


def multiple(ratio: float) -> str:
    """Return a ratio with as many digits as it carries."""
    digits = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:,.{digits}f}{TIMES}"


def memory_cell(peak_bytes: float | None, *, was_full: bool) -> Cell:
    """Return memory; a lower bound where the queue was not seen full."""
    if peak_bytes is None:
        return Cell()
    return Cell(said=format_bytes(peak_bytes), beneath="" if was_full else "or more")
