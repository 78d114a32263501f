"""Charts of what happened one after the other: rounds of the race, waits.

Pure: figures of a study in, drawings out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.report.html.frame import WIDTH, Area, Axis, Chart, axes
from autoloader.report.html.marks import label_of, labels_of, look_of
from autoloader.report.html.scales import (
    Linear,
    Log,
    log_ticks,
    spread,
    ticks,
    whole_ticks,
)
from autoloader.report.html.svg import (
    Element,
    element,
    group,
    line,
    polyline,
    stairs,
    text,
)
from autoloader.units import LEAST_WAIT_S, format_wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.report.rows import RowName
    from autoloader.report.study_figures import (
        RaceFigures,
        RaceLine,
        WaitCurve,
    )

MOST_STEPS = 200
"""Points of a curve of waits, however many waits there are."""

MOST_LINES = 6
"""Lines of a race that are told apart by their look; further ones look alike."""

_GAP = 15.0
"""Distance of labels at the ends of lines."""

_MOST_LETTERS = 28
"""Letters of a label beside a chart; longer ones are cut, and stand in the table."""


def race_by_rounds(race: RaceFigures | None) -> Chart | None:
    """Return each config's speed as a multiple of the base's, round by round.

    None where there was no race of two rounds, or nothing to compare in it.
    """
    if race is None or len(race.lines) < 2 or len(race.rounds) < 2:
        return None
    area = Area(right=WIDTH - 216.0)
    base = next(item for item in race.lines if item.config == race.base)
    lines = [(item, _paired(item, base)) for item in race.lines if item is not base]
    lines = [(item, found) for item, found in lines if found]
    ratios = [ratio for _, found in lines for _, ratio in found]
    if not ratios:
        return None
    low, high = min([*ratios, 1.0]), max([*ratios, 1.0])
    margin = 0.06 * (high - low) or 0.05
    last = len(race.rounds)
    across = Linear(low=0.7, high=last + 0.3, start=area.left, end=area.right)
    up = Linear(
        low=max(low - margin, 0.0), high=high + margin, start=area.bottom, end=area.top
    )
    rounds = tuple((float(n), str(n)) for n in whole_ticks(1, last))
    drawn = [
        _race_line(number, item, found, across, up)
        for number, (item, found) in enumerate(lines)
    ]
    words = label_of(base.config, base.names)
    parts = [
        axes(
            area,
            Axis(scale=across, title="round", labels=rounds),
            Axis(
                scale=up,
                title=f"speed, as a multiple of {_short(words)} in the same round",
                labels=tuple(
                    (tick, f"{tick:,.10g}") for tick in ticks(up.low, up.high)
                ),
            ),
        ),
        line(
            (area.left, up(1.0)), (area.right, up(1.0)), f"base {look_of(base.names)}"
        ),
        *drawn,
        *_ends(lines, base, area, up),
    ]
    return Chart(
        name="plot-race",
        title="The race, round by round",
        description=_race_said(race, base),
        parts=tuple(parts),
    )


def wait_shares(curves: Sequence[WaitCurve]) -> Chart | None:
    """Return which share of the waits is no longer than so long; None: no waits."""
    if not curves:
        return None
    area = Area(right=WIDTH - 190.0)
    longest = max(max(curve.gaps_s[-1], 10 * LEAST_WAIT_S) for curve in curves)
    shortest = min(max(curve.quantile(0.02), LEAST_WAIT_S) for curve in curves)
    across = Log(
        low=min(shortest, longest / 10), high=longest, start=area.left, end=area.right
    )
    up = Linear(low=0.0, high=1.0, start=area.bottom, end=area.top)
    drawn = []
    for curve in curves:
        points = [(area.left, up(0.0))]
        points += [
            (across(max(gap, LEAST_WAIT_S)), up(share)) for gap, share in _steps(curve)
        ]
        drawn.append(
            group([polyline(stairs(points), "curve")], f"series {look_of(curve.names)}")
        )
    parts = [
        axes(
            area,
            Axis(
                scale=across,
                title="wait for a batch",
                labels=tuple(
                    (at, format_wait(at)) for at in log_ticks(across.low, longest)
                ),
            ),
            Axis(
                scale=up,
                title="share of the waits that are no longer",
                labels=tuple((at, f"{at * 100:g} %") for at in (0, 0.25, 0.5, 0.75, 1)),
            ),
        ),
        *drawn,
        *_wait_labels(curves, across, up, area),
    ]
    said = "; ".join(
        f"{label_of(curve.config, curve.names)}: half within "
        f"{format_wait(curve.quantile(0.5))}, 99 % within "
        f"{format_wait(curve.quantile(0.99))}"
        for curve in curves
    )
    return Chart(
        name="plot-waits",
        title="Waits for batches",
        description=f"{said}.",
        parts=tuple(parts),
    )


def _paired(item: RaceLine, base: RaceLine) -> list[tuple[int, float]]:
    """Return the rounds, from 1, that both ran in, with the ratio of their rates."""
    return [
        (number, rate / other)
        for number, (rate, other) in enumerate(
            zip(item.rates, base.rates, strict=True), start=1
        )
        if rate and other
    ]


def _race_line(
    number: int,
    item: RaceLine,
    found: Sequence[tuple[int, float]],
    across: Linear,
    up: Linear,
) -> Element:
    points = [(across(at), up(ratio)) for at, ratio in found]
    told = label_of(item.config, item.names)
    marks = [
        element(
            "circle",
            element("title", f"{told}, round {at}: {ratio:.2f}"),
            cx=x,
            cy=y,
            r=3.5,
        )
        for (at, ratio), (x, y) in zip(found, points, strict=True)
    ]
    return group(
        [polyline(points, "curve"), *marks], f"series {_series(number, item.names)}"
    )


def _series(number: int, names: Sequence[RowName]) -> str:
    """Return the look of a line: that of its name, else by its place."""
    return look_of(names) if names else f"s{min(number, MOST_LINES - 1)}"


def _ends(
    lines: Sequence[tuple[RaceLine, Sequence[tuple[int, float]]]],
    base: RaceLine,
    area: Area,
    up: Linear,
) -> list[Element]:
    """Return the names of the lines, beside their ends and apart from each other."""
    raced = [base, *(item for item, _ in lines)]
    words, *others = labels_of([(item.config, item.names) for item in raced])
    wanted = [(up(1.0), words, f"words {look_of(base.names)}")]
    wanted += [
        (up(found[-1][1]), said, f"words {_series(number, item.names)}")
        for number, (said, (item, found)) in enumerate(zip(others, lines, strict=True))
    ]
    places = spread([y for y, _, _ in wanted], _GAP, area.top, area.bottom)
    x = area.right + 8
    return [
        text((x, y + 4), _short(words), kind=kind)
        for y, (_, words, kind) in zip(places, wanted, strict=True)
    ]


def _short(words: str) -> str:
    if len(words) <= _MOST_LETTERS:
        return words
    return f"{words[: _MOST_LETTERS - 1].rstrip(', ')}\u2026"


def _race_said(race: RaceFigures, base: RaceLine) -> str:
    told = []
    for item in race.lines:
        found = item.relative
        if found is not None:
            words = f"{label_of(item.config, item.names)}: {found.median:.2f}"
            if found.low is not None and found.high is not None:
                words += f" ({found.low:.2f} to {found.high:.2f})"
            told.append(words)
    against = label_of(base.config, base.names)
    return f"{len(race.rounds)} rounds. Speed against {against}: {'; '.join(told)}."


def _steps(curve: WaitCurve) -> list[tuple[float, float]]:
    """Return waits with the share that is no longer, as few as a curve needs."""
    count = len(curve.gaps_s)
    every = max(1, -(-count // MOST_STEPS))
    places = sorted({*range(every - 1, count, every), count - 1})
    return [(curve.gaps_s[place], (place + 1) / count) for place in places]


def _wait_labels(
    curves: Sequence[WaitCurve], across: Log, up: Linear, area: Area
) -> list[Element]:
    """Return the names beside the chart, by the height of each curve's middle."""
    order = sorted(curves, key=lambda curve: curve.quantile(0.5))
    first = up(0.5) - _GAP * (len(order) - 1)
    places = [first + 2 * _GAP * number for number in range(len(order))]
    x = area.right + 8
    found = []
    for curve, y in zip(order, places, strict=True):
        look = look_of(curve.names)
        half = across(max(curve.quantile(0.5), LEAST_WAIT_S))
        found.append(element("circle", cx=half, cy=up(0.5), r=4, class_=f"half {look}"))
        words = _short(label_of(curve.config, curve.names))
        found.append(text((x, y), words, kind=f"words {look}"))
        middle = f"half within {format_wait(curve.quantile(0.5))}"
        found.append(text((x, y + 13), middle, kind="tick"))
    return found
