"""Replayed studies: real search and choice, held against what is true."""

from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.errors import DataError
from autoloader.search.disturbance import Noise
from autoloader.search.exploration import Stop
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.search.record import Record
from autoloader.search.replay import (
    Conditions,
    Setting,
    finish,
    search,
    study,
)
from autoloader.search.tables import Table
from autoloader.values.outcome import Failure, Outcome, Status
from autoloader.values.target import Target
from tests.search.replayed import SMALL, a_reading, a_recorded_table, an_outcome, config

QUIET = Noise(scatter=0.001, drift=0.0, bursts=0.0)
"""Hardly anything disturbs a reading."""

SHARE_95 = Target(share_of_best=0.95)


@pytest.fixture(scope="module")
def table() -> Table:
    """Give the simulated table, made once."""
    return SMALL.table()


def test_on_a_quiet_machine_the_simplest_config_that_is_enough_is_chosen(
    table: Table,
) -> None:
    """As an exhaustive search would; time is the replay's own."""
    found = study(table, SHARE_95, Conditions(noise=QUIET))

    assert found.chosen == config(3)
    assert found.answered == "enough"
    assert found.extra_workers == 0
    assert found.is_simple is None  # none has 106 % of 95 % of the best
    assert found.share == pytest.approx(1 / 0.95, rel=0.02)
    assert found.configs == 9
    assert found.readings >= found.trials >= 2
    assert table.reference_s < found.seconds < 190


def test_a_rate_that_is_easily_met_needs_one_worker_less(table: Table) -> None:
    """Two workers have 80 % of the best."""
    target = Target(examples_per_s=0.7 * table.rate(config(3)))

    found = study(table, target, Conditions(noise=QUIET))

    assert found.chosen == config(2)
    assert found.answered == "enough"
    assert found.is_simple


def test_a_rate_that_nothing_has_is_rightly_not_met(table: Table) -> None:
    """No choice is the right answer then."""
    target = Target(examples_per_s=3 * table.rate(config(3)))

    found = study(table, target, Conditions(noise=QUIET))

    assert found.chosen is None
    assert found.is_simple is None
    assert found.answered == "unmeetable"


def test_the_same_seed_replays_the_same_study(table: Table) -> None:
    """Another one does not."""
    first, again, other = (
        study(table, SHARE_95, Conditions(seed=seed)) for seed in (4, 4, 5)
    )

    assert first == again
    assert first.seconds != other.seconds


def test_a_recorded_study_is_replayed_from_its_readings() -> None:
    """Two workers were nearly twice as fast as any simpler config."""
    found = study(a_recorded_table(), SHARE_95, Conditions(seed=1))

    assert found.chosen == config(2)
    assert found.to_dict()["chosen"] == config(2).to_dict()


def test_trials_find_the_shared_memory_of_the_tables_machine(table: Table) -> None:
    """Not of the machine that replays: the stopwatch tells of the table's alone."""
    outcomes: list[Outcome] = []
    told: list[int | None] = []

    def watched(setting: Setting) -> Stop:
        told.append(setting.stopwatch.shm_free_bytes())
        stopped = search(setting)
        outcomes.extend(setting.record.outcomes)
        return stopped

    cramped = replace(table, machine=replace(table.machine, shm_free_bytes=1_000))
    found = study(cramped, SHARE_95, Conditions(noise=QUIET), search_by=watched)

    measured = [item.config for item in outcomes if item.status is Status.MEASURED]
    assert measured == [config(0)]
    assert found.chosen == config(0)
    assert told == [1_000]


def test_a_search_of_ones_own_can_be_judged(table: Table) -> None:
    """Capped at two trials, here, with the same ending."""

    def two_trials(setting: Setting) -> Stop:
        return search(replace(setting, most_trials=2))

    found = study(
        table, SHARE_95, Conditions(noise=QUIET), search_by=two_trials, ending=finish
    )

    assert found.trials == 2
    assert found.stopped_search == "trials"


def test_a_study_of_which_nothing_works_says_so(table: Table) -> None:
    """As a tune does."""
    crash = Failure(kind="crashed", phase="gate", message="it died")
    broken = replace(
        table, broken=dict.fromkeys(table.space.configs(), crash), answers={}
    )

    with pytest.raises(
        DataError, match=r"^not one config of the table small could be measured$"
    ):
        study(broken, SHARE_95)


def test_outcomes_of_a_replay_are_those_of_a_study(table: Table) -> None:
    """Gated, weighed, and read for the search and in rounds."""
    outcomes: list[Outcome] = []

    def watched(setting: Setting) -> Stop:
        stopped = search(setting)
        outcomes.extend(setting.record.outcomes)
        return stopped

    study(table, SHARE_95, Conditions(noise=QUIET), search_by=watched)

    assert {item.status for item in outcomes} == {Status.MEASURED}
    assert all(item.verdict and item.memory and item.counted for item in outcomes)
    assert all(item.seconds > 0 for item in outcomes)


def test_a_record_in_memory_keeps_outcomes_as_one_on_disk_does(tmp_path: Path) -> None:
    """The same outcomes, readings and answers, whatever the order of the numbers."""
    later = a_reading(250.0, workers=1)
    in_memory = KnownOutcomes()

    with Record(tmp_path) as on_disk:
        records: tuple[KnownOutcomes | Record, ...] = (in_memory, on_disk)
        for record in records:
            record.add(an_outcome(1, (200.0,)))
            record.add(an_outcome(0, (100.0,)))
            record.add_reading(1, later)

        assert in_memory.outcomes == on_disk.outcomes

    assert [item.number for item in in_memory.outcomes] == [0, 1]
    assert in_memory.outcomes[1].readings[-1] == later
    assert in_memory[config(1)] == in_memory.of_config(config(1))
    assert in_memory.of_config(config(2)) is None
    with pytest.raises(KeyError):
        in_memory[config(2)]
