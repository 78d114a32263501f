"""The page of a history: every night drawn, by its verdict, and listed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.report.html.nights_page import MOST_NIGHTS, nights_page
from autoloader.report.html.page_file import MOST_PAGE_BYTES
from autoloader.report.html.rendering import html_of
from autoloader.report.nights import nights_report
from autoloader.values.fingerprint import Change
from tests.export.test_history import NIGHT
from tests.report.html.reading import Node, Reader
from tests.report.replayed import MARKUP
from tests.report.test_nights import nights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.night import Night


def text_of(found: Sequence[Night]) -> str:
    """Return the page of nights."""
    report = nights_report("autoloader.yaml", found)
    return html_of(nights_page(report), version="1.0")


def page_of(found: Sequence[Night]) -> Reader:
    """Return the page of nights, read."""
    return Reader(text_of(found))


def marks(page: Reader, kind: str) -> list[Node]:
    """Return the marks of a look, in all charts."""
    return [node for node in page.all("g") if node.attributes.get("class") == kind]


def one(verdict: Any, **more: Any) -> Night:
    """Return a night with a verdict."""
    return replace(NIGHT, verdict=verdict, **more)


def test_a_page_is_whole() -> None:
    """Verdict, courses, all nights; nothing is left open."""
    page = page_of(nights([500.0, 510.0]))

    assert page.unclosed == []
    assert page.all("h1")[0].text == "autoloader.yaml"
    assert [node.text for node in page.all("h2")] == ["Night by night", "All nights"]
    assert len(page.all("svg")) == 2
    assert len(page.all("tbody")[0].children) == 2


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("holds", "mark chosen"),
        ("renewed", "mark fastest"),
        ("rewritten", "mark fastest"),
        ("proposed", "mark fastest"),
        ("called_for", "mark fastest"),
        ("undecided", "mark default"),
        ("wrong_data", "mark lost"),
        ("target_lost", "mark lost"),
        ("dataset_fails", "mark lost"),
        ("failed", "mark lost"),
    ],
)
def test_every_night_stands_in_both_charts_by_its_verdict(
    verdict: str, kind: str
) -> None:
    """With its date and its value, where it is pointed at."""
    page = page_of([one(verdict)])

    told = [node.text for node in marks(page, kind)]
    assert len(told) == 2
    assert told[0].startswith("2026-11-30: ")
    assert told[0].endswith(", at 500 examples/s")
    assert told[1].endswith(", 2.00 times as fast as PyTorch's default")


def test_a_night_that_read_nothing_stands_at_the_bottom() -> None:
    """It is seen, and no line goes through it."""
    failed = one("dataset_fails", rate=None, vs_default=None)

    page = page_of([NIGHT, failed, NIGHT])

    (cross, _) = marks(page, "mark lost")
    assert cross.children[1].attributes["d"] == "M375.0 287.0l10 10m0 -10l-10 10"
    lines = [
        str(node.attributes["d"])
        for node in page.all("path")
        if node.attributes.get("class") == "best"
    ]
    assert [line.count("L") for line in lines] == [1, 1]


def test_nights_of_another_file_are_joined_by_no_line() -> None:
    """They judged something else."""
    before = replace(NIGHT, file_date="2026-10-01T00:00:00+00:00")

    page = page_of([before, NIGHT])

    assert not [n for n in page.all("path") if n.attributes.get("class") == "best"]


def test_nights_without_readings_have_no_charts() -> None:
    """The list is there all the same."""
    page = page_of([one("failed", rate=None, vs_default=None)])

    assert page.all("svg") == []
    assert [node.text for node in page.all("h2")] == ["All nights"]
    assert page.all("th")[-1].text.startswith("2026-11-30")


def test_what_was_another_is_told_with_settings_first() -> None:
    """What the night wrote, then what had changed."""
    after = one("rewritten", dataloader={"num_workers": 4, "batch_size": 64})

    page = page_of([NIGHT, after])

    newest = page.all("tbody")[0].children[0]
    assert "num_workers=4; kernel was 6.1, now 6.8" in newest.text


def test_a_drift_is_a_caution() -> None:
    """Before everything else."""
    page = page_of(nights([500.0 * 0.97**number for number in range(16)]))

    assert page.all("h2")[0].text == "Cautions"
    notice = next(n for n in page.nodes if n.attributes.get("class") == "notice")
    assert "examples/s falls by 3\u00a0% a night, over 16 nights" in notice.text


def test_what_a_night_brings_along_stays_text() -> None:
    """Reasons hold names of files and messages of datasets."""
    odd = Change(field="kernel", kind="environment", old=MARKUP, new="<b>")
    text = text_of([replace(NIGHT, reason=MARKUP, changes=(odd,))])

    assert MARKUP not in text
    assert MARKUP in Reader(text).all("tbody")[0].text


def test_the_page_of_years_stays_small_and_says_what_it_shows() -> None:
    """The last nights are drawn, all of them counted."""
    page = text_of(nights([500.0] * (MOST_NIGHTS + 800)))

    found = Reader(page)
    assert len(page.encode()) < MOST_PAGE_BYTES
    assert len(found.all("tbody")[0].children) == MOST_NIGHTS
    assert f"The last {MOST_NIGHTS} of 1,200 nights" in found.all("caption")[0].text
