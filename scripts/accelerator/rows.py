"""Rows of the check: what the package says, and what plain PyTorch says of the same.

Values and words only; nothing is measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 0.15
"""How far two rates may lie apart: processes that ran one after the other."""

TIME = 0.25
"""How far the times of copies may lie apart."""

HIDDEN = 0.15
"""How far hidden shares may lie apart, as a difference."""


class Fate(StrEnum):
    """What came of a row."""

    AGREES = "agrees"
    DIFFERS = "differs"
    TOLD = "told"
    """There is nothing to hold it against, or not on this machine."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that was checked."""

    name: str
    ours: str
    """What the package says."""
    plain: str
    """What plain PyTorch code, or the driver's own tool, says."""
    fate: Fate


def close(
    name: str,
    ours: float | None,
    plain: float | None,
    *,
    within: float,
    unit: str = "",
    is_judged: bool = True,
) -> Row:
    """Return a row of two figures that may differ by a part of the larger one.

    Args:
        name: what they are.
        ours: the package's; None: it tells none.
        plain: the other one; None: it tells none.
        within: part by which they may differ.
        unit: written behind them.
        is_judged: whether a difference counts; a busy machine without a device proves
            nothing of speed.
    """
    said = tuple("-" if x is None else f"{x:,.4g}{unit}" for x in (ours, plain))
    if ours is None and plain is None:
        return Row(name=name, ours="-", plain="-", fate=Fate.NOT_RUN)
    fate = Fate.TOLD
    if is_judged:
        agrees = (
            ours is not None
            and plain is not None
            and abs(ours - plain) <= within * max(abs(ours), abs(plain))
        )
        fate = Fate.AGREES if agrees else Fate.DIFFERS
    return Row(name=name, ours=said[0], plain=said[1], fate=fate)


def same(name: str, ours: object, plain: object) -> Row:
    """Return a row of two answers that must be equal."""
    fate = Fate.AGREES if ours == plain else Fate.DIFFERS
    return Row(name=name, ours=f"{ours}", plain=f"{plain}", fate=fate)


def holds(name: str, ours: object, rule: str, *, is_so: bool) -> Row:
    """Return a row of an answer that must obey a rule."""
    fate = Fate.AGREES if is_so else Fate.DIFFERS
    return Row(name=name, ours=f"{ours}", plain=rule, fate=fate)


def told(name: str, ours: object) -> Row:
    """Return a row of an answer that nothing is held against."""
    return Row(name=name, ours=f"{ours}", plain="-", fate=Fate.TOLD)


def not_run(name: str, why: str) -> Row:
    """Return a row of what could not be checked here."""
    return Row(name=name, ours=why, plain="-", fate=Fate.NOT_RUN)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text, in columns; Markdown, so that it can go into a page."""
    heads = ("checked", "autoloader", "plain", "verdict")
    cells = [heads, *((row.name, row.ours, row.plain, row.fate.value) for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(heads))]
    lines = [
        "| "
        + " | ".join(
            f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)
        )
        + " |"
        for line in cells
    ]
    ruler = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], ruler, *lines[1:]])


def verdict(rows: Sequence[Row]) -> tuple[str, int]:
    """Return one sentence on all rows, and the exit code."""
    counts = {fate: sum(row.fate is fate for row in rows) for fate in Fate}
    parts = [f"{count} {fate.value}" for fate, count in counts.items() if count]
    said = ", ".join(parts)
    if counts[Fate.DIFFERS]:
        names = "; ".join(row.name for row in rows if row.fate is Fate.DIFFERS)
        return f"DIFFERS: {names} ({said})", 1
    if not counts[Fate.AGREES]:
        return f"NOTHING WAS CHECKED ({said})", 1
    return f"agrees ({said})", 0
