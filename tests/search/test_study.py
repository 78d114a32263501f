"""The study as Optuna sees it: each trial is enqueued, asked and told."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from autoloader.search.space import Space
from autoloader.search.study import Study
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Status
from tests.search.replayed import an_outcome, broken, config

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64,),
)

Make = Callable[..., tuple[Study, optuna.Study]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Give a maker of studies, each with Optuna's own."""
    made: list[optuna.Study] = []
    create = optuna.create_study

    def created(**settings: Any) -> optuna.Study:
        made.append(create(**settings))
        return made[-1]

    def of(
        *outcomes: Outcome, memory_bytes: int | None = None
    ) -> tuple[Study, optuna.Study]:
        made.clear()
        with monkeypatch.context() as patch:
            patch.setattr(optuna, "create_study", created)
            study = Study(
                tmp_path / "optuna.log",
                SPACE,
                outcomes=outcomes,
                memory_bytes=memory_bytes,
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
    study, own = make(measured(0), memory_bytes=20_000_000)
    later = measured(2)

    study.ask(later.config)
    study.tell(later)

    found = [item.constraints for item in own.get_trials()]
    assert found == [{"memory": -10_000_000.0}, {"memory": 10_000_000.0}]
