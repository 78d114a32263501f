"""What is worth knowing before the figures of a comparison are believed.

Pure: a result in, cautions out; the gate's own come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.export.reading_cautions import reading_cautions
from autoloader.measure.device_doubts import device_doubts
from autoloader.measure.throughput import has_steady_window
from autoloader.report.data import ReportedCaution
from autoloader.report.measure_rows import counted_readings
from autoloader.report.sentences import FATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from autoloader.measuring import Measured, MeasureResult


def cautions_of(result: MeasureResult) -> tuple[ReportedCaution, ...]:
    """Return the cautions of a result, each once."""
    found = [
        *_of_dataset(result),
        *_of_gate(result),
        *_baseline(result),
        *_readings(result),
        *_batch_sizes(result),
        *_epoch(result),
        *_windows(result),
        *_queues(result),
        *_fresh(result),
        *_devices(result),
    ]
    return tuple(dict.fromkeys(found))


def _of_dataset(result: MeasureResult) -> Iterator[ReportedCaution]:
    for item in result.reference.cautions:
        yield ReportedCaution(code=item.code, message=item.message, hint=item.hint)


def _of_gate(result: MeasureResult) -> Iterator[ReportedCaution]:
    """Yield what the gate noted, with the names of the configs."""
    seen: dict[tuple[str, str, str | None], list[str]] = {}
    gated = [item for item in result.measured if item.outcome.verdict is not None]
    for item in gated:
        for noted in item.outcome.verdict.cautions if item.outcome.verdict else ():
            key = noted.code, noted.message, noted.hint
            seen.setdefault(key, []).append(item.contender.name)
    for (code, message, hint), names in seen.items():
        said = message if len(names) == len(gated) else f"{_list(names)}: {message}"
        yield ReportedCaution(code=code, message=said, hint=hint)


def _baseline(result: MeasureResult) -> Iterator[ReportedCaution]:
    first = result.measured[0]
    rest = _with_speed(result)
    if first.has_speed or not rest:
        return
    fate = FATES[first.outcome.status]
    yield ReportedCaution(
        code="baseline_failed",
        message=f"{first.contender.name} has no speed ({fate}): ratios are to "
        f"{rest[0].contender.name}",
        hint=None,
    )


def _readings(result: MeasureResult) -> Iterator[ReportedCaution]:
    readings = [reading for item in result.measured for reading in item.readings]
    facts, machine = result.reference.facts, result.machine
    for found in reading_cautions(readings, facts, machine):
        yield ReportedCaution(
            code=found["code"], message=found["message"], hint=found["hint"]
        )


def _devices(result: MeasureResult) -> Iterator[ReportedCaution]:
    for item in device_doubts(() if result.loops is None else result.loops.devices):
        yield ReportedCaution(code=item.code, message=item.message, hint=item.hint)


def _batch_sizes(result: MeasureResult) -> Iterator[ReportedCaution]:
    sizes = [item.contender.config.batch_size for item in result.measured]
    if len(set(sizes)) > 1:
        listed = _list([str(size) for size in dict.fromkeys(sizes)])
        yield ReportedCaution(
            code="batch_sizes_differ",
            message=f"the configs have batches of {listed} examples",
            hint="rates are in examples, but another batch size trains differently",
        )


def _epoch(result: MeasureResult) -> Iterator[ReportedCaution]:
    if result.reference.scope.epoch_examples is None:
        yield ReportedCaution(
            code="epoch_unknown",
            message="the length of an epoch is not known: rates are steady ones, "
            "start and end of an epoch left out",
            hint="--epoch-examples says how long it is",
        )


def _windows(result: MeasureResult) -> Iterator[ReportedCaution]:
    names = [
        item.contender.name
        for item in _with_speed(result)
        if not any(map(has_steady_window, counted_readings(item.readings)))
    ]
    if names:
        has = "has" if len(names) == 1 else "have"
        yield ReportedCaution(
            code="no_steady_window",
            message=f"{_list(names)} {has} no steady rate: an epoch is over within the "
            "warm-up",
            hint="the epoch rate counts, start and end of workers included",
        )


def _queues(result: MeasureResult) -> Iterator[ReportedCaution]:
    names = [
        item.contender.name
        for item in result.measured
        if item.outcome.memory is not None and not item.outcome.memory.queue_was_full
    ]
    if names:
        yield ReportedCaution(
            code="queue_not_full",
            message=f"the queue of {_list(names)} was not seen full: the memory is a "
            "lower bound",
            hint=None,
        )


def _fresh(result: MeasureResult) -> Iterator[ReportedCaution]:
    if result.why_fresh is not None:
        yield ReportedCaution(
            code=None,
            message=f"each pass had a fresh process: {result.why_fresh}",
            hint=None,
        )


def _with_speed(result: MeasureResult) -> list[Measured]:
    return [item for item in result.measured if item.has_speed]


def _list(names: Sequence[str] | Iterable[str]) -> str:
    """Return `A`, `A and B`, or `A, B and C`."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
