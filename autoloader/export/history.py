"""The history of a recommendation: one JSON line a night, in a file beside it.

Appended and synced, a torn end cut off. Who looks at it may do so while a night runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoloader.errors import StoredFileError
from autoloader.measure.trend import trend_of
from autoloader.search.json_lines import append_line, cut_end, whole_lines
from autoloader.values.decode import shown, value_of
from autoloader.values.night import Drift, Night

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = 1

SUFFIX = ".history.jsonl"
"""What the history's name has behind that of its recommendation."""

DRIFT_ERROR = 0.01
"""Share of recommendations whose nights only scatter, of which a drift is told some
day."""


def history_path(file: Path) -> Path:
    """Return where the history of a recommendation is kept."""
    return file.with_name(f"{file.name}{SUFFIX}")


def history_of(path: str | Path) -> tuple[Night, ...]:
    """Return the nights of a recommendation, the oldest first.

    Nothing is mended: a night that is being written is left out.

    Args:
        path: an `autoloader.yaml`, or its history; where there is none yet, no night
            was.

    Raises:
        StoredFileError: the history is damaged.
    """
    found = Path(path)
    if not found.name.endswith(SUFFIX):
        found = history_path(found)
    return _read(found)[0]


def add_night(file: Path, night: Night) -> None:
    """Append a night to the history of a recommendation; it is then on the disk.

    Raises:
        StoredFileError: the disk refuses, or the history is damaged.
    """
    path = history_path(file)
    _, torn = _read(path)
    try:
        cut_end(path, torn)
        append_line(path, {"schema": SCHEMA, **night.to_dict()})
    except OSError as exc:
        msg = f"{path} cannot be written: {exc.strerror}"
        raise StoredFileError(msg, hint="what stood there before is whole") from exc


def series_of(nights: Sequence[Night], file_date: str | None) -> tuple[Night, ...]:
    """Return the nights that judged the same study's file: others speak of others."""
    return tuple(night for night in nights if night.file_date == file_date)


def drifts_of(nights: Sequence[Night]) -> tuple[Drift, ...]:
    """Return what drifts over the nights of one study's file.

    Args:
        nights: of one series (`series_of`), the oldest first.
    """
    told = (_drift(nights, "rate"), _drift(nights, "vs_default"))
    return tuple(item for item in told if item is not None)


def _drift(
    nights: Sequence[Night], name: Literal["rate", "vs_default"]
) -> Drift | None:
    values = [value for night in nights if (value := getattr(night, name))]
    trend = trend_of(values, error=DRIFT_ERROR / 2)
    if trend is None:
        return None
    return Drift(
        of=name,
        per_night=trend.per_step,
        nights=trend.steps,
        probability=trend.probability,
    )


def _read(path: Path) -> tuple[tuple[Night, ...], int]:
    """Return the nights in a file, and the bytes of a torn one at its end."""
    try:
        lines, torn = whole_lines(path)
    except FileNotFoundError:
        return (), 0
    except OSError as exc:
        msg = f"{path} cannot be read: {exc.strerror}"
        raise StoredFileError(msg) from exc
    nights = (_night(path, number, line) for number, line in enumerate(lines, start=1))
    return tuple(nights), torn


def _night(path: Path, number: int, line: bytes) -> Night:
    """Return the night that a line tells."""
    hint = f"move {path.name} away, and a new history begins"
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as exc:
        msg = f"{path}, line {number} is no JSON: {exc}"
        raise StoredFileError(msg, hint=hint) from exc
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != SCHEMA:
        msg = f"{path}, line {number} has schema {shown(schema)}, "
        raise StoredFileError(msg + f"this version reads {SCHEMA}", hint=hint)
    try:
        return value_of(Night, data, place="night")
    except StoredFileError as exc:
        msg = f"{path}, line {number} is no night: {exc.message}"
        raise StoredFileError(msg, hint=hint) from exc
