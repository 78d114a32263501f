"""Charts of configs against each other: rate by workers, rate by memory.

Pure: figures of a study in, drawings out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from autoloader.report.html.frame import (
    LINE,
    Area,
    Axis,
    Chart,
    along,
    around,
    axes,
    placed_labels,
)
from autoloader.report.html.marks import MOST_TOLD, label_of, look_of, mark
from autoloader.report.html.scales import Linear, ticks, whole_ticks
from autoloader.report.html.svg import (
    Element,
    dots,
    element,
    group,
    line,
    polyline,
    stairs,
    text,
)
from autoloader.report.study_figures import pareto
from autoloader.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.report.html.frame import Box
    from autoloader.report.html.svg import Point
    from autoloader.report.study_figures import TrialFigures

HEADROOM = 1.08
"""Length of an axis beyond its largest value."""

FAR_ABOVE = 1.6
"""How far above all rates a line may be and still stand in the chart."""

_SIDE_BY_SIDE = 14.0
"""Most distance of marks that would stand on one place."""

_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def rate_by_workers(
    trials: Sequence[TrialFigures], *, target: float | None, ceiling: float | None
) -> Chart | None:
    """Return the chart of rates against workers; None where nothing was measured.

    Args:
        trials: of the study.
        target: what is wanted, examples a second; None: it is not told.
        ceiling: what no setting exceeds; None: it is not told.
    """
    shown = [item for item in trials if item.rate is not None]
    if not shown:
        return None
    area = Area()
    counts = [item.config.num_workers for item in shown]
    low, high = min(counts), max(counts)
    across = Linear(low=low - 0.5, high=high + 0.5, start=area.left, end=area.right)
    up = _rate_scale(shown, area, [target, ceiling])
    places = _side_by_side(shown, across)
    points = {
        item.number: (places[item.number], up(item.rate.median))
        for item in shown
        if item.rate is not None
    }
    labels = tuple((float(n), str(n)) for n in whole_ticks(low, high))
    best_line = _best_by_workers(shown, points)
    levels = _levels(up, target=target, ceiling=ceiling)
    parts = [
        axes(
            area,
            Axis(scale=across, title="workers (num_workers)", labels=labels),
            _rate_axis(up),
        ),
        polyline(best_line, "best"),
        *_level_lines(up, area, levels),
        *_whiskers(shown, points, up),
        *_marks(shown, points),
        *_level_words(up, area, levels),
        *_labels(
            shown,
            points,
            area,
            [best_line, *_reaches(shown, points, up), *_across(up, area, levels)],
        ),
    ]
    best = max(shown, key=lambda item: item.rate.median if item.rate else 0.0)
    said = (
        f"{len(shown)} configs with {low} to {high} workers; the highest is "
        f"{_told(best)}."
    )
    if target is not None:
        said += f" The target is {format_rate(target)} examples/s."
    return Chart(
        name="plot-workers",
        title="Rate against workers",
        description=said,
        parts=tuple(parts),
    )


def rate_by_memory(
    trials: Sequence[TrialFigures], *, target: float | None, limit_bytes: float | None
) -> Chart | None:
    """Return the chart of rates against memory; None where nothing was weighed.

    Args:
        trials: of the study.
        target: what is wanted, examples a second; None: it is not told.
        limit_bytes: memory that a config may take; None: it is not told.
    """
    shown = [item for item in trials if item.rate and item.peak_bytes is not None]
    if not shown:
        return None
    area = Area()
    sizes = {item.number: float(item.peak_bytes or 0) for item in shown}
    most = max(sizes.values()) * HEADROOM or 1.0
    across = Linear(low=0.0, high=most, start=area.left, end=area.right)
    up = _rate_scale(shown, area, [target])
    points = {
        item.number: (across(sizes[item.number]), up(item.rate.median))
        for item in shown
        if item.rate is not None
    }
    front = pareto(shown)
    levels = _levels(up, target=target, ceiling=None)
    steps = stairs([points[item.number] for item in front])
    limit = []
    if limit_bytes is not None and limit_bytes <= most:
        x = across(limit_bytes)
        limit = [line((x, area.top), (x, area.bottom), "limit")]
    parts = [
        axes(
            area,
            Axis(scale=across, title="memory of all processes", labels=_sizes(most)),
            _rate_axis(up),
        ),
        *limit,
        *_level_lines(up, area, levels),
        polyline(steps, "front"),
        *_marks(shown, points),
        *_level_words(up, area, levels),
        *_labels(shown, points, area, [steps, *_across(up, area, levels)]),
    ]
    best = "; ".join(_weighed(item) for item in front[:6])
    return Chart(
        name="plot-memory",
        title="Rate against memory",
        description=(
            f"{len(shown)} weighed configs, {len(front)} of which no other one beats "
            f"in both: {best}."
        ),
        parts=tuple(parts),
    )


def _rate_scale(
    shown: Sequence[TrialFigures], area: Area, levels: Sequence[float | None]
) -> Linear:
    """Return the scale of rates, from 0, with lines in it that are not far above."""
    ends = [
        item.rate.high or item.rate.median for item in shown if item.rate is not None
    ]
    most = max(ends) or 1.0
    near = [level for level in levels if level is not None and level < FAR_ABOVE * most]
    high = max([most, *near]) * HEADROOM
    return Linear(low=0.0, high=high, start=area.bottom, end=area.top)


def _rate_axis(up: Linear) -> Axis:
    labels = tuple((tick, f"{tick:,.10g}") for tick in ticks(up.low, up.high))
    return Axis(scale=up, title="examples/s", labels=labels)


def _sizes(most: float) -> tuple[tuple[float, str], ...]:
    """Return the labels of an axis of sizes, in the unit that fits."""
    unit, name = next((item for item in _UNITS if most >= item[0]), (1, "B"))
    return tuple(
        (tick * unit, f"{tick:,.10g} {name}") for tick in ticks(0.0, most / unit)
    )


def _side_by_side(shown: Sequence[TrialFigures], across: Linear) -> Mapping[int, float]:
    """Return where each trial stands: those of as many workers beside each other."""
    by_workers: dict[int, list[TrialFigures]] = defaultdict(list)
    for item in shown:
        by_workers[item.config.num_workers].append(item)
    room = 0.8 * (across(across.low + 1) - across.start)
    found = {}
    for workers, items in by_workers.items():
        step = min(_SIDE_BY_SIDE, room / len(items))
        for place, item in enumerate(sorted(items, key=_order)):
            beside = (place - (len(items) - 1) / 2) * step
            found[item.number] = across(workers) + beside
    return found


def _order(trial: TrialFigures) -> tuple[int, bool, bool, int, int]:
    config = trial.config
    return (
        config.batch_size or 0,
        config.persistent_workers,
        config.pin_memory,
        config.prefetch_factor or 0,
        trial.number,
    )


def _best_by_workers(
    shown: Sequence[TrialFigures], points: Mapping[int, Point]
) -> list[Point]:
    best: dict[int, Point] = {}
    for item in shown:
        workers, point = item.config.num_workers, points[item.number]
        if workers not in best or point[1] < best[workers][1]:  # y grows downwards
            best[workers] = point
    return [best[workers] for workers in sorted(best)]


def _levels(
    up: Linear, *, target: float | None, ceiling: float | None
) -> list[tuple[str, float]]:
    """Return the lines that stand in the chart, each with its rate."""
    levels = (("target", target), ("ceiling", ceiling))
    return [(name, at) for name, at in levels if at is not None and at <= up.high]


def _level_lines(
    up: Linear, area: Area, levels: Sequence[tuple[str, float]]
) -> list[Element]:
    places = _across(up, area, levels)
    return [
        line(start, end, name)
        for (name, _), (start, end) in zip(levels, places, strict=True)
    ]


def _across(
    up: Linear, area: Area, levels: Sequence[tuple[str, float]]
) -> list[tuple[Point, Point]]:
    """Return from where to where the lines go."""
    return [((area.left, up(at)), (area.right, up(at))) for _, at in levels]


def _level_words(
    up: Linear, area: Area, levels: Sequence[tuple[str, float]]
) -> list[Element]:
    """Return the words of the lines at the left, above them but for a lower one."""
    places = [up(at) for _, at in levels]
    is_close = len(places) == 2 and abs(places[0] - places[1]) < 1.5 * LINE
    return [
        text(
            (area.left + 6, y + (13 if is_close and y == max(places) else -5)),
            f"{name} {format_rate(at)}/s",
            kind=f"words {name}",
        )
        for (name, at), y in zip(levels, places, strict=True)
    ]


def _reaches(
    shown: Sequence[TrialFigures], points: Mapping[int, Point], up: Linear
) -> list[tuple[Point, Point]]:
    """Return from where to where the intervals reach."""
    reaches = ((item, _reach(item, points, up)) for item in shown)
    return [found for _, found in reaches if found is not None]


def _reach(
    trial: TrialFigures, points: Mapping[int, Point], up: Linear
) -> tuple[Point, Point] | None:
    """Return from where to where the interval of a rate reaches; None: it has none."""
    rate, (x, _) = trial.rate, points[trial.number]
    if rate is None or rate.low is None or rate.high is None:
        return None
    return (x, up(rate.low)), (x, up(rate.high))


def _whiskers(
    shown: Sequence[TrialFigures], points: Mapping[int, Point], up: Linear
) -> list[Element]:
    """Return the intervals of rates, as lines through the marks."""
    found = []
    for item in shown:
        reach = _reach(item, points, up)
        if reach is None:
            continue
        (x, low), (_, high) = reach
        path = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8"
        path += f"M{x - 4:.1f} {high:.1f}h8"
        found.append(element("path", d=path, class_=f"whisker {look_of(item.names)}"))
    return found


def _marks(shown: Sequence[TrialFigures], points: Mapping[int, Point]) -> list[Element]:
    """Return the marks of all trials, those with names on top."""
    named = [item for item in shown if item.names]
    others = [item for item in shown if not item.names]
    if len(shown) > MOST_TOLD:
        rest = [dots([points[item.number] for item in others], "dots other")]
    else:
        rest = [_mark(item, points) for item in others]
    return [*rest, *(_mark(item, points) for item in named)]


def _mark(item: TrialFigures, points: Mapping[int, Point]) -> Element:
    return mark(*points[item.number], item.names, _told(item))


def _labels(
    shown: Sequence[TrialFigures],
    points: Mapping[int, Point],
    area: Area,
    courses: Sequence[Sequence[Point]],
) -> list[Element]:
    """Return the names of the configs that have some, beside marks and lines."""
    named = [item for item in shown if item.names]
    obstacles: list[Box] = [around(*points[item.number], 6.0) for item in shown[:400]]
    obstacles += [box for course in courses for box in along(course)]
    wanted = [
        (points[item.number], label_of(item.config, item.names)) for item in named
    ]
    places = placed_labels(wanted, obstacles, area)
    return [
        group([text(place, words, kind=f"words {look_of(item.names)}")])
        for item, place, (_, words) in zip(named, places, wanted, strict=True)
    ]


def _told(trial: TrialFigures) -> str:
    """Return a config with its rate, as it is told where a mark is pointed at."""
    rate = trial.rate
    said = trial.config.describe()
    if rate is None:
        return said
    said += f": {format_rate(rate.median)} examples/s"
    if rate.low is not None and rate.high is not None:
        said += f" ({format_rate(rate.low)} to {format_rate(rate.high)})"
    return said


def _weighed(trial: TrialFigures) -> str:
    return f"{_told(trial)}, {format_bytes(trial.peak_bytes or 0)}"
