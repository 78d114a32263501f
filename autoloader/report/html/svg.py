"""Elements of a drawing, and their text: SVG that needs no file but its page.

Pure: values in, text out, in which everything foreign is escaped. What is drawn is for
charts to say; colours are classes of the page's style sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from autoloader.report.cleaning import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """An element with its attributes and what stands in it."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Element | str, ...] = ()

    def __str__(self) -> str:
        """Return the element's text."""
        named = "".join(f' {name}="{escape(to)}"' for name, to in self.attributes)
        if not self.children:
            return f"<{self.name}{named}/>"
        inner = "".join(
            escape(clean(child), quote=False) if isinstance(child, str) else str(child)
            for child in self.children
        )
        return f"<{self.name}{named}>{inner}</{self.name}>"


def element(
    name: str, *children: Element | str, **attributes: str | float | None
) -> Element:
    """Return an element; `stroke_width` and `class_` stand for what Python cannot name.

    Args:
        name: of the element.
        children: what stands in it, text or elements.
        attributes: those that are None are left out.
    """
    return Element(
        name=name,
        attributes=tuple(
            (key.rstrip("_").replace("_", "-"), _value(value))
            for key, value in attributes.items()
            if value is not None
        ),
        children=children,
    )


def group(children: Iterable[Element], kind: str | None = None) -> Element:
    """Return elements as one."""
    return element("g", *children, class_=kind)


def line(start: Point, end: Point, kind: str) -> Element:
    """Return a straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=kind)


def text(
    place: Point, said: str, *, anchor: str = "start", kind: str = "label"
) -> Element:
    """Return words; `anchor` is the part of them that stands at the place."""
    return element(
        "text", said, x=place[0], y=place[1], text_anchor=anchor, class_=kind
    )


def polyline(points: Sequence[Point], kind: str) -> Element:
    """Return a line through points."""
    return element("path", d=path_through(points), class_=kind)


def dots(points: Sequence[Point], kind: str) -> Element:
    """Return many dots as one element, each a line of no length with round ends."""
    moves = "".join(f"M{_value(x)} {_value(y)}h0" for x, y in points)
    return element("path", d=moves, class_=kind)


def path_through(points: Sequence[Point]) -> str:
    """Return the `d` of a path through points."""
    return "".join(
        f"{'L' if place else 'M'}{_value(x)} {_value(y)}"
        for place, (x, y) in enumerate(points)
    )


def stairs(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return points between which a line goes across first, then up or down."""
    found: list[Point] = []
    for x, y in points:
        if found:
            found.append((x, found[-1][1]))
        found.append((x, y))
    return tuple(found)


def _value(value: str | float) -> str:
    """Return an attribute's value; places to a tenth, which is finer than any pixel."""
    if isinstance(value, str):
        return value
    short = f"{value:.1f}".removesuffix(".0")
    return "0" if short == "-0" else short
