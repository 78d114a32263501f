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
from autoloader.units import counted, format_bytes, format_rate, format_seconds
from autoloader.values.outcome import Status
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from autoloader.measure.intervals import Interval
    from autoloader.report.estimate import Estimate
    from autoloader.report.progress import Progress, Rated
    from autoloader.search.budget import Budget
    from autoloader.values.target import Target

_TO = "\u2013"

MOST_LETTERS = 120
"""Letters of the reason why the latest trial failed: two lines of a narrow terminal.
The whole of it is told in the end."""

_GAUGE_WIDTH = 15
_GAUGE_END = 1.25  # of the target; whoever is faster still fills the gauge


def draw(progress: Progress, heading: Text) -> RenderableType:
    """Return the whole region.

    Args:
        progress: what is known by now.
        heading: lines that stay the same: dataset, what is wanted, machine.
    """
    blank = Text("")
    if progress.budget is None:
        return Group(blank, heading)
    body = [_now(progress)]
    if progress.phase == "race":
        body.insert(0, _race(progress))
    if progress.phase == "search" or progress.counts:
        body += [blank, _so_far(progress)]
    phase = _phase(progress, progress.budget)
    return Group(blank, heading, blank, phase, blank, *body)


def heading_of(dataset: str, target: Target, resources: str) -> Text:
    """Return the lines that say what is done, what is wanted, and what there is."""
    wanted = target.describe()
    if target.memory_bytes is not None:
        wanted += f", in at most {format_bytes(target.memory_bytes)} of memory"
    return Text.assemble(
        ("autoloader", "strong"),
        f"  {clean(dataset)}\n",
        ("wanted    ", "label"),
        f"{clean(wanted)}\n",
        ("machine   ", "label"),
        clean(resources),
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
    """Return what is running at this moment, and how fast it seems to be."""
    stage = progress.stage
    if progress.done:
        stage += f", {progress.done:,} {progress.unit}"
    running = progress.running
    detail = "" if progress.phase in {"search", "race"} else progress.detail
    what = running.describe() if running is not None else detail
    doing = ": ".join(filter(None, (progress.purpose, stage)))
    grid = _facts()
    grid.add_row("running", _one_line(what or "-"))
    grid.add_row("stage", _one_line(doing or "-"))
    if progress.phase in {"search", "race"}:
        grid.add_row("rate", _estimated(progress.estimate))
    return grid


def _estimated(estimate: Estimate | None) -> Text:
    """Return what the running pass delivers, as far as it can be told by now."""
    if estimate is None:
        return Text("-", style="label")
    rate = estimate.rate
    if rate is None:
        return Text("too early to tell", style="label")
    unit = "" if estimate.unit == "examples" else " batches"
    said = Text(f"{format_rate(rate.median)}{unit}/s")
    said.append(f"  {_ends(rate)}" if _ends(rate) else "", style="label")
    return said.append("  so far", style="label")


def _so_far(progress: Progress) -> RenderableType:
    """Return what the trials so far came to."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="label", no_wrap=True, min_width=8)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(style="label", no_wrap=True)
    grid.add_column()
    rated = {"fastest": progress.fastest, "simplest": progress.simplest}
    if progress.phase == "search":
        rated = {"last": progress.last, **rated}
    for label, entry in rated.items():
        grid.add_row(label, *_rated(entry))
    facts = _facts()
    facts.add_row("trials", _fates(progress) or Text("-", style="label"))
    if progress.passed_over:
        facts.add_row("untried", f"{progress.passed_over:,} passed over")
    if progress.last_failed is not None and progress.phase == "search":
        failed = FailedTrial.of(progress.last_failed)
        fate = Text(sentences.FATES[failed.status], style="bad")
        facts.add_row(fate, _one_line(failed.config.describe()))
        facts.add_row("", Text(_in_brief(clean(failed.reason_beside_fate))))
    return Group(grid, facts)


def _race(progress: Progress) -> RenderableType:
    """Return the finalists against the target, after the rounds so far."""
    title = counted(len(progress.rounds), "round")
    title += f"; decided after {LOOKS[0]} to {LOOKS[-1]}"
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
    return Group(Text(title, style="label"), grid, Text(""))


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


def _in_brief(text: str) -> str:
    """Return a text that takes two lines at most."""
    if len(text) <= MOST_LETTERS:
        return text
    return f"{text[: MOST_LETTERS - 1].rstrip()}…"


def _rated(entry: Rated | None) -> tuple[Text, Text, Text]:
    """Return the cells of a rate, how sure it is, and whose it is."""
    if entry is None:
        return Text("-", style="label"), Text(""), Text("")
    sure = _ends(entry.rate) or counted(entry.readings, "reading")
    rate = Text(f"{format_rate(entry.rate.median)}/s")
    return rate, Text(sure), _one_line(entry.config.describe())


def _ends(rate: Interval) -> str:
    """Return between what a rate lies; empty where that is not known."""
    if rate.low is None or rate.high is None:
        return ""
    return f"{format_rate(rate.low)}{_TO}{format_rate(rate.high)}"


def _fates(progress: Progress) -> Text:
    said = Text()
    for status, words in sentences.FATES.items():
        count = progress.counts[status]
        if not count:
            continue
        style = "good" if status is Status.MEASURED else "bad"
        said.append(" · " if said else "").append(f"{count} {words}", style=style)
    return said
