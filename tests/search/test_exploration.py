"""Search and finale against a runner that answers from a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.search.budget import Budget
from autoloader.search.exploration import HOPELESS, TOO_SLOW, Exploration
from autoloader.search.finale import Finale, Result
from autoloader.search.record import Record
from autoloader.search.space import Space, SpaceRequest, incumbents
from autoloader.search.study import Study, rate_of
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Status, Verdict
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_machine, a_scope, a_stopwatch, some_facts

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64,),
)


def config(workers: int, prefetch: int = 2, *, kept: bool = False) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(
        num_workers=workers,
        prefetch_factor=prefetch,
        persistent_workers=kept,
        batch_size=64,
    )


def by_workers(rates: dict[int, float]) -> FakeRunner:
    """Return a runner whose rate depends on the workers alone."""
    return FakeRunner(rate=lambda item: rates[item.num_workers])


class Kit:
    """A study on disk with a fake runner."""

    def __init__(
        self, folder: Path, runner: FakeRunner, *, budget_s: float = 1000.0
    ) -> None:
        self.runner = runner
        self.record = Record(folder)
        self.budget = Budget(budget_s, runner.clock, runner.clock())
        self.journal = folder / "optuna.log"
        self.target = Target(share_of_best=0.95)
        self.skipped: dict[LoaderConfig, str] = {}

    def study(self) -> Study:
        """Open Optuna's study on what is recorded."""
        return Study(
            self.journal,
            SPACE,
            outcomes=self.record.outcomes,
            memory_bytes=None,
            seed=0,
        )

    def explore(
        self, *, most_trials: int | None = None, memory_bytes: int | None = None
    ) -> str:
        """Search and return why it stopped."""
        exploration = Exploration(
            record=self.record,
            study=self.study(),
            target=replace(self.target, memory_bytes=memory_bytes),
            most_trials=most_trials,
            deadline=self.budget.search_end,
            clock=self.runner.clock,
        )
        first = incumbents(
            SPACE, facts=some_facts(), machine=a_machine(), wanted_examples_per_s=None
        )
        return exploration.run(
            a_stopwatch(self.runner),
            first,
            on_start=lambda item: None,
            on_outcome=lambda item: None,
            on_skip=self.skipped.__setitem__,
        )

    def finish(self) -> Result:
        """Race, verify and choose."""
        return Finale(
            stopwatch=a_stopwatch(self.runner),
            record=self.record,
            target=self.target,
            batch_sizes=(64,),
            user_config=None,
            default_config=config(0),
            scope=a_scope(),
            budget=self.budget,
            verify=None,
            on_phase=lambda name, detail: None,
            on_round=lambda number, rates: None,
        ).run()


Make = Callable[..., Kit]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Give a maker of kits in one folder, whose lock is given back at the end."""
    made: list[Kit] = []

    def of(runner: FakeRunner, *, budget_s: float = 1000.0) -> Kit:
        made.append(Kit(tmp_path, runner, budget_s=budget_s))
        return made[-1]

    yield of
    for item in made:
        item.record.close()


RATES = {0: 300.0, 1: 280.0, 2: 500.0, 3: 505.0, 4: 490.0}


def test_the_incumbents_are_tried_first_and_nothing_twice(make: Make) -> None:
    """PyTorch's default, then as many workers as CPUs; then the rest of the space."""
    kit = make(by_workers(RATES))

    stopped = kit.explore()

    configs = [item.config for item in kit.record.outcomes]
    assert configs[:2] == [config(0), config(2)]
    assert len(set(configs)) == len(configs)
    assert {item.num_workers for item in configs} == {0, 1, 2, 3, 4}
    assert stopped == "space_exhausted"


def test_workers_that_were_far_too_slow_are_not_tried_with_other_knobs(
    make: Make,
) -> None:
    """One worker at 280 of 500: half as much again would not be enough."""
    kit = make(by_workers(RATES))

    kit.explore()

    tried = [item.config.num_workers for item in kit.record.outcomes]
    assert tried.count(1) == 1
    assert tried.count(3) == 4


def test_the_simplest_config_that_is_enough_is_chosen_and_verified(make: Make) -> None:
    """Two workers reach 95 % of three; nothing simpler does."""
    kit = make(by_workers(RATES))
    kit.explore()

    result = kit.finish()

    assert result.choice.config == config(2)
    assert result.choice.state == "met"
    assert result.verified[config(2)].examples == 1600


def test_the_gate_comes_before_memory_and_speed(make: Make) -> None:
    """A refused config is never timed, whatever its speed would be."""
    wrong = config(4, 4, kept=True)
    runner = FakeRunner(
        rate=lambda item: 9999.0 if item == wrong else RATES[item.num_workers],
        wrong=frozenset({wrong}),
    )
    kit = make(runner)

    kit.explore()

    assert kit.record[wrong].status is Status.REFUSED
    assert ("gate", wrong) in runner.calls
    assert ("time", wrong) not in runner.calls
    assert ("weigh", wrong) not in runner.calls


def test_what_fails_the_whole_verification_is_not_recommended(make: Make) -> None:
    """The choice is made anew without it, and its speed is gone from the record."""
    runner = by_workers(RATES)
    runner.wrong_when_whole = frozenset({config(2), config(2, kept=True)})
    kit = make(runner)
    kit.explore()

    result = kit.finish()

    assert result.choice.config not in runner.wrong_when_whole
    assert result.choice.config in result.verified
    assert kit.record[config(2)].status is Status.REFUSED
    assert kit.record[config(2)].readings == ()


def test_a_crashing_config_is_a_result_and_the_search_goes_on(make: Make) -> None:
    """Its outcome keeps cause and phase."""
    runner = by_workers(RATES)
    crash = Failure(
        kind="crashed", phase="gate", message="a worker was killed by SIGKILL"
    )
    runner.failing = {config(2): crash}
    kit = make(runner)

    kit.explore()

    assert kit.record[config(2)].status is Status.CRASHED
    assert kit.record[config(2)].failure == crash
    assert len(kit.record.outcomes) > len(SPACE.configs()) / 2


def test_a_config_over_the_memory_budget_is_never_timed(make: Make) -> None:
    """It is weighed first."""
    runner = by_workers(RATES)
    kit = make(runner)

    kit.explore(memory_bytes=250_000_000)

    too_large = [item for item in kit.record.outcomes if item.config.num_workers > 2]
    assert {item.status for item in too_large} == {Status.OUT_OF_MEMORY}
    assert not [
        item for kind, item in runner.calls if kind == "time" and item.num_workers > 2
    ]
    assert kit.record[config(2)].status is Status.MEASURED


def test_the_search_ends_when_its_part_of_the_budget_is_spent(make: Make) -> None:
    """No trial is begun that would be expected to pass the deadline."""
    kit = make(by_workers(RATES), budget_s=60.0)

    stopped = kit.explore()

    assert stopped == "budget"
    assert kit.runner.clock() <= kit.budget.search_end


def test_the_race_keeps_within_the_budget(make: Make) -> None:
    """A short budget means fewer rounds, not a longer run."""
    kit = make(by_workers(RATES), budget_s=120.0)
    kit.explore()

    result = kit.finish()

    assert result.race is not None
    assert kit.runner.clock() <= kit.budget.end


def test_a_cap_on_trials_holds(make: Make) -> None:
    """`--trials 3` means three."""
    kit = make(by_workers(RATES))

    assert kit.explore(most_trials=3) == "trials"
    assert len(kit.record.outcomes) == 3


def test_a_search_without_one_measured_config_gives_up(make: Make) -> None:
    """Six refusals in a row are enough to know."""
    runner = by_workers(RATES)
    runner.wrong = frozenset(SPACE.configs())
    kit = make(runner)

    assert kit.explore() == "nothing_works"
    assert len(kit.record.outcomes) == HOPELESS


def test_an_interrupted_search_goes_on_without_repeating_a_trial(make: Make) -> None:
    """The record is the truth; Optuna's journal is rebuilt where it is torn."""
    kit = make(by_workers(RATES))
    kit.explore(most_trials=4)
    before = [item.config for item in kit.record.outcomes]
    with kit.journal.open("a") as file:
        file.write('{"op_code": 4, "wor')
    kit.runner.calls.clear()

    kit.explore()

    assert [item.config for item in kit.record.outcomes][:4] == before
    assert not {item for kind, item in kit.runner.calls if kind == "gate"} & set(before)


def test_optuna_sees_rates_failures_and_findings(make: Make) -> None:
    """Its own tools read the journal: values, states and user attributes."""
    import optuna

    runner = by_workers(RATES)
    runner.wrong = frozenset({config(1)})
    kit = make(runner)
    kit.explore()

    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(kit.journal))
    )
    trials = optuna.load_study(study_name="autoloader", storage=storage).trials

    told = {trial.user_attrs["number"]: trial for trial in trials if trial.user_attrs}
    assert len(told) == len(kit.record.outcomes)
    for outcome in kit.record.outcomes:
        trial = told[outcome.number]
        if outcome.status is Status.MEASURED:
            assert trial.value == pytest.approx(rate_of(outcome))
        else:
            assert trial.state.name == "FAIL"
            assert trial.user_attrs["findings"] == ["missing_ids"]


def test_more_workers_are_allowed_where_work_waits() -> None:
    """CPU-bound work stops near the CPUs, waiting work may go far beyond."""
    request = SpaceRequest(batch_size=(16,))
    busy = Space.of(request, facts=some_facts(), scope=a_scope(), machine=a_machine())
    waiting = Space.of(
        request,
        facts=some_facts(example_s=0.01, cpu_s=0.0005),
        scope=a_scope(),
        machine=a_machine(),
    )

    assert busy.num_workers == (0, 3)
    assert waiting.num_workers == (0, 60)


def test_the_users_own_config_is_tried_first() -> None:
    """Even where the space would not propose it."""
    own = LoaderConfig.canonical(num_workers=7, prefetch_factor=9, batch_size=64)

    first = incumbents(
        SPACE,
        facts=some_facts(baseline=own),
        machine=a_machine(),
        wanted_examples_per_s=400.0,
    )

    assert first[0] == (own, "yours")
    assert first[1] == (config(0), "pytorch_default")


def test_an_outcome_without_a_passed_verdict_has_no_speed(make: Make) -> None:
    """The value refuses to be built."""
    kit = make(by_workers(RATES))
    kit.explore(most_trials=1)
    (outcome,) = kit.record.outcomes

    with pytest.raises((AssertionError, ValueError)):
        replace(outcome, verdict=None)
    assert isinstance(outcome, Outcome)


class Exhausted(FakeRunner):
    """Fails in one way wherever a config asks for more than there is."""

    kind = "out_of_memory"
    most = 7

    def asks(self, config: LoaderConfig) -> int:
        """Return how much of it a config asks for: memory by its batches alone."""
        in_flight = config.num_workers * (config.prefetch_factor or 0)
        if self.kind == "throttled":
            return config.num_workers
        files = 8 * config.num_workers
        return in_flight + (files if self.kind == "descriptors_exhausted" else 0)

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Return the failure of what asks for too much."""
        found = super().gate(config, examples=examples)
        if self.asks(config) > self.most:
            return Failure(kind=self.kind, phase="gate", message="it ran out")
        return found


def exhausted(kind: str, most: int) -> Exhausted:
    """Return a runner that has so much of something."""
    runner = Exhausted(rate=lambda item: 500.0, memory=lambda item: 0)
    runner.kind, runner.most = kind, most
    return runner


def tried_in_vain(outcomes: Sequence[Outcome]) -> list[LoaderConfig]:
    """Return what was tried although no more than it had failed before."""
    failed: list[LoaderConfig] = []
    found = []
    for outcome in outcomes:
        config = outcome.config
        if any(
            config.num_workers >= item.num_workers
            and (config.prefetch_factor or 0) >= (item.prefetch_factor or 0)
            for item in failed
        ):
            found.append(config)
        if outcome.failure is not None:
            failed.append(config)
    return found


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("out_of_memory", 7),
        ("shared_memory_full", 7),
        ("descriptors_exhausted", 25),
        ("throttled", 2),
    ],
)
def test_a_region_that_ran_out_once_is_not_tried_again(
    kind: str, most: int, make: Make
) -> None:
    """What is passed over has its reason; all else is measured."""
    runner = exhausted(kind, most)
    kit = make(runner)

    stopped = kit.explore()

    failed = [item for item in kit.record.outcomes if item.failure is not None]
    assert stopped == "space_exhausted"
    assert failed
    assert tried_in_vain(kit.record.outcomes) == []
    assert kit.skipped
    for passed_over, reason in kit.skipped.items():
        assert reason.startswith(tuple(f"trial {item.number} " for item in failed))
        assert runner.asks(passed_over) > most
        assert kit.record.of_config(passed_over) is None


def test_a_search_that_goes_on_knows_what_ran_out(make: Make) -> None:
    """It follows from the outcomes that are stored."""
    kit = make(exhausted("out_of_memory", 7))
    while not any(item.failure for item in kit.record.outcomes):
        kit.explore(most_trials=len(kit.record.outcomes) + 1)
    kit.skipped.clear()

    kit.explore()

    assert tried_in_vain(kit.record.outcomes) == []
    assert kit.skipped


def test_a_crash_is_no_reason_to_pass_over_others(make: Make) -> None:
    """It says nothing of their size."""
    kit = make(exhausted("crashed", 7))

    kit.explore()

    assert kit.skipped == {}
    assert {item.config for item in kit.record.outcomes} == set(SPACE.configs())


def test_what_is_far_too_slow_is_passed_over_with_its_reason(make: Make) -> None:
    """Others may want to know why it is not in the table."""
    kit = make(by_workers(RATES))

    kit.explore()

    assert set(kit.skipped.values()) == {TOO_SLOW}
