"""What `autoloader report` says in a terminal: of a page, and of a comparison.

Pure: values in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.report.comparison import date_words, rate_words, setting_rows
from autoloader.report.table import cautions_list, configs_table, labelled, verdict_text
from autoloader.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import RenderableType

    from autoloader.report.comparison import Comparison, Side
    from autoloader.report.study import StudyReport


def draw_study(report: StudyReport, *, page: Path, size: int) -> RenderableType:
    """Return the verdict, the configs, and where the page is.

    Args:
        report: of the study.
        page: that was written.
        size: of it, in bytes.
    """
    parts: list[RenderableType] = [verdict_text(report.verdict, report.state)]
    if report.cautions:
        parts.insert(0, cautions_list(report.cautions))
    if report.rows:
        parts.append(configs_table(report.rows))
    facts = (
        ("speed", report.bound),
        *(("missing", said) for said in report.missing),
        ("page", f"{page} ({format_bytes(size)})"),
        ("next", report.use),
    )
    parts.append(_facts((label, said) for label, said in facts if said))
    return _parted(parts)


def draw_comparison(found: Comparison, *, page: Path | None) -> RenderableType:
    """Return what changed: a table of both, then sentences.

    Args:
        found: the comparison.
        page: that was written; None: none was.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("", overflow="fold")
    for heading in ("A", "B"):
        table.add_column(heading, justify="right", overflow="fold")
    sides = (found.before, found.after)
    table.add_row("file", *(Text(clean(side.name), style="strong") for side in sides))
    table.add_row("found", *(clean(date_words(side) or "-") for side in sides))
    table.add_row("target met", *("yes" if side.met else "no" for side in sides))
    table.add_row("examples/s", *(_rate(side) for side in sides))
    table.add_row("memory", *(_memory(side) for side in sides))
    for name, before, after in setting_rows(found):
        style = "" if before == after else "doubt"
        table.add_row(name, Text(before), Text(after, style=style))
    said = list(found.sentences)
    if page is not None:
        said.append(("page", str(page)))
    return _parted([table, _facts(said)])


def _facts(items: Iterable[tuple[str, str]]) -> RenderableType:
    return labelled(
        (
            Text(label, style="doubt" if label == "caution" else "label"),
            Text(clean(said)),
        )
        for label, said in items
    )


def _parted(parts: Iterable[RenderableType]) -> Group:
    return Group(*(item for part in parts for item in (part, Text(""))))


def _rate(side: Side) -> Text:
    said, beneath = rate_words(side.rate)
    return Text(said or "-").append(f"\n{beneath}" if beneath else "", style="label")


def _memory(side: Side) -> Text:
    return Text("-" if side.peak_bytes is None else format_bytes(side.peak_bytes))
