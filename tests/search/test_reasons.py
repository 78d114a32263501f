"""A study that came to nothing says why, in one sentence."""

from autoloader.search.passed_over import PassedOver
from autoloader.search.reasons import nothing_left, nothing_measured
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Finding, Outcome, Status, Verdict
from tests.report.fakes import MIB, config, crashed, measured, refused

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


def test_what_was_not_tried_for_it_is_counted() -> None:
    """One trial that ran out of memory may be all that was."""
    crash = Failure(kind="out_of_memory", phase="gate", message="it was ended")
    untried = PassedOver(reason="at least as much memory", configs=(config(1),) * 7)

    error = nothing_measured(
        [outcome(Status.OUT_OF_MEMORY, failure=crash)], passed_over=[untried]
    )

    assert str(error) == (
        "not one of 1 configs could be measured; 0 workers, batch 8: out_of_memory: it "
        "was ended; not tried: 7 configs: at least as much memory"
    )


def test_each_config_that_left_a_race_is_named_with_its_reason() -> None:
    """And those that failed their verification, whether by data or otherwise."""
    hang = Failure(kind="hung", phase="timed", message="no batch for 30 s")
    lost = [
        outcome(Status.HUNG, failure=hang),
        refused(1, config(2)),
        crashed(2, config(4), "a worker left"),
    ]

    error = nothing_left(lost, lost=lost, memory_bytes=None)

    assert str(error) == (
        "no config is left of 3 that could be measured; "
        "0 workers, batch 8, in the race: hung: no batch for 30 s; "
        "2 workers, prefetch 2, batch 64, in its verification: missing_ids: "
        "2 examples never arrived: ids 5, 7; "
        "4 workers, prefetch 2, batch 64, in its verification: worker_exception: "
        "a worker left"
    )
    assert error.exit_code == 1


def test_what_takes_too_much_memory_is_named_with_it() -> None:
    """It was measured under a larger budget, in an earlier run."""
    outcomes = [measured(0, config(0), [100.0]), measured(1, config(4), [200.0])]

    error = nothing_left(outcomes, lost=[], memory_bytes=50 * MIB)

    assert str(error) == (
        "no config is left of 2 that could be measured; "
        "0 workers, batch 64: it takes 100.0 MiB, the budget is 50.0 MiB; "
        "4 workers, prefetch 2, batch 64: it takes 500.0 MiB, the budget is 50.0 MiB"
    )


def test_three_that_are_lost_are_named_and_others_counted() -> None:
    """A sentence is no list."""
    lost = [crashed(place, config(place), "a worker left") for place in range(5)]

    error = nothing_left(lost, lost=lost, memory_bytes=None)

    assert str(error).startswith("no config is left of 5 that could be measured; ")
    assert str(error).count("worker_exception") == 3
    assert str(error).endswith("; 2 more")


def test_what_was_not_raced_is_not_called_lost() -> None:
    """There was no time for it."""
    lost = crashed(0, config(4), "a worker left")
    outcomes = [lost, measured(1, config(0), [100.0]), measured(2, config(2), [200.0])]

    error = nothing_left(outcomes, lost=[lost], memory_bytes=None)

    assert str(error) == (
        "no config is left of 3 that could be measured; "
        "4 workers, prefetch 2, batch 64, in its verification: worker_exception: "
        "a worker left; 2 had no time in the race"
    )
