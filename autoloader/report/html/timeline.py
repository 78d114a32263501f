"""The chart of a study's course: every trial and every round of the race, in time.

Pure: figures of a study in, a drawing out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from autoloader.report import sentences
from autoloader.report.html.frame import Area, Axis, Chart, axes
from autoloader.report.html.marks import cross, look_of
from autoloader.report.html.scales import Linear, ticks
from autoloader.report.html.svg import Element, element, polyline, stairs
from autoloader.units import counted, format_rate, format_seconds
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.report.html.svg import Point
    from autoloader.report.study_figures import RacedReading, TrialFigures


def time_line(
    trials: Sequence[TrialFigures], raced: Sequence[RacedReading] = ()
) -> Chart | None:
    """Return every trial, as wide as it took and as high as its rate, in time.

    A trial without a speed is a mark on the line at the bottom. None where there is no
    trial. Records of older versions do not say when a trial began: they are drawn one
    after the other, without the race.

    Args:
        trials: in order of their numbers.
        raced: readings of the race.
    """
    if not trials:
        return None
    placed = _Placed.of(trials, raced)
    area = Area()
    rates = [item.searched or 0.0 for item in trials]
    most = max([*rates, *(item.rate for item in placed.raced)]) or 1.0
    across = Linear(low=0.0, high=placed.end_s, start=area.left, end=area.right)
    up = Linear(low=0.0, high=most * 1.08, start=area.bottom, end=area.top)
    parts = [
        axes(
            area,
            Axis(
                scale=across,
                title=placed.title,
                labels=tuple(
                    (tick, f"{tick:,.10g}") for tick in ticks(0.0, placed.end_s, 8)
                ),
            ),
            Axis(
                scale=up,
                title="examples/s, first reading of each trial"
                + (", then of the race" if placed.raced else ""),
                labels=tuple((tick, f"{tick:,.10g}") for tick in ticks(0.0, up.high)),
            ),
        ),
        *(
            _bar(item, across(begin), across(end), up)
            for item, (begin, end) in zip(trials, placed.spans, strict=True)
        ),
        polyline(_best_so_far(trials, placed, across, up), "best so-far"),
        *(_dot(item, across, up) for item in placed.raced),
    ]
    counts = sentences.trials(_counts(trials))
    race = (
        f"; {counted(len(placed.raced), 'reading')} of the race" if placed.raced else ""
    )
    return Chart(
        name="plot-trials",
        title="Trials and race in time" if placed.raced else "Trials in their order",
        description=f"{counts}, in {format_seconds(placed.end_s)}{race}.",
        parts=tuple(parts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """Where trials and readings stand in time."""

    spans: tuple[tuple[float, float], ...]
    """Begin and end of each trial, in seconds."""
    raced: tuple[RacedReading, ...]
    """Readings of the race whose time is known."""
    end_s: float
    """End of the last of them."""
    title: str
    """Of the axis."""

    @classmethod
    def of(
        cls, trials: Sequence[TrialFigures], raced: Sequence[RacedReading]
    ) -> _Placed:
        """Return the places, by the record or one after the other."""
        begins = [item.begun_s for item in trials if item.begun_s is not None]
        lengths = [max(item.seconds, 0.0) for item in trials]
        if len(begins) < len(trials):
            ends = list(accumulate(lengths))
            return cls(
                spans=tuple(zip([0.0, *ends], ends, strict=False)),
                raced=(),
                end_s=max(ends[-1], 1e-3),
                title="seconds of trials, one after the other (the race follows)",
            )
        spans = tuple(
            (begin, begin + length)
            for begin, length in zip(begins, lengths, strict=True)
        )
        last = [end for _, end in spans] + [item.end_s for item in raced]
        return cls(
            spans=spans,
            raced=tuple(raced),
            end_s=max(*last, 1e-3),
            title="seconds since the study began",
        )


def _bar(item: TrialFigures, left: float, right: float, up: Linear) -> Element:
    """Return the bar of a trial, or the mark of one without a speed."""
    told = f"trial {item.number}: {item.config.describe()}: "
    if item.searched is not None and item.status is Status.MEASURED:
        told += f"{format_rate(item.searched)} examples/s"
        y = up(item.searched)
        shape = element(
            "rect",
            x=left,
            y=y,
            width=max(right - left - 0.5, 0.5),
            height=max(up(0.0) - y, 0.5),
        )
        return element(
            "g", element("title", told), shape, class_=f"bar {look_of(item.names)}"
        )
    fate = sentences.FATES[item.status]
    told += fate if item.code is None else f"{fate}, {item.code}"
    shape = cross((left + right) / 2, up(0.0) - 9)
    return element("g", element("title", told), shape, class_="mark lost")


def _dot(item: RacedReading, across: Linear, up: Linear) -> Element:
    told = f"race: {item.config.describe()}: {format_rate(item.rate)} examples/s"
    x, y = across((item.begun_s + item.end_s) / 2), up(item.rate)
    return element(
        "circle",
        element("title", told),
        cx=x,
        cy=y,
        r=3,
        class_=f"mark {look_of(item.names)}",
    )


def _best_so_far(
    trials: Sequence[TrialFigures], placed: _Placed, across: Linear, up: Linear
) -> tuple[Point, ...]:
    best = 0.0
    points: list[Point] = [(across(placed.spans[0][0]), up(0.0))]
    for item, (_, end) in zip(trials, placed.spans, strict=True):
        if item.status is Status.MEASURED:
            best = max(best, item.searched or 0.0)
        points.append((across(end), up(best)))
    return stairs(points)


def _counts(trials: Sequence[TrialFigures]) -> dict[str, int]:
    found = [item.status for item in trials]
    return {
        status.value: found.count(status)
        for status in sentences.FATES
        if status in found
    }
