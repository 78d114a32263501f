"""What came of a trial: nothing wrong can have a speed, and nothing is lost on disk."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoloader.errors import StoredFileError
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import (
    Failure,
    Finding,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)

READING = Reading(
    purpose="search",
    num_workers=2,
    kept=False,
    arrivals_s=(0.5, 1.0, 1.25),
    counts=(8, 8, 5),
    warm_batches=1,
    steady_batches=2,
    total_s=1.5,
    epoch_examples=101,
    foreign_cpu=0.25,
)

LOSS = Finding(
    code="missing_ids",
    count=2,
    ids=(33, "thirty-four"),
    epoch=1,
    message="2 examples never arrived: ids 33, thirty-four",
    hint="usual cause: unknown",
)

PASSED = Verdict(
    passed=True,
    examples=101,
    of=101,
    epochs=2,
    compared="rows",
    cautions=(Finding(code="idle_workers", count=1, message="1 worker is idle"),),
    count_path=(0,),
    batch_bytes=4096,
)

REFUSED = Verdict(
    passed=False, examples=101, of=101, epochs=2, compared="rows", findings=(LOSS,)
)

MEMORY = MemoryReading(
    full_queue_bytes=100,
    epoch_end_bytes=(90, 120),
    queued_bytes=10,
    queue_was_full=True,
)

CRASH = Failure(
    kind="crashed",
    phase="gate",
    message="a worker was killed by SIGKILL",
    signal="SIGKILL",
    log="trials/0001-gate",
)


def outcome(**values: Any) -> Outcome:
    """Return a measured outcome, with some values replaced."""
    measured: dict[str, Any] = {
        "number": 3,
        "config": LoaderConfig.canonical(num_workers=2, batch_size=8),
        "status": Status.MEASURED,
        "source": "model",
        "isolation": "fork",
        "seconds": 2.5,
        "verdict": PASSED,
        "readings": (READING,),
        "memory": MEMORY,
    }
    return Outcome(**{**measured, **values})


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"status": Status.REFUSED, "verdict": REFUSED, "readings": (), "memory": None},
        {
            "status": Status.CRASHED,
            "verdict": None,
            "readings": (),
            "memory": None,
            "failure": CRASH,
        },
    ],
)
def test_an_outcome_comes_back_equal_from_json(values: dict[str, Any]) -> None:
    """Every reading, finding and failure is what it was."""
    before = outcome(**values)

    after = Outcome.from_dict(json.loads(json.dumps(before.to_dict())))

    assert after == before
    assert isinstance(after.status, Status)


@settings(deadline=None)
@given(
    arrivals=st.lists(st.floats(0, 1e6, allow_nan=False)),
    ids=st.lists(st.integers() | st.text(), max_size=10),
)
def test_readings_and_ids_survive_json_to_the_last_digit(
    arrivals: list[float], ids: list[int | str]
) -> None:
    """Statistics are worked out of what is stored, so nothing may be rounded."""
    finding = Finding(code="missing_ids", count=1, ids=tuple(ids), message="m")
    reading = Reading.from_dict({**READING.to_dict(), "arrivals_s": arrivals})

    again = json.loads(json.dumps([finding.to_dict(), reading.to_dict()]))

    assert Finding.from_dict(again[0]) == finding
    assert Reading.from_dict(again[1]) == reading


def test_a_record_of_an_older_version_is_read_without_its_times() -> None:
    """When trials and readings began was not written down then."""
    before = outcome(status=Status.MEASURED, verdict=PASSED, readings=(READING,))
    data = before.to_dict()
    for item in (data, *data["readings"]):
        del item["begun_s"], item["begun_at"]

    after = Outcome.from_dict(json.loads(json.dumps(data)))

    assert after == before
    assert (after.begun_s, after.readings[0].begun_at) == (None, None)


@pytest.mark.parametrize("verdict", [None, REFUSED])
def test_a_measured_outcome_without_a_passed_verdict_cannot_be_built(
    verdict: Verdict | None,
) -> None:
    """A speed is only read where the data is right."""
    with pytest.raises(ValueError, match=r"^a reading needs a passed verdict$"):
        outcome(verdict=verdict)


@pytest.mark.parametrize(
    ("status", "readings"),
    [
        (Status.MEASURED, ()),
        (Status.REFUSED, (READING,)),
        (Status.CRASHED, (READING,)),
    ],
)
def test_only_a_measured_outcome_has_readings(
    status: Status, readings: tuple[Reading, ...]
) -> None:
    """A trial that failed has no speed, however fast it was."""
    sentence = f"a measured trial has readings, and no other: status {status.value}"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        outcome(status=status, readings=readings)


@pytest.mark.parametrize("passed", [True, False])
def test_passing_and_having_findings_exclude_each_other(passed: bool) -> None:
    """A verdict cannot contradict itself."""
    sentence = "a verdict passes where it has no findings, and only there"

    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Verdict(
            passed=passed,
            examples=1,
            of=1,
            epochs=2,
            compared="rows",
            findings=(LOSS,) if passed else (),
        )


def test_a_stored_outcome_that_contradicts_itself_is_refused() -> None:
    """A file edited by hand cannot give a refused trial a speed."""
    data = {**outcome().to_dict(), "verdict": REFUSED.to_dict()}

    sentence = "Outcome cannot be used: a reading needs a passed verdict"
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        Outcome.from_dict(data)


def test_a_stored_outcome_of_an_unknown_status_is_refused() -> None:
    """The known ones are named."""
    data = {**outcome().to_dict(), "status": "lost"}

    known = " | ".join(repr(status.value) for status in Status)
    sentence = f"Outcome.status must be {known}, got 'lost'"
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        Outcome.from_dict(data)


def test_a_further_reading_is_added_behind_the_others() -> None:
    """The value that was is not touched."""
    before = outcome()

    after = before.with_reading(READING)

    assert after.readings == (READING, READING)
    assert before.readings == (READING,)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("hung", Status.HUNG),
        ("out_of_memory", Status.OUT_OF_MEMORY),
        ("unsupported", Status.UNSUPPORTED),
        ("worker_exception", Status.CRASHED),
        ("start_failed", Status.CRASHED),
    ],
)
def test_every_kind_of_failure_has_a_fate(kind: str, status: Status) -> None:
    """What has no fate of its own crashed."""
    assert Failure(kind=kind, phase="gate", message="m").status is status


@pytest.mark.parametrize(("ends", "peak"), [((), 100), ((90,), 100), ((90, 120), 120)])
def test_the_peak_is_the_largest_value_seen(ends: tuple[int, ...], peak: int) -> None:
    """Memory can grow beyond the full queue."""
    reading = MemoryReading(
        full_queue_bytes=100, epoch_end_bytes=ends, queued_bytes=0, queue_was_full=True
    )

    assert reading.peak_bytes == peak
