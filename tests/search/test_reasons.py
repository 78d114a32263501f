"""A study that came to nothing says why, in one sentence."""

from autoloader.search.reasons import nothing_measured
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Finding, Outcome, Status, Verdict

LOST = Finding(code="missing_ids", count=1, ids=(33,), message="lost: 33")


def outcome(
    status: Status, *, failure: Failure | None = None, verdict: Verdict | None = None
) -> Outcome:
    """Return an outcome without a reading."""
    return Outcome(
        number=0,
        config=LoaderConfig(num_workers=0, batch_size=8),
        status=status,
        source="model",
        isolation="fork",
        seconds=1.0,
        failure=failure,
        verdict=verdict,
    )


def test_a_failure_is_named_with_its_kind() -> None:
    """Of the last config that was tried."""
    crash = Failure(kind="crashed", phase="gate", message="a worker was killed")

    error = nothing_measured([outcome(Status.CRASHED, failure=crash)] * 2)

    assert str(error) == (
        "not one of 2 configs could be measured; "
        f"{LoaderConfig(num_workers=0, batch_size=8).describe()}: "
        "crashed: a worker was killed"
    )
    assert error.exit_code == 1


def test_a_refusal_is_named_with_its_finding() -> None:
    """The first one."""
    refused = Verdict(
        passed=False, examples=8, of=8, epochs=2, compared="rows", findings=(LOST,)
    )

    error = nothing_measured([outcome(Status.REFUSED, verdict=refused)])

    assert str(error).endswith(": missing_ids: lost: 33")


def test_what_has_neither_is_named_by_its_fate() -> None:
    """A config that cannot be, say."""
    error = nothing_measured([outcome(Status.UNSUPPORTED)])

    assert str(error).endswith(": unsupported")
