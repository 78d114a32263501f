"""What a tune has to do with its fleet: join, learn, try here what others did."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from optuna.storages import BaseStorage, InMemoryStorage

from autoloader.search.budget import Budget
from autoloader.search.cost_model import CostModel
from autoloader.search.fleet_names import FleetName
from autoloader.search.record import Record
from autoloader.search.space import Space
from autoloader.search.strategy import Strategy
from autoloader.searching import ELSEWHERE, Searching
from autoloader.sharing import SOURCE, Sharing, reach
from autoloader.tune_values import TuneRequest
from autoloader.values.config import LoaderConfig
from autoloader.values.fleet import Storage
from autoloader.values.outcome import Status
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_machine, a_scope, a_stopwatch, some_facts
from tests.search.replayed import an_outcome, config
from tests.watchers import Noting

PASSWORD = "swordfish-7391"  # noqa: S105  # of no server

DATABASE = Storage.parse("env:FLEET", {"FLEET": f"postgresql://me:{PASSWORD}@db/fleet"})

TARGET = Target(share_of_best=0.95)

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2,),
    pin_memory=(False,),
    persistent_workers=(False,),
    batch_size=(64,),
)


Join: TypeAlias = "Callable[..., Tune]"


def by_workers(item: LoaderConfig) -> float:
    """Return a rate: two workers are enough, as on two CPUs."""
    return 100.0 * min(1 + item.num_workers, 3)


class Tune:
    """The search of one machine's tune, with a fake runner."""

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        hardware: str,
        runner: FakeRunner,
        trials: int,
    ) -> None:
        self.record = stack.enter_context(Record(folder))
        self.watcher: Any = Noting()
        self.runner = runner
        self.name = FleetName(subject="autoloader/photos-1234", hardware=hardware)
        self.sharing = Sharing.join(
            reach(DATABASE, self.watcher), self.name, record=self.record,
            watcher=self.watcher, most_trials=trials, clock=runner.clock,
        )  # fmt: skip
        self.searching = Searching(
            request=TuneRequest(
                source=SourceSpec(spec="a:b"), target=TARGET, out=None,
                most_trials=trials,
                is_exhaustive=True,
            ),
            record=self.record, journal=folder / "optuna.log", watcher=self.watcher,
            budget=Budget(10_000.0, runner.clock, runner.clock()), target=TARGET,
            stepping=None, sharing=self.sharing,
        )  # fmt: skip

    @property
    def strategy(self) -> Strategy:
        """Return what says what to try, and what to race."""
        model = CostModel.of(some_facts(), a_scope(), a_machine(), 1)
        return Strategy.of(SPACE, model, TARGET, seed=0)

    def run(self) -> str:
        """Search, and return why it stopped."""
        return self.searching.run(a_stopwatch(self.runner), SPACE, self.strategy)

    def measured(self) -> dict[LoaderConfig, str]:
        """Return what this machine measured itself, with who proposed it."""
        return {
            item.config: item.source
            for item in self.record.outcomes
            if item.status is Status.MEASURED
        }


@pytest.fixture(autouse=True)
def storage(monkeypatch: pytest.MonkeyPatch) -> BaseStorage:
    """Stand in for the database: all machines of a test share one in memory."""
    shared = InMemoryStorage()
    monkeypatch.setattr(
        "autoloader.search.shared_storage._database", lambda _url: shared
    )
    return shared


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Join]:
    """Return what starts the tune of a machine of the fleet."""
    with ExitStack() as stack:

        def joined(
            name: str,
            hardware: str = "epyc",
            *,
            trials: int = 5,
            rate: Callable[[LoaderConfig], float] = by_workers,
            wrong: frozenset[LoaderConfig] = frozenset(),
        ) -> Tune:
            runner = FakeRunner(rate=rate, wrong=wrong)
            return Tune(stack, tmp_path / name, hardware, runner, trials)

        yield joined


def test_what_is_joined_is_told_without_a_password(join: Join) -> None:
    """How far the study is, what it is called, and where."""
    found = join("one", "epyc-2cpu-none", trials=3)

    assert found.watcher.cautions == [
        (
            "a fleet shares the search: 0 trials done, 0 under way, in "
            "autoloader/photos-1234/epyc-2cpu-none of "
            "postgresql+psycopg://me:***@db/fleet",
            None,
        )
    ]


def test_finalists_of_the_fleet_are_tried_here_before_the_race(join: Join) -> None:
    """A machine that comes late makes no trial of the search, and races as others."""
    one = join("one")
    assert one.run() == "trials"
    others = join("two")

    stopped = others.run()

    assert stopped == "trials"
    here = others.measured()
    assert set(here.values()) == {SOURCE}
    assert config(0) in here
    assert config(2) in here
    elsewhere = {item for item, why in others.searching.passed_over if why == ELSEWHERE}
    assert elsewhere == set(one.measured()) - set(here)
    assert others.sharing.desk.look().done == 5


def test_readings_of_others_are_in_no_record_of_this_machine(join: Join) -> None:
    """The same config has another rate here, and that alone counts here."""
    one = join("one")
    one.run()
    two = join("two", rate=lambda item: by_workers(item) / 7)

    two.run()

    for outcome in two.record.outcomes:
        theirs = one.record.of_config(outcome.config)
        assert theirs is not None
        assert outcome.readings[0].total_s > 2 * theirs.readings[0].total_s


def test_what_is_refused_elsewhere_is_not_tried_here(join: Join) -> None:
    """Its data is wrong, whichever machine it is."""
    one = join("one", wrong=frozenset({config(2)}))
    one.run()
    two = join("two")

    two.run()

    assert config(2) not in two.measured()


def test_where_all_failed_elsewhere_it_is_tried_here(join: Join) -> None:
    """So that a machine fails by what it has seen itself."""
    every = frozenset(SPACE.configs())
    one = join("one", wrong=every)
    one.run()
    two = join("two", wrong=every)

    two.run()

    (outcome,) = two.record.outcomes
    assert outcome.config == config(0)
    assert outcome.status is Status.REFUSED


def test_other_hardware_says_what_to_try_first(join: Join) -> None:
    """In a study of its own, with no rate of the other's."""
    one = join("one")
    one.run()
    two = join("two", "xeon", trials=2)

    stopped = two.run()

    assert stopped == "trials"
    assert two.measured() == {config(2): "other_hardware", config(0): "pytorch_default"}
    assert two.sharing.desk.look().done == 2


def test_a_trial_that_came_late_is_told(join: Join) -> None:
    """The machine keeps what it measured."""
    found = join("one")
    desk = found.sharing.desk
    assert desk.begin(config(1), "search")
    (trial,) = desk.study.look()
    desk.study.give_back(trial)
    outcome = replace(an_outcome(0, (100.0,)), config=config(1))

    desk.end(outcome)

    assert found.watcher.cautions[-1] == (
        f"the trial of {config(1).describe()} was given to another machine meanwhile: "
        "the fleet does not count this one",
        None,
    )
