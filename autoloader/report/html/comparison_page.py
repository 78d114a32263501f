"""The page of a comparison: two recommendations, and what changed between them.

Pure: a comparison in, a page out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.report.comparison import date_words, rate_words, setting_rows
from autoloader.report.html.blocks import Cell, Facts, Notice, Page, Row, Section, Table
from autoloader.units import format_bytes

if TYPE_CHECKING:
    from autoloader.report.comparison import Comparison, Side
    from autoloader.report.html.blocks import Block


def comparison_page(found: Comparison) -> Page:
    """Return the page."""
    cautions = [said for label, said in found.sentences if label == "caution"]
    facts = tuple(item for item in found.sentences if item[0] != "caution")
    speed = dict(found.sentences)["speed"]
    sections = (
        Section(
            name="cautions",
            title="Cautions",
            blocks=tuple(Notice(code=None, message=said) for said in cautions),
        ),
        Section(
            name="changes",
            title="What changed",
            blocks=(Facts(items=facts), _table(found)),
        ),
        Section(
            name="surroundings",
            title="Data, machine, versions",
            blocks=_surroundings(found),
        ),
    )
    return Page(
        heading=f"{found.before.name} and {found.after.name}",
        about="What changed from A to B",
        state="plain",
        verdict=f"speed: {speed}",
        lead=(),
        tiles=(),
        sections=tuple(item for item in sections if item.blocks),
    )


def _table(found: Comparison) -> Table:
    sides = (found.before, found.after)
    rates = [rate_words(side.rate) for side in sides]
    rows = [
        Row(
            head=Cell(said="found"),
            cells=tuple(Cell(said=date_words(side)) for side in sides),
        ),
        Row(
            head=Cell(said="examples/s"),
            cells=tuple(Cell(said=said, beneath=beneath) for said, beneath in rates),
        ),
        Row(head=Cell(said="memory"), cells=tuple(_memory(side) for side in sides)),
    ]
    rows += [
        Row(
            head=Cell(said=name),
            cells=(
                Cell(said=before),
                Cell(said=after, look="" if before == after else "bad"),
            ),
        )
        for name, before, after in setting_rows(found)
    ]
    return Table(
        caption=f"A is {found.before.name}, B is {found.after.name}. Settings that "
        "changed stand out.",
        columns=("what", "A", "B"),
        rows=tuple(rows),
    )


def _memory(side: Side) -> Cell:
    return Cell(said="" if side.peak_bytes is None else format_bytes(side.peak_bytes))


def _surroundings(found: Comparison) -> tuple[Block, ...]:
    if not found.differences:
        said = "dataset, target, machine, versions, scope and contract are the same"
        return (Facts(items=(("surroundings", said),)),)
    return (
        Table(
            caption="Parts of dataset, target, machine, versions, scope and contract "
            "that differ; the others are the same.",
            columns=("part", "A", "B"),
            rows=tuple(
                Row(
                    head=Cell(said=item.field),
                    cells=(Cell(said=item.old), Cell(said=item.new)),
                )
                for item in found.differences
            ),
            words=frozenset({1, 2}),
        ),
    )
