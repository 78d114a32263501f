"""Charts of nights: how fast the stored settings were, and what they gained.

Pure: nights in, drawings out.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from autoloader.report.html.frame import Area, Axis, Chart, axes
from autoloader.report.html.marks import cross
from autoloader.report.html.plots import HEADROOM
from autoloader.report.html.scales import Linear, ticks, whole_ticks
from autoloader.report.html.svg import Element, element, line, polyline
from autoloader.report.nights import SHORT, day
from autoloader.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.report.html.svg import Point
    from autoloader.values.night import Night, NightVerdict

_MOST_DATES = 8
"""Nights that are labelled with their date."""

_TUNED = frozenset({"renewed", "rewritten", "proposed", "called_for"})

LEGEND = (
    "A circle is a night on which the recommendation held, a diamond one that tuned "
    "again or called for it, a square an undecided one, a cross one on which something "
    "failed; at the bottom stand those on which nothing was read. A line joins nights "
    "that judged the same file."
)


def rate_by_night(nights: Sequence[Night]) -> Chart | None:
    """Return the rates of the stored settings; None where none was read."""
    most = max((night.rate or 0.0 for night in nights), default=0.0)
    if not most:
        return None
    return _chart(
        nights,
        lambda night: night.rate,
        name="plot-rate",
        title="Rate by night",
        axis="examples/s of the stored settings",
        ends=(0.0, most * HEADROOM),
        level=None,
        words=lambda value: f"at {format_rate(value)} examples/s",
    )


def gain_by_night(nights: Sequence[Night]) -> Chart | None:
    """Return the gains over PyTorch's default; None where none was read."""
    values = [night.vs_default for night in nights if night.vs_default is not None]
    if not values:
        return None
    low, high = min([*values, 1.0]), max([*values, 1.0])
    margin = 0.06 * (high - low) or 0.05
    return _chart(
        nights,
        lambda night: night.vs_default,
        name="plot-gain",
        title="Gain over PyTorch's default by night",
        axis="times as fast as PyTorch's default, in the same rounds",
        ends=(max(low - margin, 0.0), high + margin),
        level=1.0,
        words=lambda value: f"{value:.2f} times as fast as PyTorch's default",
    )


def _chart(
    nights: Sequence[Night],
    value: Callable[[Night], float | None],
    *,
    name: str,
    title: str,
    axis: str,
    ends: tuple[float, float],
    level: float | None,
    words: Callable[[float], str],
) -> Chart:
    area = Area()
    last = len(nights)
    across = Linear(low=0.5, high=last + 0.5, start=area.left, end=area.right)
    up = Linear(low=ends[0], high=ends[1], start=area.bottom, end=area.top)
    points = [
        (across(number), up.start if found is None else up(found))
        for number, found in enumerate(map(value, nights), start=1)
    ]
    read = [found for night in nights if (found := value(night)) is not None]
    parts = [
        axes(
            area,
            Axis(scale=across, title="night", labels=_dates(nights)),
            Axis(
                scale=up,
                title=axis,
                labels=tuple((tick, f"{tick:,.10g}") for tick in ticks(*ends)),
            ),
        ),
        *_level(level, area, up),
        *_lines(nights, value, points),
        *(
            _mark(night, point, value(night), words)
            for night, point in zip(nights, points, strict=True)
        ),
    ]
    return Chart(
        name=name,
        title=title,
        description=f"{len(read)} of {last} nights were read; the first of them was "
        f"{words(read[0])}, the last {words(read[-1])}.",
        parts=tuple(parts),
    )


def _dates(nights: Sequence[Night]) -> tuple[tuple[float, str], ...]:
    places = whole_ticks(1, len(nights), _MOST_DATES)
    return tuple((float(place), day(nights[place - 1])) for place in places if place)


def _level(level: float | None, area: Area, up: Linear) -> list[Element]:
    if level is None:
        return []
    return [line((area.left, up(level)), (area.right, up(level)), "base default")]


def _lines(
    nights: Sequence[Night],
    value: Callable[[Night], float | None],
    points: Sequence[Point],
) -> list[Element]:
    """Return a line through the nights of each file, and where a new one begins."""
    read = [
        (night.file_date, point)
        for night, point in zip(nights, points, strict=True)
        if value(night) is not None
    ]
    return [
        polyline([point for _, point in of_one], "best")
        for _, found in groupby(read, key=lambda item: item[0])
        if len(of_one := list(found)) > 1
    ]


def _mark(
    night: Night,
    place: Point,
    value: float | None,
    words: Callable[[float], str],
) -> Element:
    told = f"{day(night)}: {SHORT[night.verdict]}"
    if value is not None:
        told += f", {words(value)}"
    shape, kind = _shape(night.verdict, place)
    return element("g", element("title", told), shape, class_=f"mark {kind}")


def _shape(verdict: NightVerdict, place: Point) -> tuple[Element, str]:
    x, y = place
    if verdict == "holds":
        return element("circle", cx=x, cy=y, r=4.5), "chosen"
    if verdict in _TUNED:
        corners = f"M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7Z"
        return element("path", d=corners), "fastest"
    if verdict == "undecided":
        return element("rect", x=x - 4.5, y=y - 4.5, width=9, height=9), "default"
    return cross(x, y), "lost"
