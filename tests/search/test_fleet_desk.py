"""Trials of a fleet are handed out once, and again where their machine is gone."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.trial import TrialState

from autoloader.errors import StoredFileError
from autoloader.measure.holders import this_process
from autoloader.measure.proc import process_stat
from autoloader.search.exploration import DEADLY, Exploration
from autoloader.search.shared_journal import SharedJournal
from autoloader.search.shared_trials import template
from autoloader.search.strategy import InOrder
from autoloader.values.config import LoaderConfig
from autoloader.values.fleet import Holder
from autoloader.values.outcome import Failure, Outcome, Status
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_stopwatch
from tests.search.fleets import LEASE_S, Machine, a_fleet, a_holder, outcome_of
from tests.search.replayed import config
from tests.waiting import wait_for


@pytest.fixture(params=["memory", "journal"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> BaseStorage:
    """Return a storage without anything in it, of each kind that needs no server."""
    if request.param == "memory":
        return InMemoryStorage()
    return JournalStorage(SharedJournal(tmp_path / "fleet.journal"))


def fates(machine: Machine, config: LoaderConfig) -> list[str]:
    """Return what became of all trials of a config."""
    return [item.fate for item in machine.study.look() if item.config == config]


def test_a_trial_is_handed_out_once(storage: BaseStorage) -> None:
    """Who asks second has to look for another config."""
    one, two = a_fleet("one", "two", storage=storage)

    assert one.desk.begin(config(1), "search")
    assert not two.desk.begin(config(1), "search")

    assert fates(two, config(1)) == ["running", "withdrawn"]
    assert two.desk.look().trying == {config(1)}
    one.desk.give_back()


def test_what_one_machine_measured_all_know(storage: BaseStorage) -> None:
    """With its rate and its fate, and it is not tried again."""
    one, two = a_fleet("one", "two", storage=storage)

    one.measure(config(1), 123.0)
    seen = two.desk.look()

    (outcome,) = seen.outcomes
    assert outcome == replace(one.record.outcomes[0], number=0)
    assert (seen.done, seen.owed, seen.trying, seen.again) == (1, 1, frozenset(), ())
    assert not two.desk.begin(config(1), "search")
    assert two.record.outcomes == ()


def test_a_trial_without_a_sign_of_life_is_given_out_again_exactly_once(
    storage: BaseStorage,
) -> None:
    """To one machine of those that are left, and then it is done."""
    one, two, three = a_fleet("one", "two", "three", storage=storage)
    assert one.desk.begin(config(1), "model")
    assert two.desk.look().again == ()
    assert three.desk.look().again == ()

    two.clock.now += LEASE_S + 1

    assert two.desk.look().again == ((config(1), "model"),)
    assert three.desk.look().again == ((config(1), "model"),)
    assert two.desk.begin(config(1), "model")
    assert not three.desk.begin(config(1), "model")
    two.hand_in(config(1))
    assert fates(three, config(1)) == ["lost", "done", "withdrawn"]
    assert three.desk.look().again == ()
    assert three.desk.look().done == 1
    one.desk.give_back()


def test_a_sign_of_life_keeps_a_trial(storage: BaseStorage) -> None:
    """However long it takes."""
    one, two = a_fleet("one", "two", storage=storage)
    assert one.desk.begin(config(1), "search")
    (trial,) = one.study.look()

    for beat in range(1, 4):
        two.desk.look()
        two.clock.now += LEASE_S - 1
        one.study.renew(trial, beat)

    assert two.desk.look().trying == {config(1)}
    one.desk.give_back()


def test_signs_of_life_are_given_while_a_trial_runs(storage: BaseStorage) -> None:
    """By a thread of its own, until the trial is handed in."""
    one, two = a_fleet("one", "two", storage=storage)
    one.desk.lease_s = 0.06

    assert one.desk.begin(config(1), "search")
    wait_for(lambda: two.study.look()[0].beat >= 3, "three signs of life")
    one.hand_in(config(1))

    assert fates(two, config(1)) == ["done"]


def test_who_comes_late_is_not_counted(storage: BaseStorage) -> None:
    """Its trial is another's by then; it keeps what it measured, and is told."""
    one, two = a_fleet("one", "two", storage=storage)
    assert one.desk.begin(config(1), "search")
    two.desk.look()
    two.clock.now += LEASE_S + 1
    two.desk.look()
    two.measure(config(1), 200.0)

    one.hand_in(config(1), 100.0)

    assert one.lost == [config(1)]
    assert len(one.record.outcomes) == 1
    assert fates(two, config(1)) == ["lost", "done"]
    assert two.desk.look().done == 1


def test_what_the_dead_had_said_is_counted(storage: BaseStorage) -> None:
    """A machine died between its outcome and the end of its trial."""
    one, two = a_fleet("one", "two", storage=storage)
    trial = one.study.begin(config(1), "search")
    assert trial is not None
    storage.set_trial_user_attr(
        trial.trial_id, "outcome", outcome_of(config(1), 77.0).to_dict()
    )
    two.desk.look()

    two.clock.now += LEASE_S + 1
    seen = two.desk.look()

    assert seen.done == 1
    assert seen.again == ()
    assert fates(two, config(1)) == ["done"]


def test_a_trial_that_is_given_back_is_free_at_once(storage: BaseStorage) -> None:
    """Nobody waits for a lease of who was interrupted, nor is it held against it."""
    one, two = a_fleet("one", "two", most_trials=1, storage=storage)
    assert one.desk.begin(config(1), "yours")

    one.desk.give_back()

    assert two.desk.look().begun == 0
    assert two.desk.begin(config(2), "yours")
    two.desk.give_back()


def test_a_config_that_machines_die_of_is_given_out_no_more(
    storage: BaseStorage,
) -> None:
    """After three of them; it takes no place of others, and is told once."""
    *dead, last = a_fleet("one", "two", "three", "four", most_trials=2, storage=storage)
    for machine in dead:
        assert machine.desk.begin(config(1), "search")
        last.desk.look()
        last.clock.now += LEASE_S + 1
        last.desk.look()

    assert last.desk.seen.given_up == {config(1)}
    assert (last.desk.seen.again, last.desk.seen.begun) == ((), 0)
    assert not last.desk.begin(config(1), "search")
    skipped: list[tuple[LoaderConfig, str]] = []
    runner = FakeRunner(rate=lambda item: 100.0)
    assert explored(last, 2, runner, skipped) == "trials"
    assert [item.config for item in last.record.outcomes] == [config(0), config(2)]
    assert skipped == [(config(1), DEADLY)]
    for machine in dead:
        machine.desk.give_back()


def test_a_process_of_this_machine_is_seen_to_be_dead() -> None:
    """Without waiting for its lease: its pid is nobody's, or another's."""
    one, two = a_fleet("one", "two")
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    here = this_process()
    found = process_stat(sleeper.pid)
    assert found is not None
    one.study.holder = replace(here, pid=sleeper.pid, start_ticks=found.start_ticks)
    two.study.holder = here
    assert one.study.begin(config(1), "search") is not None
    assert two.desk.look().trying == {config(1)}

    sleeper.kill()
    sleeper.wait()

    assert two.desk.look().again == ((config(1), "search"),)


def test_a_cap_is_one_of_the_whole_fleet(storage: BaseStorage) -> None:
    """Lost trials keep their place, and no other takes it."""
    one, two = a_fleet("one", "two", most_trials=2, storage=storage)
    one.measure(config(1))
    assert one.desk.begin(config(2), "search")

    assert not two.desk.begin(config(3), "search")
    two.desk.look()
    two.clock.now += LEASE_S + 1
    assert two.desk.look().again == ((config(2), "search"),)
    assert not two.desk.begin(config(3), "search")
    two.measure(config(2))

    assert two.desk.look().begun == 2
    assert two.desk.look().done == 2
    one.desk.give_back()


def test_an_outage_is_no_silence_of_machines() -> None:
    """While the storage was gone nobody could give a sign of life."""
    one, two = a_fleet("one", "two")
    assert one.desk.begin(config(1), "search")
    two.desk.look()

    two.clock.now += LEASE_S + 1
    two.study.storage.outages += 1

    assert two.desk.look().trying == {config(1)}
    two.clock.now += LEASE_S + 1
    assert two.desk.look().again == ((config(1), "search"),)
    one.desk.give_back()


def test_two_that_were_made_for_one_question_are_one_trial() -> None:
    """The answer to the first was lost with the connection, and it was asked again."""
    one, two = a_fleet("one", "two")
    create = one.storage.create_new_trial
    twice = iter([True])

    def forgetful(study_id: int, wanted: object = None) -> int:
        found = create(study_id, wanted)  # type: ignore[arg-type]
        if next(twice, False):
            raise OSError("connection reset")
        return found

    one.storage.create_new_trial = forgetful  # type: ignore[method-assign,assignment]
    one.measure(config(1))

    assert fates(two, config(1)) == ["done", "withdrawn"]
    assert two.desk.look().done == 1


def test_what_is_no_trial_of_a_fleet_is_none() -> None:
    """Somebody asked the study for a trial by hand."""
    one, two = a_fleet("one", "two")
    one.measure(config(1))
    study_id = one.storage.get_study_id_from_name(one.name)
    one.storage.create_new_trial(study_id)

    assert len(two.study.look()) == 1


def test_a_damaged_trial_is_told() -> None:
    """Another version wrote it, or somebody else."""
    one, _ = a_fleet("one", "two")
    one.study.look()
    holder, token = a_holder("one"), "7"
    wanted = template(config(1), source="search", token=token, holder=holder)
    wanted.user_attrs["begun"]["config"]["num_workers"] = -1
    study_id = one.storage.get_study_id_from_name(one.name)
    one.storage.create_new_trial(study_id, wanted)

    with pytest.raises(StoredFileError) as caught:
        one.study.look()

    assert caught.value.message == (
        "trial 0 of the fleet's study cannot be used: "
        "LoaderConfig cannot be used: num_workers must be a whole number of at least "
        "0, got -1"
    )
    assert caught.value.hint == "all machines need one version"


def test_a_study_that_somebody_removed_is_told() -> None:
    """In the middle of a search."""
    one, _ = a_fleet("one", "two")
    one.measure(config(1))
    one.storage.delete_study(one.storage.get_study_id_from_name(one.name))

    for ask in (one.desk.look, lambda: one.desk.begin(config(2), "search")):
        with pytest.raises(StoredFileError) as caught:
            ask()

        assert caught.value.message == (
            f"the fleet's study {one.name} was removed from its storage"
        )
        assert caught.value.hint == (
            "the same command begins it anew, with what this machine measured"
        )
    assert one.study.outcomes_of(one.name) == ()


def test_what_was_not_begun_cannot_be_ended() -> None:
    """That would be a slip of ours."""
    (one,) = a_fleet("one")

    with pytest.raises(ValueError, match=r"^no trial was begun$"):
        one.desk.end(outcome_of(config(1)))


def test_a_failure_is_shared_without_a_password() -> None:
    """What an exception says of a store, another machine's log may show."""
    one, two = a_fleet("one", "two")
    failure = Failure(
        kind="worker_exception", phase="gate", message="no s3://me:secret@store/x"
    )
    crashed = Outcome(
        number=0, config=config(1), status=Status.CRASHED, source="search",
        isolation="fork", seconds=1.0, failure=failure,
    )  # fmt: skip
    assert one.desk.begin(config(1), "search")

    one.record.add(crashed)
    one.desk.end(crashed)

    (seen,) = two.desk.look().outcomes
    assert seen.failure is not None
    assert seen.failure.message == "no s3://me:***@store/x"
    trials = one.storage.get_all_trials(one.storage.get_study_id_from_name(one.name))
    assert [item.state for item in trials] == [TrialState.FAIL]


class _Unheeding:
    """Follows trials and shows them nowhere."""

    def ask(self, config: LoaderConfig) -> None:
        """Do nothing."""

    def tell(self, outcome: Outcome) -> None:
        """Do nothing."""


def explored(
    machine: Machine,
    cap: int,
    runner: FakeRunner,
    skipped: list[tuple[LoaderConfig, str]] | None = None,
) -> str:
    """Search on one machine, and return why it stopped; note what is passed over."""
    configs = [config(workers) for workers in range(6)]
    return Exploration(
        record=machine.record, study=_Unheeding(), proposer=InOrder(configs=configs),
        configs=configs, target=Target(share_of_best=0.95), most_trials=cap,
        deadline=machine.clock.now + 500, limit=machine.clock.now + 500,
        clock=machine.clock, desk=machine.desk,
    ).run(
        a_stopwatch(runner), [(config(0), "pytorch_default")],
        on_start=lambda _: None, on_outcome=lambda _: None,
        on_skip=lambda *pair: None if skipped is None else skipped.append(pair),
    )  # fmt: skip


def test_a_search_goes_on_where_another_machine_left_it() -> None:
    """And makes no trial that was made already."""
    one, two = a_fleet("one", "two")
    runner = FakeRunner(rate=lambda item: 100.0 + item.num_workers)

    first = explored(one, 2, runner)
    second = explored(two, 5, runner)

    assert (first, second) == ("trials", "trials")
    assert [item.config for item in one.record.outcomes] == [config(0), config(1)]
    tried = [item.config for item in two.record.outcomes]
    assert tried == [config(2), config(3), config(4)]
    assert [item.number for item in two.record.outcomes] == [0, 1, 2]


def test_a_search_waits_for_others_and_tries_what_they_leave() -> None:
    """The last place of the cap is a dead machine's."""
    one, two = a_fleet("one", "two")
    runner = FakeRunner(rate=lambda item: 100.0 + item.num_workers)
    assert one.desk.begin(config(5), "search")

    stopped = explored(two, 3, runner)

    assert stopped == "trials"
    tried = {item.config for item in two.record.outcomes}
    assert tried == {config(0), config(1), config(5)}
    one.desk.give_back()


def test_a_search_waits_no_longer_than_it_has_time() -> None:
    """What others try is not known then."""
    one, two = a_fleet("one", "two")
    runner = FakeRunner(rate=lambda item: 100.0 + item.num_workers)
    runner.clock = two.clock
    assert one.desk.begin(config(5), "search")
    (trial,) = one.study.look()
    sleep, beats = two.desk.sleep, iter(range(1, 10_000))

    def renewed(seconds: float) -> None:
        one.study.renew(trial, next(beats))
        sleep(seconds)

    two.desk.sleep = renewed
    stopped = explored(two, 3, runner)

    assert stopped == "trials"
    assert {item.config for item in two.record.outcomes} == {config(0), config(1)}
    one.desk.give_back()


def test_a_trial_that_is_interrupted_is_given_back() -> None:
    """Control-C leaves nothing for others to wait for."""
    one, two = a_fleet("one", "two")

    def stops(item: LoaderConfig) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explored(one, 3, FakeRunner(rate=stops))

    seen = two.desk.look()
    assert (seen.begun, seen.again, seen.trying) == (0, (), frozenset())


def test_what_was_measured_is_kept_where_the_storage_goes_for_good() -> None:
    """It is an error after a minute, told once, and the record has the outcome."""
    (one,) = a_fleet("one")

    def gone(*_asked: object) -> None:
        raise OSError("no route to host")

    one.storage.set_trial_user_attr = gone  # type: ignore[method-assign,assignment]
    begun = one.clock.now

    with pytest.raises(StoredFileError) as caught:
        explored(one, 3, FakeRunner(rate=lambda item: 100.0, clock=one.clock))

    assert caught.value.message == (
        "the fleet's storage /nowhere/fleet.journal has not answered for 60 s: "
        "no route to host"
    )
    assert [item.config for item in one.record.outcomes] == [config(0)]
    assert one.troubles == [
        "the fleet's storage /nowhere/fleet.journal does not answer: no route to host"
    ]
    assert one.clock.now - begun < 90


def test_a_holder_is_told_from_all_others() -> None:
    """By machine, boot, container, pid and start."""
    here = this_process()

    assert Holder.from_dict(here.to_dict()) == here
    assert here.pid
    assert here.start_ticks > 0
