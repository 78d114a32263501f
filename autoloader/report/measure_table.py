"""The end of a measuring, laid out for a terminal, a pipe or a file.

Pure: a report in, something that rich can draw out. Facts and sentences are
`measure`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.loop_rows import loops_table, step_words
from autoloader.report.measure import multiple
from autoloader.report.rank_words import rank_words
from autoloader.report.table import labelled, with_hint
from autoloader.search.comparison import PairVerdict
from autoloader.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

    from autoloader.measure.intervals import Interval
    from autoloader.report.measure import MeasureReport
    from autoloader.report.measure_rows import MeasureRow

_TO = "\u2013"

_TITLES = {"given": "", "yours": "  yours", "pytorch_default": "  PyTorch default"}

_VERDICTS = {
    PairVerdict.DIFFERENT: ("faster", "chosen"),
    PairVerdict.EQUAL: ("equal", "good"),
    PairVerdict.UNDECIDED: ("unknown", "doubt"),
}


def draw(report: MeasureReport) -> RenderableType:
    """Return cautions, the two tables, what is known of pairs, failures and facts."""
    parts: list[RenderableType] = []
    if report.cautions:
        parts.append(_cautions(report))
    parts.append(_speeds(report))
    if any(row.has_speed for row in report.rows):
        parts.append(_times(report))
    if report.step is not None:
        parts.append(loops_table(report.step, report.baseline or "-"))
    parts.append(labelled(_statements(report)))
    if report.failed:
        parts.append(labelled(_failed(report)))
    parts.append(labelled(_facts(report)))
    blank = Text("")
    return Group(*(item for part in parts for item in (part, blank)))


def _cautions(report: MeasureReport) -> RenderableType:
    return labelled(
        (
            Text("caution", style="doubt"),
            with_hint(
                f"{item.code}: {item.message}" if item.code else item.message, item.hint
            ),
        )
        for item in report.cautions
    )


def _speeds(report: MeasureReport) -> RenderableType:
    """Return rates and memory by config."""
    table = _table("", "examples/s", f"vs {report.baseline or '-'}", "steady", "memory")
    for row in report.rows:
        table.add_row(
            _title(row), _rate(row), _relative(row), _steady(row), _memory(row)
        )
    return table


def _times(report: MeasureReport) -> RenderableType:
    """Return seconds by config: start, waits, end."""
    table = _table(
        "seconds", "first batch", "wait p50", "wait p99", "longest wait", "end"
    )
    for row in report.rows:
        if not row.has_speed:
            continue
        waits = row.waits
        seconds = (
            row.first_batch_s,
            None if waits is None else waits.p50_s,
            None if waits is None else waits.p99_s,
            None if waits is None else waits.max_s,
            row.end_s,
        )
        table.add_row(Text(row.name, style="strong"), *map(_seconds, seconds))
    return table


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _title(row: MeasureRow) -> Text:
    return Text.assemble(
        (f"{row.name}{_TITLES[row.source]}", "strong"),
        ("\n" + row.config.describe(), "label"),
    )


def _rate(row: MeasureRow) -> Text:
    """Return the rate and where it lies; of a config without one its fate."""
    if row.rate is not None:
        return _interval(row.rate, format_rate)
    fate = Text(sentences.FATES[row.status], style="bad")
    return fate.append(f"\n{row.code or ''}", style="label")


def _relative(row: MeasureRow) -> Text:
    if row.relative is None:
        return Text("1" if row.is_baseline else "-", style="label")
    like = row.relative.median
    return _interval(row.relative, lambda ratio: multiple(ratio, like))


def _steady(row: MeasureRow) -> Text:
    if row.steady is None:
        return Text("-", style="label")
    return Text(format_rate(row.steady.median))


def _memory(row: MeasureRow) -> Text:
    if row.memory is None:
        return Text("-", style="label")
    bound = "" if row.memory.queue_was_full else "\nor more"
    return Text(format_bytes(row.memory.peak_bytes)).append(bound, style="label")


def _interval(interval: Interval, words: Callable[[float], str]) -> Text:
    """Return a median, and its interval below it where there is one."""
    said = Text(words(interval.median))
    if interval.low is not None and interval.high is not None:
        ends = f"\n{words(interval.low)}{_TO}{words(interval.high)}"
        said.append(ends, style="label")
    return said


def _seconds(value: float | None) -> Text:
    """Return seconds; below one second to a tenth of a millisecond."""
    if value is None:
        return Text("-", style="label")
    digits = 4 if value < 1 else 2 if value < 10 else 0
    return Text(f"{value:,.{digits}f}")


def _statements(report: MeasureReport) -> Iterator[tuple[Text, Text]]:
    """Yield what is known of pairs; the way out after the last that is not known."""
    for item in report.statements:
        label, style = _VERDICTS[item.verdict]
        yield Text(label, style=style), Text(clean(item.words))
    if report.hint is not None:
        yield Text(""), Text(clean(report.hint), style="label")
    if not report.statements:
        yield (
            Text("none", style="bad"),
            Text("fewer than two configs could be measured: nothing was compared"),
        )


def _failed(report: MeasureReport) -> Iterator[tuple[Text, Text]]:
    """Yield why configs have no speed; a hint once for each code."""
    told: set[str] = set()
    for name, trial in report.failed:
        said = Text(f"{name}, {trial.config.describe()}")
        said.append(f"\n{clean(trial.reason)}")
        if trial.hint and trial.code not in told:
            said.append(f"\n{clean(trial.hint)}", style="label")
        if trial.log:
            said.append(f"\nlog folder: {clean(trial.log)}", style="label")
        told.add(trial.code)
        yield Text(sentences.FATES[trial.status], style="bad"), said


def _of_ranks(report: MeasureReport) -> Iterator[tuple[str, str | None]]:
    """Yield what each config's ranks reached; nothing of one training process."""
    for row in report.rows:
        if row.ranks is not None:
            said = rank_words(row.ranks.to_dict())
            yield "ranks", f"{row.name}: {said}"


def _facts(report: MeasureReport) -> Iterator[tuple[Text, Text]]:
    step = () if report.step is None else step_words(report.step)
    facts = (
        ("sure", report.certainty),
        *step,
        ("data", report.data),
        *_of_ranks(report),
        ("rounds", report.rounds),
        ("units", report.units),
        ("scope", report.scope),
        ("machine", report.place),
        ("study", str(report.study)),
    )
    for label, said in facts:
        if said:
            yield Text(label, style="label"), Text(clean(said))
