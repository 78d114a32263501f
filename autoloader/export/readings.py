"""Give what a study left as tables for pandas: trials, readings, training loops.

What lies in the folder is read by `export.study_files`; rates are worked out of the raw
readings.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.errors import StoredFileError
from autoloader.export.study_files import StudyFiles, read_study
from autoloader.measure.intervals import median_of_known
from autoloader.measure.stepping import loop_rate, loop_shares
from autoloader.measure.throughput import epoch_rate
from autoloader.values.decode import value_of
from autoloader.values.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pandas import DataFrame

    from autoloader.values.outcome import Outcome
    from autoloader.values.step import StepReading

_CONFIG: dict[str, Any] = {
    "num_workers": "Int64", "prefetch_factor": "Int64", "pin_memory": "boolean",
    "persistent_workers": "boolean", "batch_size": "Int64",
}  # fmt: skip

_LOAD: dict[str, Any] = {
    "own_cpu": "Float64", "foreign_cpu": "Float64", "stolen_cpu": "Float64",
    "throttled_cpu": "Float64", "storage_bytes": "Int64",
}  # fmt: skip

READING_COLUMNS: dict[str, Any] = {
    "trial": "Int64", "source": "string", **_CONFIG, "status": "string",
    "purpose": "string", "replaced_because": "string", "kept": "boolean",
    "cache": "string", "epoch_rate": "Float64", "steady_rate": "Float64",
    "first_batch_s": "Float64", "warm_s": "Float64", "end_s": "Float64",
    "total_s": "Float64", "wait_p50_s": "Float64", "wait_p99_s": "Float64",
    "wait_max_s": "Float64", "batches": "Int64", "examples": "Int64",
    "epochs": "Int64", **_LOAD, "peak_memory_bytes": "Int64", "begun_s": "Float64",
    "begun_at": "string",
}  # fmt: skip
"""Columns in order; all of them can hold "not known", which is `pandas.NA`."""

TRIAL_COLUMNS: dict[str, Any] = {
    "trial": "Int64", "source": "string", **_CONFIG, "status": "string",
    "failure": "string", "findings": "string", "cautions": "string",
    "isolation": "string", "start_method": "string", "seconds": "Float64",
    "verified_examples": "Int64", "readings": "Int64", "raced": "Int64",
    "epoch_rate": "Float64", "loops": "Int64", "loop_rate": "Float64",
    "wait_share": "Float64", "peak_memory_bytes": "Int64",
    "queued_bytes": "Int64", "queue_was_full": "boolean", "pinned_bytes": "Int64",
    "accelerator_bytes": "Int64", "begun_s": "Float64", "begun_at": "string",
}  # fmt: skip

LOOP_COLUMNS: dict[str, Any] = {
    "trial": "Int64", "source": "string", **_CONFIG, "status": "string",
    "loop_rate": "Float64", "steps_per_s": "Float64", "wait_share": "Float64",
    "wait_s": "Float64", "compute_s": "Float64", "total_s": "Float64",
    "batches": "Int64", "examples": "Int64", "utilisation": "Float64", **_LOAD,
}  # fmt: skip


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
    - `begun_s`, `begun_at`: when it began: seconds that the study had taken by then,
      and the time of day, by ISO 8601 in UTC; NA: an older record

    Columns have nullable dtypes; NA is what is not known. `frame.attrs` has `scope` and
    `machine`, as far as the study's folder tells.

    Args:
        study: a study's folder, its `outcomes.jsonl`, or an `autoloader.yaml`, whose
            study is looked for in `.autoloader` beside the file, then in the working
            folder.

    Raises:
        StoredFileError: there is no study, or its file is damaged.
    """
    study_files = read_study(Path(study))
    rows = [item.to_dict() for item in study_files.taken]
    return _frame(rows, READING_COLUMNS, study_files)


def trials(study: str | Path) -> DataFrame:
    """Return every trial of a study, one row each, in order of their numbers.

    A study that is running may be read. Columns:

    - `trial`, `source`, the config, `status`: as `readings` has them
    - `failure`: kind of what ended it, such as `hung`; NA: nothing did
    - `findings`, `cautions`: codes of the gate's verdict, joined by blanks; NA: none
    - `isolation`, `start_method`: how its processes were made; `seconds`: wall time
    - `verified_examples`: compared with the reference, in each epoch
    - `readings`, `raced`: readings that count, and those of them from the race
    - `epoch_rate`: examples a second, the median of the race, else of all that count
    - `loops`, `loop_rate`, `wait_share`: training loops, and their medians
    - `peak_memory_bytes`, `queued_bytes`, `queue_was_full`, `pinned_bytes`,
      `accelerator_bytes`: of all processes together, as weighed last
    - `begun_s`, `begun_at`: when it began, as `readings` has it

    Dtypes, `frame.attrs`, argument and errors are those of `readings`.
    """
    study_files = read_study(Path(study))
    rows = [_trial_row(outcome) for outcome in study_files.outcomes]
    return _frame(rows, TRIAL_COLUMNS, study_files)


def loops(study: str | Path) -> DataFrame:
    """Return every pass with the training step, one row each, trial by trial.

    Columns beside those of `readings`: `loop_rate` (examples a second of a whole epoch,
    the step in it), `steps_per_s`, `wait_share` (part of the time, 0-1, that the loop
    stood waiting), `wait_s` and `compute_s` (medians of a wait and of a step),
    `utilisation` (of the accelerator, 0-1).

    Dtypes, `frame.attrs`, argument and errors are those of `readings`.
    """
    study_files = read_study(Path(study))
    rows = [
        _loop_row(outcome, loop)
        for outcome in study_files.outcomes
        for loop in outcome.loops
    ]
    return _frame(rows, LOOP_COLUMNS, study_files)


def _frame(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Any], study: StudyFiles
) -> DataFrame:
    import pandas as pd  # slow to load, so only where a table is asked for

    frame = pd.DataFrame(
        {
            name: pd.array([row[name] for row in rows], dtype=dtype)
            for name, dtype in columns.items()
        }
    )
    frame.attrs.update(_attrs(study))
    return frame


def _trial_row(outcome: Outcome) -> dict[str, Any]:
    verdict, memory, failure = outcome.verdict, outcome.memory, outcome.failure
    counted = outcome.counted
    rates = [epoch_rate(item) for item in outcome.raced]
    shares = [found for item in outcome.loops if (found := loop_shares(item))]
    weighed = ("peak_bytes", "queued_bytes", "queue_was_full")
    peak, queued, was_full = (
        None if memory is None else getattr(memory, name) for name in weighed
    )
    return {
        **_of_trial(outcome),
        "failure": None if failure is None else failure.kind,
        "findings": _codes(() if verdict is None else verdict.findings),
        "cautions": _codes(() if verdict is None else verdict.cautions),
        "isolation": outcome.isolation,
        "start_method": outcome.start_method,
        "seconds": outcome.seconds,
        "verified_examples": None if verdict is None else verdict.examples,
        "readings": len(counted),
        "raced": sum(item.purpose == "race" for item in counted),
        "epoch_rate": median_of_known(rates),
        "loops": len(outcome.loops),
        "loop_rate": median_of_known([loop_rate(item) for item in outcome.loops]),
        "wait_share": median_of_known([item.wait_share for item in shares]),
        "peak_memory_bytes": peak,
        "queued_bytes": queued,
        "queue_was_full": was_full,
        "pinned_bytes": None if memory is None else memory.pinned_bytes,
        "accelerator_bytes": None if memory is None else memory.accelerator_bytes,
        "begun_s": outcome.begun_s,
        "begun_at": outcome.begun_at,
    }


def _loop_row(outcome: Outcome, loop: StepReading) -> dict[str, Any]:
    shares = loop_shares(loop)
    told = ("steps_per_s", "wait_share", "wait_s", "compute_s")
    return {
        **_of_trial(outcome),
        "loop_rate": loop_rate(loop),
        **{name: None if shares is None else getattr(shares, name) for name in told},
        "total_s": loop.total_s,
        "batches": len(loop.counts),
        "examples": sum(loop.counts),
        "utilisation": loop.utilisation,
        **{name: getattr(loop, name) for name in _LOAD},
    }


def _of_trial(outcome: Outcome) -> dict[str, Any]:
    return {
        "trial": outcome.number,
        "source": outcome.source,
        **outcome.config.to_dict(),
        "status": outcome.status.value,
    }


def _codes(findings: Sequence[Any]) -> str | None:
    return " ".join(dict.fromkeys(item.code for item in findings)) or None


def _attrs(study: StudyFiles) -> dict[str, Any]:
    """Return scope and machine of a study, as far as its folder tells.

    Raises:
        StoredFileError: it tells of a machine that is none.
    """
    data = study.state
    found: dict[str, Any] = {"scope": data["scope"]} if "scope" in data else {}
    if "machine" in data:
        try:
            machine = value_of(Machine, data["machine"], place="machine")
        except StoredFileError as exc:
            msg = f"{study.folder / 'study.json'}: {exc.message}"
            raise StoredFileError(msg, hint=exc.hint) from exc
        found["machine"] = {"key": machine.key, **data["machine"]}
    elif isinstance(data.get("key"), dict) and "machine" in data["key"]:
        found["machine"] = {"key": data["key"]["machine"]}
    return found
