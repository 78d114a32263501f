"""The study as Optuna sees it: each trial is enqueued, asked and told."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from autoloader.search.selection import Choice
from autoloader.search.space import Space
from autoloader.search.study import Study
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Finding, Outcome, Status, Verdict
from autoloader.values.target import Target
from tests.search.replayed import an_outcome, broken, config

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64,),
)

SHARE = Target(share_of_best=0.95, memory_bytes=10**9)
TIGHT = Target(share_of_best=0.95, memory_bytes=20_000_000)

Make = Callable[..., tuple[Study, optuna.Study]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Give a maker of studies, each with Optuna's own."""
    made: list[optuna.Study] = []
    create = optuna.create_study

    def created(**settings: Any) -> optuna.Study:
        made.append(create(**settings))
        return made[-1]

    def of(*outcomes: Outcome, target: Target = SHARE) -> tuple[Study, optuna.Study]:
        made.clear()
        with monkeypatch.context() as patch:
            patch.setattr(optuna, "create_study", created)
            study = Study(
                tmp_path / "optuna.log",
                SPACE,
                outcomes=outcomes,
                target=target,
                about={"dataset": "data.py:train"},
            )
        return study, made[0]  # the other one is the journal's

    return of


def measured(workers: int, rate: float = 100.0) -> Outcome:
    """Return an outcome of so many workers, read five times at a rate."""
    return an_outcome(workers, (rate,) * 5)


def test_a_trial_runs_in_optuna_while_it_runs_here(make: Make) -> None:
    """With the settings of the config that was to be tried, none drawn at random."""
    study, own = make()

    study.ask(config(2, kept=True))

    (trial,) = own.get_trials()
    assert trial.state is TrialState.RUNNING
    assert trial.params == {
        "num_workers": 2,
        "prefetch_factor": 2,
        "persistent_workers": True,
        "pin_memory": False,
        "batch_size": 64,
    }


def test_without_workers_nothing_is_suggested_that_means_nothing(make: Make) -> None:
    """The space is conditional."""
    study, own = make()

    study.ask(config(0))

    (trial,) = own.get_trials()
    assert trial.params.keys() == {"num_workers", "pin_memory", "batch_size"}


def test_what_came_of_it_is_told_to_the_same_trial(make: Make) -> None:
    """One trial each, in their order."""
    study, own = make()

    for outcome in (measured(0, 100.0), measured(2, 190.0)):
        study.ask(outcome.config)
        study.tell(outcome)

    trials = own.get_trials()
    assert [item.params["num_workers"] for item in trials] == [0, 2]
    assert [item.value for item in trials] == pytest.approx([100.0, 190.0])
    assert own.best_trial.params["num_workers"] == 2


def test_a_trial_that_failed_has_no_value(make: Make) -> None:
    """It is no slow config."""
    study, own = make()
    crash = Failure(kind="crashed", phase="gate", message="it died")
    failed = broken(measured(1), Status.CRASHED, failure=crash)

    study.ask(failed.config)
    study.tell(failed)

    (trial,) = own.get_trials()
    assert trial.state is TrialState.FAIL
    assert trial.value is None


def test_a_config_outside_the_space_is_only_told(make: Make) -> None:
    """The user's own: Optuna knows what of it the space knows."""
    study, own = make()
    mine = LoaderConfig.canonical(num_workers=9, prefetch_factor=4, batch_size=64)

    study.ask(mine)
    assert own.get_trials() == []
    study.tell(replace(measured(2), config=mine))

    (trial,) = own.get_trials()
    assert trial.state is TrialState.COMPLETE
    assert trial.params == {
        "prefetch_factor": 4,
        "persistent_workers": False,
        "pin_memory": False,
        "batch_size": 64,
    }


def test_a_study_that_goes_on_is_told_of_all_there_was(make: Make) -> None:
    """Anew: whatever Optuna's file holds."""
    study, own = make(measured(0), measured(1))

    study.ask(config(2))

    states = [item.state for item in own.get_trials()]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.RUNNING]


def test_memory_beyond_the_budget_is_a_constraint(make: Make) -> None:
    """In bytes: positive where it is broken, for earlier outcomes and for new ones."""
    study, own = make(measured(0), target=TIGHT)
    later = measured(2)

    study.ask(later.config)
    study.tell(later)

    found = [item.constraints["memory"] for item in own.get_trials()]
    assert found == [-10_000_000.0, 10_000_000.0]


def test_what_is_missing_to_a_rate_is_a_constraint(make: Make) -> None:
    """What counts as met taken off; of a share, once the best is known."""
    wanted = Target(examples_per_s=100.0)

    _, own = make(measured(0, 90.0), measured(2, 190.0), target=wanted)
    _, unknown = make(measured(0, 90.0))

    found = [item.constraints["target"] for item in own.get_trials()]
    assert found == pytest.approx([7.0, -93.0])
    assert "target" not in unknown.get_trials()[0].constraints


def test_what_is_wrong_or_broken_is_infeasible_and_says_why(make: Make) -> None:
    """By findings and failures, without the passwords that a message may hold."""
    crash = Failure(
        kind="worker_exception", phase="gate", message="s3://me:secret@host is away"
    )
    lost = Finding(code="missing_ids", count=2, ids=(5, 7), message="2 never arrived")
    wrong = Verdict(
        passed=False, examples=64, of=64, epochs=2, compared="rows", findings=(lost,)
    )
    refused = broken(measured(1), Status.REFUSED, verdict=wrong)

    _, own = make(
        refused, broken(measured(2), Status.CRASHED, failure=crash), measured(0)
    )

    first, second, third = own.get_trials()
    assert [item.user_attrs["feasible"] for item in own.get_trials()] == [
        False, False, True,
    ]  # fmt: skip
    assert first.user_attrs["why_not"] == "missing_ids: 2 never arrived"
    assert first.user_attrs["findings"] == ["missing_ids"]
    assert first.constraints["data"] == 1.0
    assert second.user_attrs["why_not"].startswith("worker_exception: s3://")
    assert "secret" not in str(second.user_attrs)
    assert second.user_attrs["failure"] == "worker_exception"
    assert second.constraints["failure"] == 1.0
    assert max(third.constraints.values()) <= 0


def test_a_trial_says_what_was_measured_in_words_and_units(make: Make) -> None:
    """Names and values as people read them."""
    _, own = make(measured(2, 190.0))

    (trial,) = own.get_trials()
    told = trial.user_attrs
    assert told["config"] == "2 workers, prefetch 2, batch 64"
    assert told["status"] == "measured"
    assert told["readings"] == 5
    assert told["rate_low"] <= 190.0 <= told["rate_high"]
    assert told["peak_memory_mib"] == pytest.approx(28.6, abs=0.1)
    assert told["wait_p50_ms"] > 0


def test_a_trial_has_the_time_at_which_it_ran(make: Make) -> None:
    """In this machine's zone, as Optuna's own trials; an older record has none."""
    begun = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    timed = replace(measured(2), begun_s=12.0, begun_at=begun.isoformat(), seconds=5.0)

    _, own = make(timed, measured(0))

    first, second = own.get_trials()
    assert first.datetime_start == begun.astimezone().replace(tzinfo=None)
    assert first.duration == timedelta(seconds=5)
    assert second.duration == timedelta(0)


def test_dashboards_are_told_how_it_ended(make: Make, tmp_path: Path) -> None:
    """The race's rates, what was lost in it, what was chosen, what a share means."""
    slow, chosen, best, lost = (
        measured(workers, rate)
        for workers, rate in ((0, 100.0), (1, 190.0), (2, 195.0), (3, 400.0))
    )
    study, _ = make()
    for outcome in (slow, chosen, best, lost):
        study.ask(outcome.config)
        study.tell(outcome)
    crash = Failure(kind="crashed", phase="timed", message="it died")

    study.conclude(
        [slow, chosen, best, broken(lost, Status.CRASHED, failure=crash)],
        Choice(config=chosen.config, state="met", best=best.config, reason="simplest"),
    )

    kept = journal_of(tmp_path)
    assert kept.metric_names == ["examples/s"]
    assert kept.user_attrs == {
        "dataset": "data.py:train",
        "target": "95 % of the fastest",
        "state": "met",
        "reason": "simplest",
        "chosen": "1 worker, prefetch 2, batch 64",
    }
    trials = kept.trials
    assert [item.state.name for item in trials] == ["COMPLETE"] * 3 + ["FAIL"]
    assert [item.user_attrs.get("is") for item in trials] == [
        None, "chosen", "fastest", None,
    ]  # fmt: skip
    assert [item.user_attrs["feasible"] for item in trials[:3]] == [False, True, True]
    assert trials[0].user_attrs["why_not"].startswith("target: ")
    assert kept.best_trial.params["num_workers"] == 2


def test_what_was_chosen_is_feasible_by_the_race(make: Make, tmp_path: Path) -> None:
    """Whose rounds are paired: its median alone may fall short of what is wanted."""
    study, _ = make()
    chosen, best = measured(1, 170.0), measured(2, 195.0)

    study.conclude(
        [chosen, best],
        Choice(config=chosen.config, state="met", best=best.config, reason="simplest"),
    )

    first, second = journal_of(tmp_path).trials
    assert first.user_attrs["feasible"]
    assert first.constraints["target"] == 0.0
    assert second.user_attrs["feasible"]


def test_optunas_own_frame_reads_well(make: Make, tmp_path: Path) -> None:
    """Settings, rate, fate and feasibility, a column each."""
    study, _ = make(target=TIGHT)
    for outcome in (measured(0, 100.0), measured(2, 190.0)):
        study.ask(outcome.config)
        study.tell(outcome)

    frame = journal_of(tmp_path).trials_dataframe()

    assert frame["value_examples/s"].tolist() == pytest.approx([100.0, 190.0])
    assert frame["params_num_workers"].tolist() == [0, 2]
    assert frame["user_attrs_status"].tolist() == ["measured", "measured"]
    assert frame["user_attrs_feasible"].tolist() == [True, False]
    assert frame["user_attrs_why_not"].tolist()[1] == (
        "memory: 9.5 MiB more than is allowed"
    )


def journal_of(folder: Path) -> optuna.Study:
    """Return the study that a journal holds, whatever its name is."""
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(folder / "optuna.log"))
    )
    return optuna.load_study(study_name=None, storage=storage)
