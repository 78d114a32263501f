"""Read what a study left in its folder: trials, and readings in the order they came.

Reads what `search.record` writes, without its lock and without mending anything: a
study that is running can be looked at. How it is shown is for others to say.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import AutoloaderError, StoredFileError
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    ranks_of,
    steady_rate,
    wait_percentiles,
    warm_s,
)
from autoloader.values.decode import shown, value_of
from autoloader.values.outcome import Outcome, Reading, Status
from autoloader.values.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from autoloader.values.config import LoaderConfig

OUTCOMES = "outcomes.jsonl"

STUDIES = ".autoloader"
"""Folder with studies, in the working folder of the command that made them."""

_MOST = 2**63 - 1
"""Largest whole number that a column holds."""

_ROUNDING = 1e-5
"""By how much a rate in a recommendation may differ from the reading it is of."""

_MOST_MIB = 64
"""Longest `study.json`, as `search.folder` has it."""


@dataclass(slots=True)
class Taken:
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
            "begun_s": reading.begun_s,
            "begun_at": reading.begun_at,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFiles:
    """What lies in the folder of a study."""

    path: Path
    """The file with its outcomes."""
    outcomes: tuple[Outcome, ...]
    """What is known last of each trial, by number, readings of the race among it."""
    taken: tuple[Taken, ...]
    """Every reading, in the order they were taken; those of trials that failed later
    are among them."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What `study.json` holds, unchecked; empty where there is none to use."""

    @property
    def folder(self) -> Path:
        """The study's folder."""
        return self.path.parent


def read_study(study: Path) -> StudyFiles:
    """Return what a study left.

    Args:
        study: its folder, its `outcomes.jsonl`, or an `autoloader.yaml`, whose study is
            looked for in `.autoloader` beside the file, then in the working folder.

    Raises:
        StoredFileError: there is no study, or its file is damaged.
    """
    path = outcomes_file(study)
    outcomes, taken = _contents(path)
    return StudyFiles(
        path=path, outcomes=outcomes, taken=taken, state=_state(path.parent)
    )


def study_behind(
    file: Path, config: LoaderConfig, rates: Sequence[float]
) -> StudyFiles | None:
    """Return the study whose readings a recommendation rests on.

    A study that was asked for again begins anew, and puts its outcomes aside: they are
    looked for among those too.

    Args:
        file: the recommendation.
        config: that it recommends.
        rates: that it names as the config's readings.

    Returns:
        The study; None where the file's readings are not there any more.

    Raises:
        StoredFileError: there is no study, or its file is damaged.
    """
    path = outcomes_file(file)
    study = read_study(path)
    if _has_readings(study, config, rates):
        return study
    for aside in sorted(path.parent.glob("outcomes.*.jsonl"), reverse=True):
        with contextlib.suppress(StoredFileError):
            study = read_study(aside)
            if _has_readings(study, config, rates):
                return study
    return None


def _has_readings(
    study: StudyFiles, config: LoaderConfig, rates: Sequence[float]
) -> bool:
    """Whether a config was read at just these rates, written with six digits."""
    outcome = next((item for item in study.outcomes if item.config == config), None)
    if outcome is None or len(outcome.raced) != len(rates):
        return False
    found = (epoch_rate(reading) for reading in outcome.raced)
    return all(
        math.isclose(one, other, rel_tol=_ROUNDING)
        for one, other in zip(found, rates, strict=True)
    )


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
        "batches": sum(len(item.counts) for item in ranks_of(reading)),
        "examples": sum(sum(item.counts) for item in ranks_of(reading)),
        "epochs": len(reading.epoch_ends_s),
    }


def outcomes_file(study: Path) -> Path:
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


def _contents(path: Path) -> tuple[tuple[Outcome, ...], tuple[Taken, ...]]:
    """Return trials, and readings in order with what became of their trials.

    A trial is written again when it is weighed or refused: what it repeats of its
    readings is left out, and those that it drops stay.
    """
    taken: list[Taken] = []
    trials: dict[int, Outcome] = {}
    for line, data in _records(path):
        try:
            outcome, brought = _entry(data, trials)
            fresh: Iterable[Reading] = brought
            if data["record"] == "trial":
                trials[outcome.number] = outcome
                known = [
                    item for item in taken if item.outcome.number == outcome.number
                ]
                for item in known:
                    item.outcome = outcome
                    _check_figures(item)
                fresh = _fresh([item.reading for item in known], brought)
            elif outcome.status is Status.MEASURED:
                trials[outcome.number] = outcome.with_reading(brought[0])
            for reading in fresh:
                item = Taken(outcome, reading)
                _check_figures(item)
                taken.append(item)
        except StoredFileError as exc:
            msg = f"{path}, line {line} is no outcome: {exc.message}"
            hint = "it was written by another version, or changed since"
            raise StoredFileError(msg, hint=hint) from exc
    return tuple(trials[number] for number in sorted(trials)), tuple(taken)


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


def _check_arrivals(reading: Reading) -> None:
    """Check that the batches of one training process belong together.

    Raises:
        StoredFileError: its numbers contradict each other.
    """
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


def _check_figures(taken: Taken) -> None:
    """Check that a row can be worked out, and holds no more than a table's cell.

    Raises:
        StoredFileError: its numbers contradict each other, or one is too large.
    """
    for reading in ranks_of(taken.reading):
        _check_arrivals(reading)
    try:
        cells = taken.to_dict()
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


def _state(folder: Path) -> dict[str, Any]:
    """Return what `study.json` holds; empty where there is none to use."""
    try:
        data = json.loads(read_text(folder / "study.json", most_mib=_MOST_MIB))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
