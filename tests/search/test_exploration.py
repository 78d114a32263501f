"""Search and finale against a runner that answers from a table.

What is proposed goes through the space in order, so that all of it is tried; the
strategy that users get has tests of its own.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.search.budget import Budget
from autoloader.search.cost_model import CostModel
from autoloader.search.exploration import (
    GREAT_USE,
    HOPELESS,
    UNFIT,
    Exploration,
    Proposer,
    Stop,
)
from autoloader.search.finale import Finale, Result
from autoloader.search.rates import rate_of, rates_of
from autoloader.search.record import Record
from autoloader.search.space import Space, incumbents
from autoloader.search.strategy import Proposal, Strategy
from autoloader.search.study import Study
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome, Status, Verdict
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_machine, a_scope, a_stopwatch, some_facts
from tests.search.configs import config

SPACE = Space(
    num_workers=(0, 4),
    prefetch_factor=(2, 4),
    pin_memory=(False,),
    persistent_workers=(False, True),
    batch_size=(64,),
)


def by_workers(rates: dict[int, float]) -> FakeRunner:
    """Return a runner whose rate depends on the workers alone."""
    return FakeRunner(rate=lambda item: rates[item.num_workers])


class InOrder:
    """Proposes one untried config after the other, each of the same use.

    Args:
        gain: what each is said to be good for.
    """

    def __init__(self, gain: float) -> None:
        self._gain = gain

    def propose(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
    ) -> Proposal | None:
        """Return the next one; None once all were tried."""
        left = [
            item
            for item in SPACE.configs()
            if item not in readings and item not in excluded
        ]
        return Proposal(config=left[0], gain=self._gain, unserved=1.0) if left else None


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
        self.facts = some_facts()
        self.skipped: dict[LoaderConfig, str] = {}

    def study(self) -> Study:
        """Open Optuna's study on what is recorded."""
        return Study(
            self.journal,
            SPACE,
            outcomes=self.record.outcomes,
            target=self.target,
        )

    def strategy(self) -> Strategy:
        """Return what says which config to try, and which to race."""
        return Strategy(
            configs=SPACE.configs(),
            batch_sizes=SPACE.batch_size,
            model=CostModel.of(self.facts, a_scope(), a_machine(), 1),
            target=self.target,
        )

    def explore(
        self,
        *,
        most_trials: int | None = None,
        memory_bytes: int | None = None,
        gain: float = 1.0,
        proposer: Proposer | None = None,
        deadline: float | None = None,
        limit: float | None = None,
    ) -> Stop:
        """Search and return why it stopped; in order, where no proposer is named."""
        exploration = Exploration(
            record=self.record,
            study=self.study(),
            proposer=proposer or InOrder(gain),
            configs=SPACE.configs(),
            target=replace(self.target, memory_bytes=memory_bytes),
            most_trials=most_trials,
            deadline=self.budget.search_end if deadline is None else deadline,
            limit=self.budget.search_limit if limit is None else limit,
            clock=self.runner.clock,
        )
        first = incumbents(SPACE, facts=self.facts)
        return exploration.run(
            a_stopwatch(self.runner, facts=self.facts),
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
            strategy=self.strategy(),
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
    """PyTorch's default, then what is proposed, up to all of the space."""
    kit = make(by_workers(RATES))

    stopped = kit.explore()

    tried = [(item.config, item.source) for item in kit.record.outcomes]
    assert tried[0] == (config(0), "pytorch_default")
    assert {source for _, source in tried[1:]} == {"search"}
    assert [item for item, _ in tried] == list(SPACE.configs())
    assert stopped == "space_exhausted"


def test_a_search_is_settled_long_before_everything_was_tried(make: Make) -> None:
    """By the strategy that users get: what is left would not change the choice."""
    kit = make(by_workers(RATES))

    stopped = kit.explore(proposer=kit.strategy())

    tried = {item.config for item in kit.record.outcomes}
    assert stopped == "settled"
    assert 2 <= len(tried) <= len(SPACE.configs()) / 2
    assert config(2) in tried


def test_the_users_own_config_is_tried_though_it_cannot_fit(make: Make) -> None:
    """The outcome says why it cannot run; it is not passed over as well."""
    kit = make(by_workers(RATES))
    own = config(4, 4)
    kit.facts = replace(
        some_facts(baseline=own), example_bytes=10_000_000, batch_examples=64.0
    )

    kit.explore(memory_bytes=4_000_000_000)

    assert kit.record[own].status is Status.OUT_OF_MEMORY
    assert kit.record[own].source == "yours"
    assert own not in kit.skipped
    assert own not in {item for _, item in kit.runner.calls}


def test_what_was_measured_before_is_not_passed_over_now(make: Make) -> None:
    """A study that goes on with less memory knows its rate all the same."""
    kit = make(by_workers(RATES))
    kit.explore(most_trials=5)
    known = {item.config for item in kit.record.outcomes}

    kit.explore(memory_bytes=400_000)

    assert kit.skipped
    assert known.isdisjoint(kit.skipped)


def test_after_the_deadline_only_trials_of_great_use_are_made(make: Make) -> None:
    """Two are made in any case: one tells of no difference."""
    kit = make(by_workers(RATES))
    past = kit.runner.clock() - 1

    little = kit.explore(gain=GREAT_USE * 0.9, deadline=past, limit=1e9)
    after_little = len(kit.record.outcomes)
    great = kit.explore(gain=GREAT_USE, deadline=past, limit=1e9)

    assert (little, after_little) == ("budget", 2)
    assert great == "space_exhausted"


def test_no_trial_is_begun_that_is_expected_to_pass_the_limit(make: Make) -> None:
    """However great its use would be."""
    kit = make(by_workers(dict.fromkeys(range(5), 400.0)))
    begun = kit.runner.clock()
    limit = begun + 60.0

    stopped = kit.explore(gain=1.0, deadline=begun - 1, limit=limit)

    seconds = max(item.seconds for item in kit.record.outcomes)
    assert stopped == "budget"
    assert limit - seconds < kit.runner.clock() <= limit


def test_a_proposer_is_told_all_rates_of_what_was_measured(make: Make) -> None:
    """Those of the race as well; what failed has none."""
    runner = by_workers(RATES)
    runner.wrong = frozenset({config(1)})
    kit = make(runner)
    kit.explore(most_trials=3)
    outcome = kit.record[config(0)]
    kit.record.add_reading(outcome.number, outcome.readings[-1])

    found = rates_of(kit.record.outcomes)

    assert found.keys() == {config(0), config(1, 4)}
    assert found[config(0)] == pytest.approx([300.0, 300.0])


def test_a_reading_without_a_batch_has_no_rate(make: Make) -> None:
    """A rate of nothing has no logarithm."""
    kit = make(by_workers(RATES))
    kit.explore(most_trials=1)
    (outcome,) = kit.record.outcomes
    empty = replace(
        outcome.readings[-1],
        arrivals_s=(),
        counts=(),
        epoch_ends_s=(),
        warm_batches=0,
        steady_batches=0,
    )

    assert rates_of([replace(outcome, readings=(empty,))]) == {}


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


@pytest.mark.parametrize(
    ("gain", "bound"), [(0.05, "search_end"), (0.5, "search_limit")]
)
def test_the_search_ends_when_its_part_of_the_budget_is_spent(
    gain: float, bound: str, make: Make
) -> None:
    """No trial is begun that would be expected to pass it.

    One that is likely to help may take of the time of the race.
    """
    kit = make(by_workers(RATES), budget_s=60.0)

    stopped = kit.explore(gain=gain)

    assert stopped == "budget"
    assert kit.runner.clock() <= getattr(kit.budget, bound)


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


def test_a_search_ends_where_only_pytorchs_default_can_be_measured(make: Make) -> None:
    """Six failures in a row: what fails with workers need not fail for all of them."""
    runner = by_workers(RATES)
    runner.wrong = frozenset(item for item in SPACE.configs() if item.num_workers)
    kit = make(runner)

    assert kit.explore() == "nothing_works"
    assert len(kit.record.outcomes) == 1 + HOPELESS


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
    trials = optuna.load_study(study_name=None, storage=storage).trials

    told = {trial.user_attrs["number"]: trial for trial in trials if trial.user_attrs}
    assert len(told) == len(kit.record.outcomes)
    for outcome in kit.record.outcomes:
        trial = told[outcome.number]
        if outcome.status is Status.MEASURED:
            assert trial.value == pytest.approx(rate_of(outcome))
        else:
            assert trial.state.name == "FAIL"
            assert trial.user_attrs["findings"] == ["missing_ids"]


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
        assert any(f" as {item.config.describe()}, which " in reason for item in failed)
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


def test_what_cannot_fit_is_passed_over_before_anything_runs(make: Make) -> None:
    """By what its batches take; each has the reason."""
    runner = FakeRunner(rate=lambda item: 500.0, memory=lambda item: 0)
    kit = make(runner)

    stopped = kit.explore(memory_bytes=400_000)

    tried = {item.config for item in kit.record.outcomes}
    assert stopped == "space_exhausted"
    assert config(0) in tried
    assert kit.skipped
    assert set(kit.skipped.values()) == {UNFIT["out_of_memory"]}
    assert not tried & set(kit.skipped)
    assert tried | set(kit.skipped) == set(SPACE.configs())


@pytest.mark.parametrize(
    "kind", ["out_of_memory", "shared_memory_full", "descriptors_exhausted"]
)
def test_each_kind_that_is_predicted_has_its_words(
    kind: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is passed over without a reason."""
    failure = Failure(kind=kind, phase="prediction", message="it cannot fit")
    monkeypatch.setattr(
        "autoloader.search.exploration.unfit",
        lambda item, stopwatch, memory_bytes: failure if item.num_workers else None,
    )
    kit = make(by_workers(RATES))

    kit.explore()

    assert set(kit.skipped.values()) == {UNFIT[kind]}
    assert {item.config for item in kit.record.outcomes} == {config(0)}
