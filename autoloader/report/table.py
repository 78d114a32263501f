"""The final report of a tune, laid out for a terminal, a pipe or a file.

Pure: a report in, something that rich can draw out. Facts and sentences are `data`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.knob_rows import signed_bytes
from autoloader.report.loop_rows import loops_table, step_words
from autoloader.report.pin_words import pin_words
from autoloader.units import format_bytes, format_rate, format_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import RenderableType

    from autoloader.measure.intervals import Interval
    from autoloader.report.data import ReportedCaution, TuneReport
    from autoloader.report.knob_rows import KnobRow
    from autoloader.report.rows import ConfigRow

_TO, _TIMES = "\u2013", "\u00d7"

_VERDICT_STYLES = {"met": "chosen", "not_met": "bad", "undecided": "doubt"}
"""Styles by state; of any other it is none of them."""


def draw(report: TuneReport) -> RenderableType:
    """Return the whole report: cautions, verdict, table, failed trials, why, facts."""
    parts: list[RenderableType] = [
        verdict_text(report.verdict, report.state),
        configs_table(report.rows),
    ]
    if report.step is not None:
        parts.append(loops_table(report.step, "default"))
    if report.cautions:
        parts.insert(0, cautions_list(report.cautions))
    if report.failed:
        parts.append(_failed(report))
    if report.why:
        parts.append(_labelled("why", report.why))
    if report.knobs:
        parts.append(knobs_table(report.knobs))
    parts.append(_facts(report))
    blank = Text("")
    return Group(*(item for part in parts for item in (part, blank)))


def labelled(lines: Iterable[tuple[Text, Text]]) -> Table:
    """Return labels with what they stand for, wrapped beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=8)
    grid.add_column(overflow="fold")
    for label, said in lines:
        grid.add_row(label, said)
    return grid


def with_hint(said: str, hint: str | None) -> Text:
    """Return a sentence with the way out on a line of its own."""
    text = Text(clean(said))
    return text.append(f"\n{clean(hint)}", style="label") if hint else text


def verdict_text(verdict: str, result: str) -> Text:
    """Return a verdict, what stands before its colon in the style of its state.

    Args:
        verdict: in words.
        result: `met`, `not_met`, `undecided` or another state.
    """
    state, colon, reason = clean(verdict).partition(":")
    return Text.assemble(
        (state.capitalize() + colon, _VERDICT_STYLES.get(result, "strong")),
        f"{reason}.",
    )


def cautions_list(cautions: Iterable[ReportedCaution]) -> RenderableType:
    """Return cautions with the way out of each."""
    return labelled(
        (
            Text("caution", style="doubt"),
            with_hint(
                f"{caution.code}: {caution.message}"
                if caution.code
                else caution.message,
                caution.hint,
            ),
        )
        for caution in cautions
    )


def configs_table(rows: Sequence[ConfigRow]) -> RenderableType:
    """Return the configs that a result is told by, one row each.

    A batch size that all of them have stands once, over them.
    """
    sizes = {row.config.batch_size for row in rows}
    size = sizes.pop() if len(sizes) == 1 else None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("" if size is None else f"batch {size}", overflow="fold")
    for heading in ("workers", "examples/s", "vs default", "wait", "memory"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        title = (f"▸ {row.title}", "chosen") if row.is_chosen else (row.title, "strong")
        table.add_row(
            _two_lines(Text(*title), _other_settings(row, told=size)),
            Text(str(row.config.num_workers)),
            _rate(row),
            interval_text(row.relative, multiple_like(row.relative)),
            _wait(row),
            _memory(row),
        )
    return table


def knobs_table(rows: Iterable[KnobRow]) -> RenderableType:
    """Return what each knob does by itself, one value of one knob a row."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("one knob changed", no_wrap=True)
    table.add_column("rate", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="label")
    table.add_column("memory", justify="right", no_wrap=True)
    for row in rows:
        if row.ratio is None:
            table.add_row(row.said, Text(""), Text(row.note), Text(""))
            continue
        words = multiple_like(row.ratio)
        ends = _ends(row.ratio, words) or "read apart"
        table.add_row(
            row.said, words(row.ratio.median), ends, signed_bytes(row.memory_bytes)
        )
    return table


def _two_lines(first: Text, second: str) -> Text:
    return Text.assemble(first, ("\n", ""), (second, "label"))


def _other_settings(row: ConfigRow, *, told: int | None) -> str:
    """Return the settings without the workers, and without a batch size that is told.

    The workers have a column.
    """
    _, _, others = row.config.describe().partition(", ")
    if told is None:
        return others
    return others.removesuffix(f"batch {told}").removesuffix(", ")


def _rate(row: ConfigRow) -> Text:
    """Return the rate and where it lies; of a trial without one its fate."""
    if row.rate is not None:
        return interval_text(row.rate, format_rate)
    fate = sentences.FATES[row.status]
    code = "" if row.code in (None, row.status.value) else row.code
    return _two_lines(Text(fate, style="bad"), code or "")


def _wait(row: ConfigRow) -> Text:
    """Return the median wait for a batch, and below it what few are longer than."""
    if row.waits is None or row.rate is None:
        return Text("-", style="label")
    most = f"99 % {format_wait(row.waits.p99_s)}"
    return _two_lines(Text(format_wait(row.waits.p50_s)), most)


def interval_text(interval: Interval | None, words: Callable[[float], str]) -> Text:
    """Return a median, and its interval below it where there is one."""
    if interval is None:
        return Text("-", style="label")
    return _two_lines(Text(words(interval.median)), _ends(interval, words))


def _ends(interval: Interval, words: Callable[[float], str]) -> str:
    """Return between what a value lies, its sign said once; empty: not known."""
    if interval.low is None or interval.high is None:
        return ""
    low = words(interval.low).removesuffix(_TIMES)
    return f"{low}{_TO}{words(interval.high)}"


def multiple_like(interval: Interval | None) -> Callable[[float], str]:
    """Return how ratios are written: with as many digits as this one carries."""
    median = 1.0 if interval is None else interval.median
    digits = 2 if median < 10 else 1 if median < 100 else 0
    return lambda ratio: f"{ratio:,.{digits}f}{_TIMES}"


def _memory(row: ConfigRow) -> Text:
    if row.peak_bytes is None:
        return Text("-", style="label")
    return _two_lines(
        Text(format_bytes(row.peak_bytes)), "" if row.queue_was_full else "or more"
    )


def _failed(report: TuneReport) -> RenderableType:
    """Return a line or two for each failed trial; a hint once for each code."""
    lines: list[tuple[Text, Text]] = []
    told: set[str] = set()
    for trial in report.failed:
        fate = Text(sentences.FATES[trial.status], style="bad")
        said = Text(trial.config.describe())
        said.append(f"\n{clean(trial.reason_beside_fate)}")
        if trial.hint and trial.code not in told:
            said.append(f"\n{clean(trial.hint)}", style="label")
        if trial.log:
            said.append(f"\nlog folder: {clean(trial.log)}", style="label")
        told.add(trial.code)
        lines.append((fate, said))
    return labelled(lines)


def _labelled(label: str, lines: Iterable[str]) -> RenderableType:
    return labelled((Text(label, style="label"), Text(clean(said))) for said in lines)


def _facts(report: TuneReport) -> RenderableType:
    step = () if report.step is None else step_words(report.step)
    pinning = () if report.pinning is None else pin_words(report.pinning)
    facts = (
        ("speed", report.bound),
        *step,
        *pinning,
        ("ranks", report.ranks),
        ("data", report.verification),
        ("scope", report.scope_words),
        ("search", report.search),
        ("untried", report.untried),
        ("race", report.race),
        ("time", report.duration),
        ("limit", report.limit),
        *(("advice", said) for said in report.advice),
        ("file", report.file),
        ("next", report.next_step),
        ("target", report.pointer),
    )
    return labelled(
        (Text(label, style="label"), Text(clean(said))) for label, said in facts if said
    )
