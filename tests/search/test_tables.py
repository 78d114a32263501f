"""Tables that replays answer from: what they know, and what is true of them."""

import pytest

from autoloader.errors import UsageError
from autoloader.measure.throughput import epoch_rate
from autoloader.search.tables import Table, Truth, epoch_counts
from autoloader.values.outcome import Failure, Finding, Status, Verdict
from autoloader.values.target import Target
from tests.fakes import a_scope
from tests.search.replayed import (
    SMALL,
    a_recorded_table,
    an_outcome,
    broken,
    config,
)

SHARE_95 = Target(share_of_best=0.95)


@pytest.fixture(scope="module")
def table() -> Table:
    """Give the simulated table, made once."""
    return SMALL.table()


def test_an_epoch_ends_with_what_is_left() -> None:
    """Unless it is dropped."""
    assert epoch_counts(a_scope(130), 64) == (64, 64, 2)
    assert epoch_counts(a_scope(128), 64) == (64, 64)


def test_a_simulated_table_knows_every_config_of_its_space(table: Table) -> None:
    """Rates rise with the workers up to the cores, and not beyond."""
    rates = [table.rate(config(workers)) for workers in range(5)]

    assert set(table.answers) == set(table.space.configs())
    assert rates[1] == pytest.approx(rates[0], rel=0.05)
    assert rates[2] == pytest.approx(2 * rates[0], rel=0.05)
    assert rates[3] == pytest.approx(2.5 * rates[0], rel=0.05)
    assert rates[4] == pytest.approx(rates[3], rel=0.02)


def test_the_truth_names_who_is_enough(table: Table) -> None:
    """The best is the simplest of those that are equally fast."""
    truth = Truth.of(table, SHARE_95)

    assert truth.fastest == config(3)
    assert truth.can_be_met
    assert truth.simplest(0.97) == config(3)
    assert truth.simplest(0.80) == config(2)
    assert truth.configs == 9


def test_where_none_has_as_much_the_fastest_is_plenty(table: Table) -> None:
    """106 % of 95 % of the best is more than the best."""
    assert Truth.of(table, SHARE_95).simplest(1.06) == config(3)


def test_a_rate_that_none_has_cannot_be_met(table: Table) -> None:
    """Twice the best."""
    best = max(Truth.of(table, SHARE_95).rates.values())

    assert not Truth.of(table, Target(examples_per_s=2 * best)).can_be_met


def test_what_takes_too_much_memory_is_neither_fast_nor_simple(table: Table) -> None:
    """Its speed counts for nobody's share."""
    limit = table.answers[config(1)].peak_bytes

    truth = Truth.of(table, Target(share_of_best=0.95, memory_bytes=limit))

    assert {item.num_workers for item in truth.rates} == {0, 1}


def test_a_budget_that_nothing_fits_has_no_truth(table: Table) -> None:
    """There would be nothing to find."""
    with pytest.raises(
        UsageError, match=r"^no config of the table small may be chosen$"
    ):
        Truth.of(table, Target(share_of_best=0.95, memory_bytes=1))


def test_a_recorded_table_has_the_middle_of_what_was_raced() -> None:
    """The single reading of the search is none of the rounds."""
    table = a_recorded_table()

    assert table.rate(config(0)) == pytest.approx(100.0)
    assert table.rate(config(2)) == pytest.approx(190.0)
    assert table.answers[config(2)].peak_bytes == 30_000_000
    assert table.rounds is not None
    assert table.rounds[config(1)] == pytest.approx((95.0, 99.75, 90.25, 104.5, 85.5))


def test_what_failed_in_the_study_fails_in_its_replay() -> None:
    """A failure as a failure, a refusal with its findings."""
    crash = Failure(kind="crashed", phase="gate", message="it died")
    lost = Finding(code="missing_ids", count=1, message="lost: 3")
    wrong = Verdict(
        passed=False, examples=9, of=9, epochs=2, compared="rows", findings=(lost,)
    )
    table = a_recorded_table(
        an_outcome(0, (100.0,) * 5),
        broken(an_outcome(1, (9.0,) * 5), Status.CRASHED, failure=crash),
        broken(an_outcome(2, (9.0,) * 5), Status.REFUSED, verdict=wrong),
    )

    truth = Truth.of(table, SHARE_95)

    assert table.broken == {config(1): crash, config(2): wrong}
    assert list(truth.rates) == [config(0)]


def test_a_table_with_a_gap_is_refused() -> None:
    """A search may ask for anything in the space."""
    sentence = (
        "^a table answers for every config of its space, got none for 1, "
        "such as 1 worker, prefetch 2, batch 64$"
    )
    with pytest.raises(UsageError, match=sentence):
        a_recorded_table(an_outcome(0, (1.0,) * 5), an_outcome(2, (1.0,) * 5))


def test_a_config_that_was_read_too_few_times_is_refused() -> None:
    """Its noise is not known."""
    sentence = (
        "^a replayed config needs at least 5 readings, "
        "got 4 of 2 workers, prefetch 2, batch 64$"
    )
    with pytest.raises(UsageError, match=sentence):
        a_recorded_table(
            an_outcome(0, (1.0,) * 5),
            an_outcome(1, (1.0,) * 5),
            an_outcome(2, (1.0,) * 3),
        )


def test_an_outcome_without_a_reason_cannot_be_replayed() -> None:
    """Nothing says what a pass should answer."""
    silent = broken(an_outcome(1, (1.0,) * 5), Status.REFUSED)

    with pytest.raises(UsageError, match=r"^trial 1 is refused without a reason$"):
        a_recorded_table(an_outcome(0, (1.0,) * 5), silent)


def test_recorded_readings_are_read_as_the_package_reads_them() -> None:
    """Whole epochs: examples by seconds, starts and ends included."""
    outcome = an_outcome(0, (100.0,) * 5)

    assert epoch_rate(outcome.readings[1]) == pytest.approx(100.0)
