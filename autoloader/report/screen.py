"""What the live region shows of a running study.

Pure: progress in, something that rich can draw out. When it is drawn is `live`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.failed import FailedTrial
from autoloader.search.race import LOOKS
from autoloader.units import format_rate, format_seconds
from autoloader.values.outcome import Status
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from autoloader.report.progress import Progress, Rated
    from autoloader.search.budget import Budget

_GAUGE_WIDTH = 15
_GAUGE_END = 1.25  # of the target; whoever is faster still fills the gauge


def draw(progress: Progress, heading: Text) -> RenderableType:
    """Return the whole region.

    Args:
        progress: what is known by now.
        heading: lines that stay the same: dataset, target, machine.
    """
    blank = Text("")
    if progress.budget is None:
        return Group(blank, heading)
    match progress.phase:
        case "search":
            body = [_now(progress), _so_far(progress)]
        case "race":
            body = [_race(progress), _now(progress)]
        case _:
            body = [_now(progress)]
    phase = _phase(progress, progress.budget)
    return Group(blank, heading, blank, phase, blank, *body)


def heading_of(dataset: str, target: str, resources: str) -> Text:
    """Return the lines that name what is being done."""
    return Text.assemble(
        ("autoloader", "strong"),
        f"  {clean(dataset)}\n",
        (clean(f"target {target}, on {resources}"), "label"),
        no_wrap=True,
        overflow="ellipsis",
    )


def _phase(progress: Progress, budget: Budget) -> RenderableType:
    """Return the phase's name, how far it has come, and the time that is left."""
    spent, left = _spent(progress, budget)
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    bar = ProgressBar(
        total=1.0,
        completed=spent,
        style="label",
        complete_style="done",
        finished_style="done",
    )
    grid.add_row(Text(progress.phase, style="strong"), bar, Text(left))
    return grid


def _spent(progress: Progress, budget: Budget) -> tuple[float, str]:
    """Return the part that is over, from 0 to 1, and what is left in words."""
    if progress.pace is not None:
        return progress.pace.share, progress.pace.describe()
    left_s = budget.left_s
    left = f"{format_seconds(round(left_s))} left" if left_s >= 1 else "time is up"
    return 1 - left_s / (budget.end - budget.begun), left


def _now(progress: Progress) -> RenderableType:
    """Return what is running at this moment."""
    stage = progress.stage
    if progress.done:
        stage += f", {progress.done:,} {progress.unit}"
    grid = _facts()
    if progress.phase != "race":
        running = progress.running
        detail = "" if progress.phase == "search" else progress.detail
        what = running.describe() if running is not None else detail
        grid.add_row("running", _one_line(what or "-"))
    grid.add_row("stage", _one_line(stage or "-"))
    return grid


def _so_far(progress: Progress) -> RenderableType:
    """Return what the trials so far came to."""
    grid = _facts()
    grid.add_row("last", _rated(progress.last))
    grid.add_row("fastest", _rated(progress.fastest))
    grid.add_row("simplest", _rated(progress.simplest, "  (may be enough)"))
    grid.add_row("trials", _fates(progress) or Text("-", style="label"))
    if progress.last_failed is not None:
        failed = FailedTrial.of(progress.last_failed)
        said = f"{failed.config.describe()}: {failed.reason}"
        grid.add_row("", _one_line(said, style="bad"))
    return grid


def _race(progress: Progress) -> RenderableType:
    """Return the finalists against the target, after the rounds so far."""
    looks = ", ".join(map(str, LOOKS[:-1])) + f" or {LOOKS[-1]}"
    count = len(progress.rounds)
    title = f"{count} round{'' if count == 1 else 's'}; decided after {looks}"
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(no_wrap=True)
    for standing in progress.standings:
        share = standing.ratio * (1 - INDIFFERENCE)
        grid.add_row(
            _one_line(standing.config.describe()),
            Text(f"{format_rate(standing.rate.median)}/s"),
            _gauge(share),
        )
    if not progress.rounds:
        for name in progress.detail.split("; "):
            grid.add_row(_one_line(name))
    return Group(Text(title, style="label"), Text(""), grid, Text(""))


def _gauge(share: float) -> Text:
    """Return a bar that shows a share of the target, and where the target is."""
    filled = int(min(share / _GAUGE_END, 1.0) * _GAUGE_WIDTH)
    mark = int(_GAUGE_WIDTH / _GAUGE_END)
    bar = f"{'━' * filled:<{_GAUGE_WIDTH}}"
    return Text.assemble(
        (bar[:mark], "done"),
        ("│", "strong"),
        (bar[mark:], "done"),
        f" {share * 100:4.0f} %",
    )


def _facts() -> Table:
    """Return a grid of labels and what they stand for, one line each."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="label", no_wrap=True, min_width=8)
    grid.add_column()
    return grid


def _one_line(text: str, style: str = "") -> Text:
    """Return a text that is cut rather than wrapped: the region keeps its height."""
    return Text(clean(text), style=style, no_wrap=True, overflow="ellipsis")


def _rated(entry: Rated | None, note: str = "") -> Text:
    if entry is None:
        return Text("-", style="label")
    said = _one_line(f"{format_rate(entry.examples_per_s)}/s")
    said.pad_left(10 - len(said))
    said.append(f"  {entry.config.describe()}")
    return said.append(note, style="label")


def _fates(progress: Progress) -> Text:
    said = Text()
    for status, words in sentences.FATES.items():
        count = progress.counts[status]
        if not count:
            continue
        style = "good" if status is Status.MEASURED else "bad"
        said.append(" · " if said else "").append(f"{count} {words}", style=style)
    if progress.passed_over:
        said.append(f" · {progress.passed_over} passed over", style="label")
    return said
