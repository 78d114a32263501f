"""Tables of a study's page.

Pure: a report and its sections in, tables out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval, median
from autoloader.report import sentences
from autoloader.report.html.blocks import Cell, Row, Table
from autoloader.report.html.cells import interval_cell, memory_cell, multiple
from autoloader.report.html.marks import label_of, look_of
from autoloader.report.knob_rows import signed_bytes, value_words
from autoloader.report.loop_rows import merged_loops
from autoloader.report.table import multiple_like
from autoloader.units import format_cost, format_percent, format_rate, format_wait
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autoloader.report.failed import FailedTrial
    from autoloader.report.rows import ConfigRow
    from autoloader.report.study import StudyReport
    from autoloader.report.study_figures import RaceFigures, TrialFigures, WaitCurve
    from autoloader.values.config import LoaderConfig

TO, TIMES = "\u2013", "\u00d7"

MOST_COLUMNS = 8
"""Configs of a race that the table of its rounds has room for."""

_STAGES = (
    ("reading", "reading_s", "reading_cpu_s"),
    ("collate", "collate_s", "collate_cpu_s"),
    ("a copy of the batch (part of collate)", None, "copy_cpu_s"),
    ("hand-over by the worker", None, "handover_cpu_s"),
    ("hand-over, training process", None, "takeover_cpu_s"),
)


def configs_table(report: StudyReport) -> Table:
    """Return PyTorch's default, the user's own, the fastest and the chosen config."""
    waits = {curve.config: curve for curve in report.waits}
    told = (report.sections.get("measured") or {}).get("wait_s")
    rows = tuple(
        Row(
            head=Cell(said=row.title, beneath=_other_settings(row.config)),
            cells=(
                Cell(said=str(row.config.num_workers)),
                _rate(row),
                interval_cell(row.relative, multiple_like(row.relative)),
                _wait(waits.get(row.config), told if row.is_chosen else None),
                memory_cell(row.peak_bytes, was_full=row.queue_was_full),
            ),
            look=look_of(row.names),
        )
        for row in report.rows
    )
    return Table(
        caption="Configs that the result is told by. Rates are of a whole epoch, with "
        "95 % intervals; waits are medians, with the 99th percentile below.",
        columns=("config", "workers", "examples/s", "vs default", "wait", "memory"),
        rows=rows,
    )


def knobs_table(report: StudyReport) -> Table | None:
    """Return what each knob does by itself; None where no neighbour was measured."""
    knobs: Mapping[str, Sequence[Mapping[str, Any]]] = (
        report.sections.get("knobs") or {}
    )
    config = report.config
    rows = [
        Row(
            head=Cell(said=f"{knob} = {value_words(effect['value'])}"),
            cells=(
                Cell(said=value_words(getattr(config, knob))),
                interval_cell(_ratio_of(effect), multiple),
                Cell(said=signed_bytes(effect["memory_bytes"])),
            ),
        )
        for knob, effects in knobs.items()
        for effect in effects
    ]
    if not rows:
        return None
    return Table(
        caption="What each knob does by itself: measured configs that differ from the "
        "recommended one in that knob alone. A ratio with an interval is of the race's "
        "common rounds, one without of all readings, unpaired.",
        columns=("instead", "recommended", "rate", "memory"),
        rows=tuple(rows),
    )


def _ratio_of(effect: Mapping[str, Any]) -> Interval:
    """Return a knob's effect on the rate; files of older versions have no ends."""
    return Interval(
        median=effect["rate_ratio"], low=effect.get("low"), high=effect.get("high")
    )


def trials_table(trials: Sequence[TrialFigures]) -> Table:
    """Return all trials in their order."""
    return Table(
        caption=f"All {len(trials)} trials, in order. Rates are medians of the race, "
        "of those that were not raced one reading. Seconds: when it began, since the "
        "study did, and how long it took.",
        columns=(
            "trial", "config", "proposed by", "fate", "examples/s", "readings",
            "memory", "began", "seconds",
        ),
        rows=tuple(
            Row(
                head=Cell(said=str(item.number)),
                cells=(
                    Cell(said=item.config.describe(), beneath=_names(item)),
                    Cell(said=item.source),
                    _fate(item.status, item.code),
                    interval_cell(item.rate, format_rate),
                    Cell(said=str(item.readings) if item.readings else ""),
                    memory_cell(item.peak_bytes, was_full=item.queue_was_full),
                    Cell(said="" if item.begun_s is None else f"{item.begun_s:.1f}"),
                    Cell(said=f"{item.seconds:.1f}"),
                ),
                look=look_of(item.names),
            )
            for item in trials
        ),
        words=frozenset({1, 2, 3}),
    )  # fmt: skip


def failed_table(failed: Sequence[FailedTrial]) -> Table:
    """Return the trials without a speed, with their causes; a hint once for a code."""
    told: set[str] = set()
    rows = []
    for item in failed:
        hint = item.hint or "" if item.code not in told else ""
        log = f"log folder: {item.log}" if item.log else ""
        told.add(item.code)
        rows.append(
            Row(
                head=Cell(said=str(item.number)),
                cells=(
                    Cell(said=item.config.describe()),
                    _fate(item.status, item.code),
                    Cell(
                        said=item.message or item.code,
                        beneath="; ".join(part for part in (hint, log) if part),
                    ),
                ),
            )
        )
    return Table(
        caption="Trials without a speed. What is wrong or broken has none, however "
        "fast it was.",
        columns=("trial", "config", "fate", "cause"),
        rows=tuple(rows),
        words=frozenset({1, 2, 3}),
    )


def race_table(race: RaceFigures) -> Table:
    """Return each raced config with its speed against the base, paired by rounds."""
    base = next(line for line in race.lines if line.config == race.base)
    against = label_of(base.config, base.names)
    rows = []
    for line in race.lines:
        rates = [rate for rate in line.rates if rate is not None]
        beneath = line.config.describe() if line.names else ""
        rows.append(
            Row(
                head=Cell(said=label_of(line.config, line.names), beneath=beneath),
                cells=(
                    Cell(said=str(len(rates))),
                    Cell(said=format_rate(median(rates))),
                    Cell(said=f"1{TIMES}")
                    if line is base
                    else interval_cell(line.relative, multiple),
                ),
                look=look_of(line.names),
            )
        )
    return Table(
        caption="The race. Ratios are of rates of the same round, so that what slowed "
        f"a whole round down cancels; intervals miss in {format_percent(race.error)} "
        "of cases.",
        columns=("config", "rounds", "examples/s", f"vs {against}"),
        rows=tuple(rows),
    )


def rounds_table(race: RaceFigures) -> Table:
    """Return the rates of each round, as far as configs have a column."""
    lines = race.lines[:MOST_COLUMNS]
    return Table(
        caption="Examples a second, round by round"
        + (
            f"; {len(race.lines) - len(lines)} configs are left out"
            * (lines != race.lines)
        ),
        columns=("round", *(label_of(line.config, line.names) for line in lines)),
        rows=tuple(
            Row(
                head=Cell(said=str(number + 1)),
                cells=tuple(_rate_of(line.rates[number]) for line in lines),
            )
            for number in range(len(race.rounds))
        ),
    )


def stages_table(limit: Mapping[str, Any]) -> Table | None:
    """Return what an example costs, stage by stage; None where that is not told."""
    stages = limit.get("stages") or {}
    rows = tuple(
        Row(
            head=Cell(said=name),
            cells=(
                Cell(said=_cost(stages.get(wall) if wall else None)),
                Cell(said=_cost(stages[cpu])),
            ),
        )
        for name, wall, cpu in _STAGES
        if stages.get(cpu) is not None
    )
    if not rows:
        return None
    return Table(
        caption="What an example costs, stage by stage.",
        columns=("stage", "seconds", "CPU seconds"),
        rows=rows,
    )


def functions_table(limit: Mapping[str, Any]) -> Table | None:
    """Return the functions that carry the reading; None where none were found."""
    functions = limit.get("functions") or ()
    if not functions:
        return None
    return Table(
        caption="Functions that carry the reading of an example, what they call left "
        "out.",
        columns=("function", "share of reading", "calls an example"),
        rows=tuple(
            Row(
                head=Cell(said=item["name"]),
                cells=(
                    Cell(said=format_percent(item["share"])),
                    Cell(said=f"{item['calls_per_example']:.3g}"),
                ),
            )
            for item in functions
        ),
    )


def loops_table(step: Mapping[str, Any]) -> Table:
    """Return the training loops; their rates stand in no other table."""
    return Table(
        caption="Training loops: examples a second with the step in the loop, and the "
        "part of the time that the step waited.",
        columns=(
            "training loop",
            "workers",
            "examples/s",
            "vs default",
            "waits",
            "step",
        ),
        rows=tuple(
            Row(
                head=Cell(said=title),
                cells=(
                    Cell(said=str(loop["dataloader"].get("num_workers", 0))),
                    *_loop_cells(loop),
                ),
            )
            for title, loop in merged_loops(step["loops"])
        ),
    )


def fields_table(contract: Mapping[str, Any]) -> Table:
    """Return the fields that every example has."""
    return Table(
        caption="Fields that all examples had.",
        columns=("field", "type", "dtype", "shape", "content"),
        rows=tuple(
            Row(
                head=Cell(said=item["path"] or "(the example)"),
                cells=(
                    Cell(said=str(item["type"])),
                    Cell(said=item.get("dtype") or ""),
                    Cell(said=_shape(item.get("shape"))),
                    Cell(said="random" if item.get("random") else "fixed"),
                ),
            )
            for item in contract["fields"]
        ),
        words=frozenset({1, 2, 3, 4}),
    )


def _rate(row: ConfigRow) -> Cell:
    if row.rate is not None:
        return interval_cell(row.rate, format_rate)
    return _fate(row.status, row.code)


def _fate(status: Status, code: str | None) -> Cell:
    look = "" if status is Status.MEASURED else "bad"
    return Cell(said=sentences.FATES[status], beneath=code or "", look=look)


def _rate_of(rate: float | None) -> Cell:
    return Cell(said="" if rate is None else format_rate(rate))


def _wait(curve: WaitCurve | None, told: Mapping[str, Any] | None) -> Cell:
    """Return how long a batch was waited for, by the readings or by the file."""
    if curve is not None:
        half, most = curve.quantile(0.5), curve.quantile(0.99)
    elif told is not None:
        half, most = told["p50"], told["p99"]
    else:
        return Cell()
    return Cell(said=format_wait(half), beneath=f"99 %: {format_wait(most)}")


def _other_settings(config: LoaderConfig) -> str:
    """Return the settings without the workers, which have a column."""
    return config.describe().partition(", ")[2]


def _names(trial: TrialFigures) -> str:
    return label_of(trial.config, trial.names) if trial.names else ""


def _loop_cells(loop: Mapping[str, Any]) -> tuple[Cell, ...]:
    if loop["failed"] is not None:
        return (Cell(said="failed", look="bad"), Cell(), Cell(), Cell())
    relative = loop.get("relative")
    waits = loop["wait_share"]
    return (
        _ends(loop["loop_rate"], format_rate),
        Cell() if relative is None else _ends(relative, multiple),
        Cell(said=format_percent(waits["mean"])),
        Cell(said=format_wait(loop["compute_s"])),
    )


def _ends(found: Mapping[str, Any], words: Callable[[float], str]) -> Cell:
    beneath = ""
    if found["low"] is not None and found["high"] is not None:
        beneath = f"{words(found['low'])}{TO}{words(found['high'])}"
    return Cell(said=words(found["median"]), beneath=beneath)


def _shape(shape: Sequence[int | None] | None) -> str:
    if shape is None:
        return ""
    sizes = ("any" if size is None else str(size) for size in shape)
    return f" {TIMES} ".join(sizes) or "a single number"


def _cost(seconds: float | None) -> str:
    return "" if seconds is None else format_cost(seconds)
