"""Colours of the pages: what is read stands out from what it is written on."""

import re
from pathlib import Path

import pytest

import autoloader

STYLE = (
    Path(autoloader.__file__).parent / "report" / "html" / "templates" / "page.css"
).read_text(encoding="utf-8")

LEAST_CONTRAST = 4.5
"""Of text, by the guidelines for accessible pages (level AA)."""

GROUNDS = ("paper", "raised")
"""What text is written on."""

NO_TEXT = {*GROUNDS, "rule"}
"""Colours that no word has."""


def themes() -> dict[str, dict[str, str]]:
    """Return the colours of each theme by name."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    found = [
        dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6});", block)) for block in blocks
    ]
    return dict(zip(("light", "dark", "print"), found, strict=True))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, 0-1."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1-21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_worked_out_as_the_guidelines_say() -> None:
    """Black on white has the most there is; this grey on white just passes."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_every_colour_of_text_can_be_read(theme: str, ground: str) -> None:
    """On the page and on what is raised from it."""
    colours = themes()[theme]

    faint = {
        name: round(contrast(colour, colours[ground]), 2)
        for name, colour in colours.items()
        if name not in NO_TEXT and contrast(colour, colours[ground]) < LEAST_CONTRAST
    }

    assert faint == {}


def test_every_theme_has_every_colour() -> None:
    """None is left from another theme."""
    names = [set(colours) for colours in themes().values()]

    assert names[0] == names[1] == names[2]


def test_every_colour_that_is_used_is_there() -> None:
    """A slip in a name would be no colour at all."""
    used = set(re.findall(r"var\(--([a-z0-9]+)\)", STYLE))

    assert used <= set(themes()["light"])


def test_motion_is_left_out_where_people_ask_for_that() -> None:
    """Nothing moves, but where they have no preference."""
    assert "scroll-behavior" in STYLE
    calm = re.sub(
        r"@media \(prefers-reduced-motion: no-preference\) \{.*?\n\}", "", STYLE,
        flags=re.DOTALL,
    )  # fmt: skip
    assert re.findall(r"transition|animation|scroll-behavior", calm) == []
