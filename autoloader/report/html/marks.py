"""How configs look in charts: a shape and a colour for each name, the same in all.

Colour never tells alone what a shape or a word tells as well. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.report.html.svg import Element, element, group
from autoloader.report.rows import names_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.report.rows import RowName
    from autoloader.values.config import LoaderConfig

_FIRST: tuple[RowName, ...] = ("chosen", "fastest", "yours", "pytorch_default")
"""Which name gives the look to a config that has several."""

MOST_TOLD = 120
"""Marks of a chart up to which each one tells its config where it is pointed at."""


def look_of(names: Sequence[RowName]) -> str:
    """Return the class of a config's marks."""
    name = next((item for item in _FIRST if item in names), None)
    return "other" if name is None else name.replace("pytorch_", "")


def label_of(config: LoaderConfig, names: Sequence[RowName]) -> str:
    """Return the words for a config in a chart: its names, else its settings."""
    return names_in_words(names) if names else config.describe()


def labels_of(
    configs: Sequence[tuple[LoaderConfig, Sequence[RowName]]],
) -> list[str]:
    """Return words for several configs: what all of them have in common is left out.

    Args:
        configs: each with its names, which stand in the place of settings.
    """
    settings = [config.describe().split(", ") for config, _ in configs]
    common = set(settings[0]).intersection(*settings[1:]) if len(settings) > 1 else ()
    return [
        names_in_words(names)
        if names
        else ", ".join(part for part in parts if part not in common)
        or config.describe()
        for parts, (config, names) in zip(settings, configs, strict=True)
    ]


def mark(x: float, y: float, names: Sequence[RowName], told: str | None) -> Element:
    """Return the mark of a config.

    Args:
        x: of its middle.
        y: of its middle.
        names: of the config.
        told: what is shown where it is pointed at; None: nothing.
    """
    look = look_of(names)
    shape = _shape(look, x, y)
    kind = f"mark {look}"
    if told is None:
        return group([shape], kind)
    return element("g", element("title", told), shape, class_=kind)


def cross(x: float, y: float) -> Element:
    """Return the shape of what has no speed."""
    return element("path", d=f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10")


def _shape(look: str, x: float, y: float) -> Element:
    match look:
        case "chosen":
            return element("circle", cx=x, cy=y, r=7)
        case "fastest":
            return element("path", d=_polygon(x, y, ((0, -8), (8, 0), (0, 8), (-8, 0))))
        case "yours":
            return element("path", d=_polygon(x, y, ((0, -8), (8, 6), (-8, 6))))
        case "default":
            return element("rect", x=x - 6, y=y - 6, width=12, height=12)
        case _:
            return element("circle", cx=x, cy=y, r=4)


def _polygon(x: float, y: float, corners: Sequence[tuple[float, float]]) -> str:
    return (
        "".join(
            f"{'L' if place else 'M'}{x + right:.1f} {y + down:.1f}"
            for place, (right, down) in enumerate(corners)
        )
        + "Z"
    )
