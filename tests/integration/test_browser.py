"""Pages as a browser shows them: what is copied, saved and loaded, and what fits."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
import yaml

from autoloader.cli import main
from tests.integration.browsing import CHROMIUM, Browser
from tests.report.replayed import SPEC, WIDE, replay_into

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="scripts/test installs chromium"),
]

THEMES = ("light", "dark")

WIDTHS = (360, 1280)
"""Of a phone and of a desk, in pixels."""

PAPER = 718
"""Pixels that a sheet (A4) has between its margins."""

OVERLAPPING = """
(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].map(
      (text) => [text.textContent, text.getBoundingClientRect()]);
    words.forEach(([said, box], number) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push("cut: " + said);
      for (const [other, its] of words.slice(number + 1))
        if (Math.min(box.right, its.right) - Math.max(box.left, its.left) > 2
            && Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top) > 3)
          found.push(said + " / " + other);
    });
  }
  return found;
})()
"""
"""Words of charts that are cut off, or that cover each other by more than letters'
margins."""

COPIED = """
new Promise((done) => {
  const told = document.getElementById("told");
  const look = () => told.textContent ? done() : requestAnimationFrame(look);
  look();
}).then(() => navigator.clipboard.readText())
"""
"""What is in the clipboard, once the page has said that something was copied."""

OPENS_WITHIN_MS = 5000
"""From the first byte to a page of 300 trials that is laid out, on a busy machine."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give the page of a study, and that of one of 300 trials."""
    small, large = (tmp_path_factory.mktemp(name) for name in ("small", "large"))
    replay_into(small)
    replay_into(large, workload=WIDE, trials=300)
    for folder in (small, large):
        assert main(["report", str(folder / "autoloader.yaml")]) == 0
    return small / "autoloader.html", large / "autoloader.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Give a browser."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_a_page_loads_nothing_and_complains_of_nothing(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """No request but for itself, no error, no dialog of a script in a name."""
    browser.open(pages[0])

    requested = [
        item["request"]["url"] for item in browser.of("Network.requestWillBeSent")
    ]
    assert requested == [pages[0].as_uri()]
    assert browser.of("Log.entryAdded") == []
    assert browser.of("Runtime.exceptionThrown") == []
    assert browser.of("Page.javascriptDialogOpening") == []
    assert browser.value("document.querySelector('h1').textContent") == SPEC


def test_the_policy_stops_what_a_page_would_load(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """Even a script that found its way in could send nothing."""
    browser.open(pages[0])

    sent = browser.value(
        "fetch('http://127.0.0.1:9/').then(() => 'sent', (e) => e.name)"
    )
    ran = browser.value(
        "(() => { const s = document.createElement('script');"
        "s.textContent = 'window.ran = true'; document.body.append(s);"
        "return window.ran === true; })()"
    )

    assert sent == "TypeError"
    assert ran is False
    told = [item["entry"]["text"] for item in browser.of("Log.entryAdded")]
    assert sum("Content Security Policy" in said for said in told) >= 2


def test_copy_buttons_copy_what_is_shown(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """By mouse and by keys; what was done is told to those who are read to."""
    browser.open(pages[0])
    browser.look(width=1280, theme="light")
    browser.ask(
        "Browser.grantPermissions",
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )

    browser.click("button[data-copy=snippet-yaml]")
    copied = browser.value(COPIED)
    browser.value("document.querySelector('button[data-copy=snippet-pytorch]').focus()")
    browser.value("document.getElementById('told').textContent = ''")
    browser.press("Enter")
    typed = browser.value(COPIED)

    settings = yaml.safe_load(
        (pages[0].parent / "autoloader.yaml").read_text(encoding="utf-8")
    )["dataloader"]
    assert yaml.safe_load(copied) == {"dataloader": settings}
    assert "loader = DataLoader(\n    dataset,\n" in typed
    assert browser.value("document.getElementById('told').textContent") == "Copied."


def test_a_text_is_copied_by_hand_where_there_is_no_clipboard_to_write_to(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """It is selected then, and copied as the keys would."""
    browser.open(pages[0])
    browser.look(width=1280, theme="light")
    browser.ask("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    browser.value("void (navigator.clipboard.writeText = () => Promise.reject('no'))")

    browser.click("button[data-copy=snippet-load]")
    copied = browser.value(COPIED)

    assert 'loader = autoloader.load("autoloader.yaml").dataloader(dataset)' in copied
    assert "autoloader.load" in browser.value("getSelection().toString()")


def test_readings_are_saved_as_csv_and_as_json(
    browser: Browser, pages: tuple[Path, Path], tmp_path: Path
) -> None:
    """Every one of them, with a heading above."""
    browser.open(pages[0])
    browser.look(width=1280, theme="light")
    browser.ask(
        "Browser.setDownloadBehavior",
        behavior="allow",
        downloadPath=str(tmp_path),
        eventsEnabled=True,
    )

    for kind in ("csv", "json"):
        browser.events.clear()
        browser.click(f"button[data-save={kind}]")
        browser.event(
            "Browser.downloadProgress", lambda told: told["state"] == "completed"
        )

    saved = json.loads((tmp_path / "autoloader-readings.json").read_text())
    with (tmp_path / "autoloader-readings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(saved["readings"]["rows"]) == saved["readings"]["of"]
    place = saved["readings"]["columns"].index("epoch_rate")
    assert [float(row["epoch_rate"]) for row in rows] == [
        row[place] for row in saved["readings"]["rows"]
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_nothing_is_cut_off_or_covered(
    width: int, theme: str, browser: Browser, pages: tuple[Path, Path]
) -> None:
    """The page is no wider than the window; words of charts have their own places."""
    for page in pages:
        browser.look(width=width, theme=theme)
        browser.open(page)

        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value(OVERLAPPING) == []
        background = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (theme == "light")


def test_paper_has_room_for_everything(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """Dark ink on light paper, what is folded away laid open, no table cut off."""
    browser.look(width=PAPER, theme="dark")
    browser.open(pages[0])
    try:
        browser.ask("Emulation.setEmulatedMedia", media="print")
        browser.value("void dispatchEvent(new Event('beforeprint'))")

        assert browser.value("document.documentElement.scrollWidth") <= PAPER
        assert (
            browser.value("document.querySelectorAll('details:not([open])').length")
            == 0
        )
        background = browser.value("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="")


def test_a_page_of_300_trials_opens_fast(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """Laid out, its script run."""
    browser.look(width=1280, theme="light")
    browser.open(pages[1])

    took_ms = browser.value(
        "(document.body.getBoundingClientRect(),"
        " performance.getEntriesByType('navigation')[0].domComplete)"
    )

    assert took_ms < OPENS_WITHIN_MS


def test_keys_reach_everything_in_the_order_of_the_page(
    browser: Browser, pages: tuple[Path, Path]
) -> None:
    """The skip link first; where the focus is can be seen."""
    browser.look(width=1280, theme="light")
    browser.open(pages[0])

    seen = []
    for _ in range(8):
        browser.press("Tab")
        seen.append(browser.value("document.activeElement.textContent"))
    outline = browser.value("getComputedStyle(document.activeElement).outlineStyle")

    assert seen[0] == "Skip to the content"
    links = browser.value(
        "[...document.querySelectorAll('nav a')].slice(0, 3).map((a) => a.textContent)"
    )
    assert seen[1:4] == links
    assert outline == "solid"
