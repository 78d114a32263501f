"""The frame of a chart: its axes with labels, and where words find room in it.

Pure: scales and words in, elements out. What stands in the frame is the charts'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from autoloader.report.html.svg import Element, element, group, line, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.report.html.scales import Scale
    from autoloader.report.html.svg import Point

WIDTH, HEIGHT = 720, 340

LETTER = 7.3
"""Width of a letter of a label, about: bold, of a wide font, 12 of these units high."""

LINE = 14.0
"""Height of a line of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """The part of a drawing that its data stands in."""

    left: float = 64.0
    right: float = WIDTH - 24.0
    top: float = 24.0
    bottom: float = HEIGHT - 48.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A scale, and what is written along it."""

    scale: Scale
    title: str
    """What its values are, with their unit."""
    labels: tuple[tuple[float, str], ...]
    """Values that are labelled, with their words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing with its words."""

    name: str
    """What its elements' ids begin with, unique in a page."""
    title: str
    """What it shows, for whom it is read aloud to."""
    description: str
    """What is to be seen in it, in a sentence or two."""
    parts: tuple[Element, ...]
    width: float = WIDTH
    height: float = HEIGHT

    def __str__(self) -> str:
        """Return the drawing as an element of a page."""
        title, described = f"{self.name}-title", f"{self.name}-desc"
        return str(
            element(
                "svg",
                element("title", self.title, id=title),
                element("desc", self.description, id=described),
                *self.parts,
                viewBox=f"0 0 {self.width:g} {self.height:g}",
                role="img",
                aria_labelledby=f"{title} {described}",
                class_="chart",
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two share any place."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def shared(self, other: Box) -> float:
        """Return how much place two share."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(across, 0.0) * max(down, 0.0)


def axes(area: Area, across: Axis, up: Axis) -> Element:
    """Return both axes with their lines, labels and titles."""
    parts = []
    for value, words in up.labels:
        y = up.scale(value)
        parts.append(line((area.left, y), (area.right, y), "grid"))
        parts.append(text((area.left - 8, y + 4), words, anchor="end", kind="tick"))
    for value, words in across.labels:
        x = across.scale(value)
        parts.append(line((x, area.bottom), (x, area.bottom + 5), "axis"))
        parts.append(text((x, area.bottom + 19), words, anchor="middle", kind="tick"))
    parts.append(line((area.left, area.bottom), (area.right, area.bottom), "axis"))
    middle = (area.left + area.right) / 2
    parts.append(
        text((middle, area.bottom + 40), across.title, anchor="middle", kind="title")
    )
    parts.append(text((8.0, area.top - 10), up.title, kind="title"))
    return group(parts)


def placed_labels(
    labels: Sequence[tuple[Point, str]], obstacles: Iterable[Box], area: Area
) -> list[Point]:
    """Return where labels begin, so that they cover as little as can be.

    Each stands to the right, left, above or below of its point, farther off where near
    it there is no room.

    Args:
        labels: points with their words.
        obstacles: what should not be covered, the points among it.
        area: that labels stay in.
    """
    taken = list(obstacles)
    found = []
    for (x, y), words in labels:
        width = len(words) * LETTER
        boxes = [
            Box(left=left, top=top, right=left + width, bottom=top + LINE)
            for far in (0.0, LINE, 2 * LINE, 3 * LINE)
            for left, top in (
                (x + 9, y - LINE / 2 - far),
                (x + 9, y - LINE / 2 + far),
                (x - 9 - width, y - LINE / 2 - far),
                (x - 9 - width, y - LINE / 2 + far),
                (x - width / 2, y - LINE - 8 - far),
                (x - width / 2, y + 8 + far),
            )
        ]
        inside = [box for box in boxes if _is_inside(box, area)] or boxes
        best = min(inside, key=lambda box: sum(box.shared(other) for other in taken))
        taken.append(best)
        found.append((best.left, best.bottom - 3))
    return found


def _is_inside(box: Box, area: Area) -> bool:
    return (
        box.left >= area.left
        and box.right <= area.right
        and box.top >= area.top - LINE
        and box.bottom <= area.bottom
    )


def along(points: Sequence[Point]) -> list[Box]:
    """Return boxes along a line through points, which a label should not cover."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = max(1, math.ceil(math.hypot(to_x - x, to_y - y) / LINE))
        for step in range(steps + 1):
            share = step / steps
            found.append(around(x + share * (to_x - x), y + share * (to_y - y), 3.0))
    return found


def around(x: float, y: float, size: float) -> Box:
    """Return the box of a mark."""
    return Box(left=x - size, top=y - size, right=x + size, bottom=y + size)
