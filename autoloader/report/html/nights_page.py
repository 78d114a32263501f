"""The page of a history: every night of a recommendation, drawn and listed.

Pure: a report in, a page out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.report.html.blocks import (
    Cell,
    Facts,
    Figure,
    Notice,
    Page,
    Paragraph,
    Row,
    Section,
    Table,
    Tile,
)
from autoloader.report.html.cells import multiple
from autoloader.report.html.night_plots import LEGEND, gain_by_night, rate_by_night
from autoloader.report.night import GOOD, drift_words
from autoloader.report.nights import SHORT, changed_settings, day
from autoloader.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.report.html.blocks import Block
    from autoloader.report.nights import Nights
    from autoloader.values.night import Night

MOST_NIGHTS = 400
"""Nights on a page, the last ones: it stays small."""

_STATES = {"undecided": "undecided", "proposed": "plain", "rewritten": "plain"}
"""How other verdicts than the good ones look; the rest as a target that is not met."""


def nights_page(found: Nights) -> Page:
    """Return the page."""
    skipped = max(0, len(found.nights) - MOST_NIGHTS)
    shown = found.nights[skipped:]
    last = found.last
    state = "met" if last.verdict in GOOD else _STATES.get(last.verdict, "not_met")
    charts = [
        chart for draw in (rate_by_night, gain_by_night) if (chart := draw(shown))
    ]
    sections = (
        Section(
            name="cautions",
            title="Cautions",
            blocks=tuple(
                Notice(code="drift", message=drift_words(drift))
                for drift in found.drifts
            ),
        ),
        Section(
            name="courses",
            title="Night by night",
            blocks=(
                *(Figure(chart=chart, caption=chart.description) for chart in charts),
                *([Paragraph(said=LEGEND, look="hint")] if charts else []),
            ),
        ),
        Section(
            name="facts",
            title="All nights",
            blocks=(
                Facts(items=found.sentences),
                _table(found, skipped),
            ),
        ),
    )
    return Page(
        heading=found.name,
        about="The nights of a recommendation",
        state=state,
        verdict=found.verdict,
        lead=(f"the last night began {last.at}",),
        tiles=tuple(_tiles(found.nights)),
        sections=tuple(item for item in sections if item.blocks),
    )


def _tiles(nights: Sequence[Night]) -> list[Tile]:
    last = nights[-1]
    tiles = [
        Tile(label="nights", said=f"{len(nights):,}", beneath=f"since {day(nights[0])}")
    ]
    if last.rate is not None:
        tiles.append(Tile(label="examples/s, last night", said=format_rate(last.rate)))
    if last.vs_default is not None:
        tiles.append(
            Tile(label="vs default, last night", said=multiple(last.vs_default))
        )
    return tiles


def _table(found: Nights, skipped: int) -> Block:
    nights = found.nights
    which = f"The last {MOST_NIGHTS} of {len(nights):,} nights" if skipped else "Nights"
    return Table(
        caption=f"{which}, the last one first. What was another: settings that the "
        "night wrote, and what differed from when the file was written.",
        columns=(
            "night",
            "verdict",
            "examples/s",
            "vs default",
            "why",
            "what was another",
        ),
        rows=tuple(
            _row(nights, number) for number in reversed(range(skipped, len(nights)))
        ),
        words=frozenset({1, 4, 5}),
    )


def _row(nights: Sequence[Night], number: int) -> Row:
    night = nights[number]
    settings = changed_settings(nights, number)
    others = [
        *([settings] if settings else []),
        *(item.sentence for item in night.changes),
    ]
    return Row(
        head=Cell(said=day(night), beneath=night.at.partition("T")[2]),
        cells=(
            Cell(
                said=SHORT[night.verdict],
                beneath=f"exit {night.exit_code}",
                look="" if night.verdict in GOOD else "bad",
            ),
            Cell(said="" if night.rate is None else format_rate(night.rate)),
            Cell(said="" if night.vs_default is None else multiple(night.vs_default)),
            Cell(said=night.reason),
            Cell(said="; ".join(others)),
        ),
    )
