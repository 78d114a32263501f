"""What people see in a terminal: the only module here that prints.

Progress goes to the stream that a view is made for, results to the one that is handed
in. Light to import: rich is loaded when something is laid out.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Literal, TextIO

from autoloader.report.cleaning import clean
from autoloader.report.surface import (
    AMBER,
    RED,
    console_on,
    is_redrawn,
    shows_colour,
    writable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rich.console import RenderableType

    from autoloader.measure.needs import Needs
    from autoloader.report.comparison import Comparison
    from autoloader.report.data import TuneReport
    from autoloader.report.live import LiveView
    from autoloader.report.measure import MeasureReport
    from autoloader.report.measure_view import LiveMeasure, PlainMeasure, QuietMeasure
    from autoloader.report.nights import Nights
    from autoloader.report.plain import PlainStatus, PlainView, QuietStatus, QuietView
    from autoloader.report.status import LiveStatus
    from autoloader.report.study import StudyReport
    from autoloader.retune_values import RetuneResult
    from autoloader.values.machine import Machine
    from autoloader.values.target import Target

_DOING = {"check": "checking", "diagnose": "diagnosing"}

_DOUBT, _BAD, _RESET = f"\x1b[38;5;{AMBER}m", f"\x1b[38;5;{RED}m", "\x1b[0m"


def view_for(
    stream: TextIO,
    *,
    quiet: bool,
    dataset: str,
    target: Target,
    machine: Machine,
    command: str = "tune",
) -> LiveView | PlainView | QuietView:
    """Return the view of a study that fits a stream, as a context manager.

    Args:
        stream: where progress goes; it stays open.
        quiet: whether nothing is to be shown.
        dataset: SPEC, as the user wrote it.
        target: what is wanted of the loader that is measured.
        machine: where it runs.
        command: which one it is.
    """
    if quiet:
        from autoloader.report.plain import QuietView

        return QuietView()
    if is_redrawn(stream):
        from autoloader.report.live import LiveView

        return LiveView(stream, dataset=dataset, target=target, machine=machine)
    from autoloader.report.plain import PlainView

    return PlainView(
        stream, dataset=dataset, target=target, machine=machine, command=command
    )


def check_view(
    stream: TextIO, *, quiet: bool, command: Literal["check", "diagnose"] = "check"
) -> LiveStatus | PlainStatus | QuietStatus:
    """Return the view of a check that fits a stream, as a context manager.

    Args:
        stream: where progress goes; it stays open.
        quiet: whether nothing is to be shown.
        command: whose steps they are.
    """
    if quiet:
        from autoloader.report.plain import QuietStatus

        return QuietStatus()
    if is_redrawn(stream):
        from autoloader.report.status import LiveStatus

        return LiveStatus(stream, doing=_DOING[command])
    from autoloader.report.plain import PlainStatus

    return PlainStatus(stream, command=command)


def measure_view(
    stream: TextIO, *, quiet: bool, dataset: str, machine: Machine, rounds: int | None
) -> LiveMeasure | PlainMeasure | QuietMeasure:
    """Return the view of a measuring that fits a stream, as a context manager.

    Args:
        stream: where progress goes; it stays open.
        quiet: whether nothing is to be shown.
        dataset: SPEC, as the user wrote it.
        machine: where it runs.
        rounds: how many there are to be; None: until each pair is settled.
    """
    from autoloader.report.measure_view import LiveMeasure, PlainMeasure, QuietMeasure

    if quiet:
        return QuietMeasure()
    if is_redrawn(stream):
        return LiveMeasure(stream, dataset=dataset, machine=machine, rounds=rounds)
    return PlainMeasure(stream, dataset=dataset, machine=machine)


def print_report(report: TuneReport, stream: TextIO | None = None) -> None:
    """Print the end of a tune; stdout where no stream is named."""
    from autoloader.report.table import draw

    _print(draw(report), stream)


def print_check(check: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print the result of a check; stdout where no stream is named.

    Args:
        check: the object that `check --json` writes.
        stream: where to.
    """
    from autoloader.report.check import draw

    _print(draw(check), stream)


def print_diagnosis(
    diagnosis: Mapping[str, Any], record: str | None, stream: TextIO | None = None
) -> None:
    """Print the result of a diagnosis; stdout where no stream is named.

    Args:
        diagnosis: the object that `diagnose --json` writes.
        record: file that the record sheet was written to; None: there is none.
        stream: where to.
    """
    from autoloader.report.diagnosis import draw

    _print(draw(diagnosis, record), stream)


def print_measure(report: MeasureReport, stream: TextIO | None = None) -> None:
    """Print the end of a measuring; stdout where no stream is named."""
    from autoloader.report.measure_table import draw

    _print(draw(report), stream)


def print_machine(machine: Machine, stream: TextIO | None = None) -> None:
    """Print what a machine offers; stdout where no stream is named."""
    from autoloader.report.machine import draw

    _print(draw(machine), stream)


def print_needs(
    needs: Needs, machine: Mapping[str, Any], stream: TextIO | None = None
) -> None:
    """Print what a target takes; stdout where no stream is named.

    Args:
        needs: of the target.
        machine: section of the file that they were worked out of.
        stream: where to.
    """
    from autoloader.report.needs import draw

    _print(draw(needs, machine), stream)


def print_study(
    report: StudyReport, *, page: Path, size: int, stream: TextIO | None = None
) -> None:
    """Print what a study's page begins with, and where it is.

    Args:
        report: of the study.
        page: that was written.
        size: of it, in bytes.
        stream: where to; stdout where none is named.
    """
    from autoloader.report.study_view import draw_study

    _print(draw_study(report, page=page, size=size), stream)


def print_comparison(
    found: Comparison, *, page: Path | None, stream: TextIO | None = None
) -> None:
    """Print what changed from one recommendation to another.

    Args:
        found: the comparison.
        page: that was written; None: none was.
        stream: where to; stdout where none is named.
    """
    from autoloader.report.study_view import draw_comparison

    _print(draw_comparison(found, page=page), stream)


def print_nights(
    found: Nights, *, page: Path | None, stream: TextIO | None = None
) -> None:
    """Print what came of every night of a recommendation.

    Args:
        found: the nights.
        page: that was written; None: none was.
        stream: where to; stdout where none is named.
    """
    from autoloader.report.nights_view import draw_nights

    _print(draw_nights(found, page=page), stream)


def print_night(result: RetuneResult, stream: TextIO | None = None) -> None:
    """Print what came of a night; stdout where no stream is named."""
    from autoloader.report.night import draw

    _print(draw(result), stream)


def print_error(message: str, hint: str | None, stream: TextIO | None = None) -> None:
    """Print what is wrong and the way out; stderr where no stream is named."""
    stream = sys.stderr if stream is None else stream
    bad, doubt, reset = (_BAD, _DOUBT, _RESET) if shows_colour(stream) else ("", "", "")
    lines = [f"{bad}autoloader:{reset} {clean(message)}"]
    if hint is not None:
        lines.append(f"  {doubt}hint:{reset} {clean(hint)}")
    with contextlib.suppress(BrokenPipeError):
        print("\n".join(lines), file=writable(stream), flush=True)


def print_caution(message: str, hint: str | None, stream: TextIO | None = None) -> None:
    """Print what is worth knowing before all else; stderr where no stream is named."""
    stream = sys.stderr if stream is None else stream
    said = f"caution: {clean(message)}" + (f" ({clean(hint)})" if hint else "")
    with contextlib.suppress(BrokenPipeError):
        print(said, file=writable(stream), flush=True)


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print what a training is told; stderr where no stream is named."""
    stream = sys.stderr if stream is None else stream
    with contextlib.suppress(BrokenPipeError):
        print("\n".join(map(clean, lines)), file=writable(stream), flush=True)


def _print(drawing: RenderableType, stream: TextIO | None) -> None:
    """Print without the spaces that rich fills lines up with."""
    stream = sys.stdout if stream is None else stream
    console = console_on(stream)
    with console.capture() as capture:
        console.print(drawing)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    print("\n".join(lines).rstrip(), file=writable(stream), flush=True)
