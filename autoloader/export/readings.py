"""Give the readings of a study as a table, one row a reading.

Reads what `search.record` writes, without its lock and without mending anything: a
study that is running can be looked at. Rates are worked out of the raw readings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import AutoloaderError, StoredFileError
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    steady_rate,
    wait_percentiles,
    warm_s,
)
from autoloader.values.decode import shown, value_of
from autoloader.values.machine import Machine
from autoloader.values.outcome import Outcome, Reading
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pandas import DataFrame

OUTCOMES = "outcomes.jsonl"

STUDIES = ".autoloader"
"""Folder with studies, in the working folder of the command that made them."""

_MOST = 2**63 - 1
"""Largest whole number that a column holds."""

_DTYPES: dict[str, Any] = {
    "trial": "Int64", "source": "string", "num_workers": "Int64",
    "prefetch_factor": "Int64", "pin_memory": "boolean",
    "persistent_workers": "boolean", "batch_size": "Int64", "status": "string",
    "purpose": "string", "replaced_because": "string", "kept": "boolean",
    "cache": "string", "epoch_rate": "Float64", "steady_rate": "Float64",
    "first_batch_s": "Float64", "warm_s": "Float64", "end_s": "Float64",
    "total_s": "Float64", "wait_p50_s": "Float64", "wait_p99_s": "Float64",
    "wait_max_s": "Float64", "batches": "Int64", "examples": "Int64",
    "epochs": "Int64", "own_cpu": "Float64", "foreign_cpu": "Float64",
    "stolen_cpu": "Float64", "throttled_cpu": "Float64", "storage_bytes": "Int64",
    "peak_memory_bytes": "Int64",
}  # fmt: skip
"""Columns in order; all of them can hold "not known", which is `pandas.NA`."""


def readings(study: str | Path) -> DataFrame:
    """Return every reading of a study, one row each, in the order they were taken.

    A study that is running may be read: what it has stored so far is returned. Columns:

    - `trial`: number of the trial, from 0; `source`: who proposed its config
    - `num_workers`, `prefetch_factor`, `pin_memory`, `persistent_workers`,
      `batch_size`: the config
    - `status`: fate of the trial, the last that is known; a config that was refused or
      failed after it had been read keeps its rows
    - `purpose`: `search` (first reading of a trial) or `race` (interleaved rounds)
    - `replaced_because`: `too_short` or `spoiled` where the next row of the trial
      stands for this one; NA: it counts
    - `kept`: whether the workers were running already
    - `cache`: `warm` or `cold` page cache
    - `epoch_rate`, `steady_rate`: examples a second, of a whole epoch and with the
      queues full
    - `first_batch_s`, `warm_s`, `end_s`, `total_s`: seconds to the first batch, to the
      end of the warm-up, from the last batch to the end, and in all
    - `wait_p50_s`, `wait_p99_s`, `wait_max_s`: seconds that the loop waited for a batch
    - `batches`, `examples`, `epochs`: how much was read; 0 epochs: part of one, or one
      repeated
    - `own_cpu`, `foreign_cpu`, `stolen_cpu`, `throttled_cpu`: CPU seconds a second of
      the trial, of other programs, taken by the hypervisor, held back by a quota
    - `storage_bytes`: bytes that came from storage, not from the page cache
    - `peak_memory_bytes`: of all processes of the trial's config together

    Columns have nullable dtypes; NA is what is not known. `frame.attrs` has `scope` and
    `machine`, as far as the study's folder tells.

    Args:
        study: a study's folder, its `outcomes.jsonl`, or an `autoloader.yaml`, whose
            study is looked for in `.autoloader` beside the file, then in the working
            folder.

    Raises:
        StoredFileError: there is no study, or its file is damaged.
    """
    import pandas as pd  # slow to load, so only where a table is asked for

    path = _outcomes_of(Path(study))
    rows = [row.to_dict() for row in _rows(path)]
    frame = pd.DataFrame(
        {
            name: pd.array([row[name] for row in rows], dtype=dtype)
            for name, dtype in _DTYPES.items()
        }
    )
    frame.attrs.update(_attrs(path.parent))
    return frame


def figures_of(reading: Reading) -> dict[str, Any]:
    """Return what is worked out of a reading, by name; None where it has none."""
    waits = wait_percentiles(reading)
    return {
        "epoch_rate": epoch_rate(reading),
        "steady_rate": steady_rate(reading),
        "first_batch_s": first_batch_s(reading),
        "warm_s": warm_s(reading),
        "end_s": end_s(reading),
        "total_s": reading.total_s,
        "wait_p50_s": None if waits is None else waits.p50_s,
        "wait_p99_s": None if waits is None else waits.p99_s,
        "wait_max_s": None if waits is None else waits.max_s,
        "batches": len(reading.counts),
        "examples": sum(reading.counts),
        "epochs": len(reading.epoch_ends_s),
    }


@dataclass(slots=True)
class _Row:
    """A reading, and the trial that it belongs to, as last heard of."""

    outcome: Outcome
    reading: Reading

    def to_dict(self) -> dict[str, Any]:
        """Return the row's cells by column."""
        outcome, reading = self.outcome, self.reading
        memory = outcome.memory
        stored = (
            "purpose", "replaced_because", "kept", "cache", "own_cpu", "foreign_cpu",
            "stolen_cpu", "throttled_cpu", "storage_bytes",
        )  # fmt: skip
        return {
            "trial": outcome.number,
            "source": outcome.source,
            **outcome.config.to_dict(),
            "status": outcome.status.value,
            **{name: getattr(reading, name) for name in stored},
            **figures_of(reading),
            "peak_memory_bytes": None if memory is None else memory.peak_bytes,
        }


def _outcomes_of(study: Path) -> Path:
    """Return the file with a study's outcomes.

    Raises:
        StoredFileError: there is none.
    """
    if study.is_dir():
        found = study / OUTCOMES
        if found.is_file():
            return found
        msg = f"there is no study in {study}: it has no {OUTCOMES}"
        raise StoredFileError(msg, hint=_nearby(study))
    if not study.is_file():
        msg = f"there is no study at {study}"
        raise StoredFileError(msg, hint=_nearby(Path()))
    if study.suffix == ".jsonl":
        return study
    name = _study_name(study)
    folders = dict.fromkeys((study.resolve().parent / STUDIES, Path.cwd() / STUDIES))
    for folder in folders:
        if (folder / name / OUTCOMES).is_file():
            return folder / name / OUTCOMES
    places = " or ".join(str(folder) for folder in folders)
    msg = f"the study {name} of {study} is not in {places}"
    raise StoredFileError(msg, hint="name the study's folder itself")


def _study_name(path: Path) -> str:
    """Return the name of the study that a recommendation came from."""
    from autoloader.export.recommendation import load  # yaml

    try:
        data = load(path).data
    except StoredFileError:
        raise
    except AutoloaderError as exc:
        raise StoredFileError(exc.message, hint=exc.hint) from exc
    study = data.get("study")
    name = study.get("name") if isinstance(study, dict) else None
    if not isinstance(name, str) or Path(name).name != name:
        msg = f"{path} does not say which study it came from"
        raise StoredFileError(msg, hint="name the study's folder itself")
    return name


def _nearby(folder: Path) -> str:
    """Return what to do where no study was found."""
    patterns = (f"*/{OUTCOMES}", f"{STUDIES}/*/{OUTCOMES}")
    try:
        found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    except OSError:
        found = []
    if found:
        return f"studies are in {', '.join(str(path.parent) for path in found[-3:])}"
    return f"`autoloader tune` and `autoloader measure` keep studies in {STUDIES}"


def _rows(path: Path) -> list[_Row]:
    """Return the readings in the file, in order, with what became of their trials.

    A trial is written again when it is weighed or refused: what it repeats of its
    readings is left out, and those that it drops stay.
    """
    rows: list[_Row] = []
    trials: dict[int, Outcome] = {}
    for line, data in _records(path):
        try:
            outcome, brought = _entry(data, trials)
            fresh: Iterable[Reading] = brought
            if data["record"] == "trial":
                trials[outcome.number] = outcome
                known = [row for row in rows if row.outcome.number == outcome.number]
                for row in known:
                    row.outcome = outcome
                    _check_figures(row)
                fresh = _fresh([row.reading for row in known], brought)
            for reading in fresh:
                row = _Row(outcome, reading)
                _check_figures(row)
                rows.append(row)
        except StoredFileError as exc:
            msg = f"{path}, line {line} is no outcome: {exc.message}"
            hint = "it was written by another version, or changed since"
            raise StoredFileError(msg, hint=hint) from exc
    return rows


def _entry(
    data: Mapping[str, Any], trials: Mapping[int, Outcome]
) -> tuple[Outcome, tuple[Reading, ...]]:
    """Return the trial that a line is about, and the readings that it brings.

    Raises:
        StoredFileError: it brings none; says which field is wrong.
    """
    kind = data.get("record")
    if kind not in ("trial", "reading"):
        msg = f"record must be 'trial' | 'reading', got {shown(kind)}"
        raise StoredFileError(msg)
    needed = ("outcome",) if kind == "trial" else ("number", "reading")
    missing = next((name for name in needed if name not in data), None)
    if missing is not None:
        msg = f"it lacks {missing!r}"
        raise StoredFileError(msg)
    if kind == "trial":
        outcome = value_of(Outcome, data["outcome"], place="outcome")
        return outcome, outcome.readings
    number = data["number"]
    if isinstance(number, bool) or not isinstance(number, int):
        msg = f"number must be int, got {shown(number)}"
        raise StoredFileError(msg)
    if number not in trials:
        msg = f"it is a reading of trial {shown(number)}, which is not there"
        raise StoredFileError(msg)
    return trials[number], (value_of(Reading, data["reading"], place="reading"),)


def _check_figures(row: _Row) -> None:
    """Check that a row can be worked out, and holds no more than a table's cell.

    Raises:
        StoredFileError: its numbers contradict each other, or one is too large.
    """
    reading = row.reading
    batches, counts = len(reading.arrivals_s), len(reading.counts)
    if batches != counts:
        msg = f"reading.counts must have {batches} items, as arrivals_s, got {counts}"
        raise StoredFileError(msg)
    for name in ("num_workers", "warm_batches", "steady_batches"):
        if getattr(reading, name) < 0:
            msg = f"reading.{name} must be at least 0, got "
            raise StoredFileError(msg + shown(getattr(reading, name)))
    if min(reading.counts, default=0) < 0:
        msg = f"reading.counts must be at least 0, got {shown(min(reading.counts))}"
        raise StoredFileError(msg)
    try:
        cells = row.to_dict()
    except (ArithmeticError, LookupError) as exc:
        msg = f"reading.counts and reading.arrivals_s give no rate: {exc}"
        raise StoredFileError(msg) from exc
    for name, value in cells.items():
        if isinstance(value, int) and abs(value) > _MOST:
            msg = f"{name} must have at most 64 bits, got {shown(value)}"
            raise StoredFileError(msg)


def _fresh(known: list[Reading], found: tuple[Reading, ...]) -> list[Reading]:
    """Return the readings that are not known yet; equal ones are counted."""
    left = list(known)
    fresh = []
    for reading in found:
        if reading in left:
            left.remove(reading)
        else:
            fresh.append(reading)
    return fresh


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the file's lines with their numbers; one that is half written is skipped.

    Raises:
        StoredFileError: it cannot be read, or a line before the last is none of ours.
    """
    from autoloader.search.record import SCHEMA  # fcntl, which not every system has

    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as exc:
        msg = f"{path} cannot be read: {exc.strerror}"
        raise StoredFileError(msg) from exc
    lines.pop()  # empty, or torn: no newline ends it
    for number, line in enumerate(lines, start=1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as exc:
            if number == len(lines):
                return
            msg = f"{path}, line {number} is no JSON: {exc}"
            hint = "the file was changed; lines before it are whole"
            raise StoredFileError(msg, hint=hint) from exc
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            msg = f"{path}, line {number} has schema {shown(schema)}, "
            msg += f"this version reads {SCHEMA}"
            raise StoredFileError(msg, hint="upgrade the package, or measure again")
        yield number, data


def _attrs(folder: Path) -> dict[str, Any]:
    """Return scope and machine of a study, as far as its folder tells.

    Raises:
        StoredFileError: it tells of a machine that is none.
    """
    path = folder / "study.json"
    try:
        data = json.loads(read_text(path, most_mib=64))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    found = {"scope": data["scope"]} if "scope" in data else {}
    if "machine" in data:
        try:
            machine = value_of(Machine, data["machine"], place="machine")
        except StoredFileError as exc:
            msg = f"{path}: {exc.message}"
            raise StoredFileError(msg, hint=exc.hint) from exc
        found["machine"] = {"key": machine.key, **data["machine"]}
    elif isinstance(data.get("key"), dict) and "machine" in data["key"]:
        found["machine"] = {"key": data["key"]["machine"]}
    return found
