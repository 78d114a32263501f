"""The region in a cell of a notebook: one output, drawn anew."""

from __future__ import annotations

import sys
from io import StringIO
from types import ModuleType
from typing import Any

import pytest
from rich.text import Text

from autoloader.report.cell import CellRegion
from autoloader.report.console import check_view, view_for
from autoloader.report.live import LiveView
from autoloader.report.status import LiveStatus
from autoloader.search.budget import Budget
from autoloader.values.target import Target
from tests.report.fakes import MACHINE

Shown = list[tuple[dict[str, str], str, bool]]


class Cell(StringIO):
    """What `sys.stderr` is in a kernel."""


Cell.__module__ = "ipykernel.iostream"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return what is published: data, id and whether it replaces what has that id."""
    found: Shown = []
    module = ModuleType("IPython.display")

    def publish(
        data: dict[str, str], *, transient: dict[str, Any], update: bool
    ) -> None:
        found.append((data, transient["display_id"], update))

    module.publish_display_data = publish  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return found


def test_one_output_is_replaced_and_its_last_line_stays(shown: Shown) -> None:
    """With the time that it took; letters of HTML are no markup."""
    now = 0.0
    region = CellRegion(lambda: Text(f"at {now} <b>"), lambda: now, "tune data.py:x")

    with region:
        now = 5.0
        region.redraw()
        now = 83.0

    assert [data["text/plain"] for data, _, _ in shown] == [
        "at 0.0 <b>",
        "at 5.0 <b>",
        "tune data.py:x: took 1 m 23 s",
    ]
    assert shown[0][0]["text/html"] == "<pre>at 0.0 &lt;b&gt;</pre>"
    assert [update for _, _, update in shown] == [False, True, True]
    assert len({found for _, found, _ in shown}) == 1


def test_mere_progress_is_drawn_once_a_second_at_most(shown: Shown) -> None:
    """Each drawing is a message to a browser."""
    times = iter([0.0, 0.0, 0.0, 0.4, 0.9, 1.0, 1.0, 1.5])
    region = CellRegion(lambda: Text("x"), lambda: next(times), "tune")

    region.__enter__()
    for _ in range(4):
        region.tick()

    assert len(shown) == 2
    assert list(times) == []


def test_what_is_said_stays_above_the_region(shown: Shown) -> None:
    """And above the line that says how it ended."""
    region = CellRegion(lambda: Text("search"), lambda: 0.0, "tune")

    def run() -> None:
        with region:
            region.say(Text("caution  the disk is slow"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()

    assert shown[1][0]["text/plain"] == "caution  the disk is slow\nsearch"
    assert shown[2][0]["text/plain"] == (
        "caution  the disk is slow\ntune: stopped after 0.00 s"
    )


def test_a_study_in_a_cell_writes_nothing_to_its_stream(shown: Shown) -> None:
    """Neither lines nor letters that move a cursor; cautions are in the output too."""
    stream = Cell()
    view = view_for(
        stream,
        quiet=False,
        dataset="__main__.Photos object",
        target=Target(examples_per_s=1000),
        machine=MACHINE,
    )

    with view as watcher:
        watcher.on_caution("the disk is slow", None)
        watcher.on_phase("search", "8 configs", Budget(180.0, lambda: 30.0, 0.0))
        watcher.on_tick("first batch", 0)

    assert isinstance(view, LiveView)
    assert stream.getvalue() == ""
    text = shown[-2][0]["text/plain"]
    assert text.startswith("caution  the disk is slow\n")
    assert "autoloader  __main__.Photos object\n" in text
    assert "2 m 30 s left" in text
    assert "\x1b" not in text


def test_a_check_in_a_cell_is_one_line(shown: Shown) -> None:
    """Its step, replaced by the next one."""
    stream = Cell()
    view = check_view(stream, quiet=False)

    with view as watcher:
        watcher.on_phase("2 workers")

    assert isinstance(view, LiveStatus)
    assert stream.getvalue() == ""
    assert shown[1][0]["text/plain"] == "checking  2 workers"
