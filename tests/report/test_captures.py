"""What terminals show, against golden files: live, at the end, and line by line.

`python -m tests.report.captures` writes the files anew; look at what changed before you
commit it.
"""

from __future__ import annotations

import io

import pytest

from autoloader.report.data import TuneReport
from autoloader.report.surface import STYLES
from tests.report.captures import (
    FOLDER,
    SIZES,
    captures,
    moments,
    printed,
    terminal_of,
)
from tests.report.fakes import Terminal
from tests.report.story import ending

NAMES = sorted(path.name for path in FOLDER.glob("*.txt"))


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """Give what is shown now, by the name of its file."""
    return captures()


def test_every_capture_has_its_file(shown: dict[str, str]) -> None:
    """No more, and no less."""
    assert sorted(shown) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_is_what_was_looked_at(shown: dict[str, str], name: str) -> None:
    """Letter by letter."""
    assert shown[name] == (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_live_region_fits_its_terminal(columns: int, rows: int) -> None:
    """One line stays free for the cursor, no line is cut off or folded."""
    with terminal_of(columns, rows):
        regions = moments()

    for text in regions.values():
        lines = text.splitlines()
        assert len(lines) < rows
        assert max(map(len, lines)) <= columns
        cut = [line for line in lines if line.endswith("…")]
        assert len(cut) <= 1  # the reason of a failure, told in full at the end


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_every_fate_is_told_at_the_end(columns: int) -> None:
    """And no line is longer than the terminal is wide."""
    with terminal_of(columns, 24):
        text = printed(Terminal())

    fates = ("refused ", "crashed ", "hung ", "out of memory ")
    begun = [line for line in text.splitlines() if line.startswith(fates)]
    assert len(begun) == 4
    assert max(map(len, text.splitlines())) <= columns


def test_a_terminal_without_colour_shows_the_same_letters() -> None:
    """No meaning is told by its colour alone; a pipe differs in nothing else."""
    with terminal_of(80, 24):
        coloured = printed(Terminal())
    with terminal_of(80, 24, NO_COLOR="1"):
        plain = Terminal()
        without = printed(plain)
    with terminal_of(80, 24):
        piped = printed(io.StringIO())

    assert "\x1b" not in plain.getvalue()
    assert without == coloured
    assert piped == coloured


def test_the_made_up_study_ends_as_its_readings_say() -> None:
    """The choice is the selection's, not the story's."""
    report = TuneReport.of(ending())

    assert report.state == "met"
    assert report.chosen is not None
    assert report.chosen.num_workers == 3
    assert report.trials == {
        "measured": 6,
        "refused": 1,
        "crashed": 1,
        "hung": 1,
        "out_of_memory": 1,
    }


@pytest.mark.parametrize("style", sorted(STYLES))
def test_a_colour_is_read_on_white_and_on_black(style: str) -> None:
    """With four times the contrast of its ground, whatever the theme of the terminal.

    Of one of the 256 colours that a theme leaves alone; bold has no colour.
    """
    _, _, number = STYLES[style].partition("color(")
    if not number:
        assert style == "strong"
        return

    light = luminance(int(number.rstrip(")")))

    assert (light + 0.05) / 0.05 >= 4
    assert 1.05 / (light + 0.05) >= 3.99


def luminance(number: int) -> float:
    """Return the relative luminance of one of the 256 colours, from 16 on."""
    assert number >= 16
    if number >= 232:
        channels = [8 + 10 * (number - 232)] * 3
    else:
        levels = (0, 95, 135, 175, 215, 255)
        place = number - 16
        channels = [levels[place // 36], levels[place // 6 % 6], levels[place % 6]]
    red, green, blue = (_linear(channel / 255) for channel in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return (
        value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
    )
