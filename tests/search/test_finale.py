"""What fails at the end of a study loses its speed, and is told with its reason."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoloader.search.budget import Budget
from autoloader.search.ceilings import Ceilings
from autoloader.search.cost_model import CostModel
from autoloader.search.finale import Finale, Result
from autoloader.search.race import LOOKS
from autoloader.search.reasons import nothing_left
from autoloader.search.record import Record
from autoloader.search.strategy import Strategy
from autoloader.search.trials import run_trial
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan
from autoloader.values.outcome import Failure, Reading, Status, Verdict
from autoloader.values.target import Target
from tests.fakes import FakeRunner, a_machine, a_scope, a_stopwatch, some_facts

HANG = Failure(kind="hung", phase="timed", message="no batch for 30 s")
CRASH = Failure(kind="crashed", phase="timed", message="a worker was killed by SIGBUS")


def config(workers: int) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=64)


ZERO, TWO, FOUR = config(0), config(2), config(4)
RATES = {ZERO: 300.0, TWO: 500.0, FOUR: 900.0}


class Tiring(FakeRunner):
    """Fails in the race, as `endings` says: at its so many-th pass there."""

    def __init__(self) -> None:
        super().__init__(
            rate=lambda item: RATES[item],
            memory=lambda item: 100_000_000 * (item.num_workers + 1),
        )
        self.endings: dict[LoaderConfig, tuple[int, Failure | None]] = {}
        self.raced: dict[LoaderConfig, int] = {}

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Return a reading, or how the config ends; None: without one batch."""
        reading = super().time(config, verdict=verdict, purpose=purpose, plan=plan)
        if purpose != "race" or config not in self.endings:
            return reading
        assert isinstance(reading, Reading)
        self.raced[config] = self.raced.get(config, 0) + 1
        last, ending = self.endings[config]
        if self.raced[config] < last:
            return reading
        return ending or Reading(
            purpose="race",
            num_workers=config.num_workers,
            kept=False,
            arrivals_s=(),
            counts=(),
            warm_batches=0,
            steady_batches=0,
            total_s=1.0,
            epoch_examples=self.epoch_examples,
        )


class Kit:
    """A study whose search is over: three configs were measured."""

    def __init__(self, folder: Path) -> None:
        self.runner = Tiring()
        self.record = Record(folder)
        self.stopwatch = a_stopwatch(self.runner)
        self.phases: list[tuple[str, str]] = []
        for number, tried in enumerate(RATES):
            self.record.add(
                run_trial(
                    self.stopwatch,
                    tried,
                    number=number,
                    source="search",
                    memory_bytes=None,
                    clock=self.runner.clock,
                )
            )

    def finish(self, target: Target | None = None, **more: Any) -> Result:
        """Race, verify and choose."""
        return self.finale(target, **more).run()

    def finale(
        self,
        target: Target | None = None,
        *,
        budget_s: float = 1000.0,
        user_config: LoaderConfig = TWO,
    ) -> Finale:
        """Return the end of the study, ready to run."""
        facts, scope = some_facts(), a_scope()
        wanted = target or Target(share_of_best=0.95)
        budget = Budget(budget_s, self.runner.clock, self.runner.clock())
        return Finale(
            stopwatch=self.stopwatch,
            record=self.record,
            strategy=Strategy(
                configs=tuple(RATES),
                batch_sizes=(64,),
                model=CostModel.of(facts, scope, a_machine(), 1),
                target=wanted,
            ),
            target=wanted,
            batch_sizes=(64,),
            user_config=user_config,
            default_config=ZERO,
            scope=scope,
            budget=budget,
            verify=None,
            on_phase=lambda name, detail: self.phases.append((name, detail)),
            on_round=lambda number, rates: None,
        )


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Give a study whose lock is given back at the end."""
    made = Kit(tmp_path)
    yield made
    made.record.close()


def test_a_config_that_fails_in_the_race_is_recorded_with_its_failure(kit: Kit) -> None:
    """It has no speed any more, and the choice is made among the others."""
    kit.runner.endings = {FOUR: (3, CRASH)}

    result = kit.finish()

    assert result.race is not None
    assert result.race.dropped == (FOUR,)
    assert result.choice.config == TWO
    assert result.lost == (kit.record[FOUR],)
    assert kit.record[FOUR].status is Status.CRASHED
    assert kit.record[FOUR].failure == CRASH
    assert kit.record[FOUR].readings == ()


def test_a_race_that_everybody_leaves_says_who_and_why(kit: Kit) -> None:
    """In the order in which they left; nothing is called measured."""
    kit.runner.endings = {TWO: (1, HANG), FOUR: (2, CRASH), ZERO: (4, CRASH)}

    result = kit.finish()

    assert result.race is not None
    assert result.race.stopped_because == "nothing_left"
    assert result.choice.best is None
    error = nothing_left(kit.record.outcomes, lost=result.lost, memory_bytes=None)
    assert str(error) == (
        "no config is left of 3 that could be measured; "
        "2 workers, prefetch 2, batch 64, in the race: hung: no batch for 30 s; "
        "4 workers, prefetch 2, batch 64, in the race: crashed: "
        "a worker was killed by SIGBUS; "
        "0 workers, batch 64, in the race: crashed: a worker was killed by SIGBUS"
    )


def test_a_pass_of_the_race_without_a_batch_is_a_failure_by_name(kit: Kit) -> None:
    """A rate of nothing is none."""
    kit.runner.endings = {FOUR: (1, None)}

    result = kit.finish()

    (lost,) = result.lost
    assert lost.config == FOUR
    assert lost.failure == Failure(
        kind="no_batch", phase="timed", message="a pass delivered no batch"
    )


def test_what_fails_its_verification_is_among_the_lost(kit: Kit) -> None:
    """With the finding that it was refused for."""
    kit.runner.wrong_when_whole = frozenset({FOUR})

    result = kit.finish()

    (lost,) = result.lost
    assert (lost.config, lost.status) == (FOUR, Status.REFUSED)
    assert result.choice.config == TWO


def test_a_study_in_which_nothing_fits_any_more_says_so(kit: Kit) -> None:
    """Measured under more memory, in an earlier run."""
    result = kit.finish(Target(share_of_best=0.95, memory_bytes=1))

    assert result.choice.best is None
    error = nothing_left(kit.record.outcomes, lost=result.lost, memory_bytes=1)
    assert "2 workers, prefetch 2, batch 64: it takes 286.1 MiB, the budget is 1 B" in (
        str(error)
    )


def test_nothing_is_lost_where_nothing_fails(kit: Kit) -> None:
    """Every config keeps its readings."""
    assert kit.finish().lost == ()
    assert {item.status for item in kit.record.outcomes} == {Status.MEASURED}


def raced(result: Result) -> set[LoaderConfig]:
    """Return who ran in the race."""
    assert result.race is not None
    return {config for round_ in result.race.rounds for config in round_}


def test_the_likely_choice_is_verified_before_the_race(kit: Kit) -> None:
    """The race can then have all the time that is left."""
    result = kit.finish()

    assert result.choice.config == FOUR
    assert kit.phases[0] == ("verification", FOUR.describe())
    assert [name for name, _ in kit.phases] == [
        "verification",
        "race",
        "ceiling",
    ]


def test_what_fails_before_the_race_is_not_raced(kit: Kit) -> None:
    """The next best is verified in its place."""
    kit.runner.wrong_when_whole = frozenset({FOUR})

    result = kit.finish()

    assert FOUR not in raced(result)
    assert [name for name, _ in kit.phases] == [
        "verification",
        "verification",
        "race",
        "ceiling",
    ]


def test_the_users_own_config_is_raced_however_slow_it_is(kit: Kit) -> None:
    """People want to see what they gain."""
    wanted = Target(examples_per_s=850.0)

    assert TWO in raced(kit.finish(wanted))
    assert TWO not in raced(kit.finish(wanted, user_config=FOUR))


def test_a_config_that_takes_too_much_memory_is_not_raced(kit: Kit) -> None:
    """Neither as the fastest nor as the user's own."""
    wanted = Target(share_of_best=0.95, memory_bytes=350_000_000)

    result = kit.finish(wanted, user_config=FOUR)

    assert FOUR not in raced(result)
    assert result.choice.config == TWO


@pytest.mark.parametrize("budget_s", [1000.0, 60.0])
def test_pytorchs_default_is_read_in_three_rounds_at_least(
    budget_s: float, kit: Kit
) -> None:
    """So that a night can compare with it, whether or not there is time for more."""
    result = kit.finish(budget_s=budget_s)

    assert result.race is not None
    found = [
        number for number, round_ in enumerate(result.race.rounds) if ZERO in round_
    ]
    assert len(result.race.rounds) == LOOKS[0]
    assert found == [0, 1, 2]


@pytest.mark.parametrize(
    ("budget_s", "expected"), [(1000.0, [FOUR, TWO, ZERO]), (1.0, [FOUR, TWO])]
)
def test_a_race_has_as_many_finalists_as_the_first_look_has_time_for(
    budget_s: float, expected: list[LoaderConfig], kit: Kit
) -> None:
    """The most important first; two in any case, for one alone shows nothing."""
    finale = kit.finale(budget_s=budget_s)

    assert list(finale._fitting([FOUR, TWO, ZERO])) == expected


def test_the_fastest_is_read_over_free_examples(kit: Kit) -> None:
    """Once, and its outcome keeps it; the choice tells nothing more."""
    result = kit.finish(Target(share_of_best=0.5))

    read = [item for kind, item in kit.runner.calls if kind == "ceiling"]
    assert result.choice.config == TWO
    assert read == [FOUR]
    assert kit.record[FOUR].ceiling is not None
    assert kit.record[TWO].ceiling is None


def test_a_pass_over_free_examples_that_fails_takes_nothing_away(kit: Kit) -> None:
    """A collate_fn may refuse to see the same examples again."""
    kit.runner.failing_ceiling = CRASH

    result = kit.finish()

    assert result.choice.config == FOUR
    assert kit.record[FOUR].status is Status.MEASURED
    assert kit.record[FOUR].ceiling is None


def test_no_ceiling_is_read_when_the_time_is_up(kit: Kit) -> None:
    """What was promised is kept."""
    kit.finish(budget_s=0.001)

    assert "ceiling" not in {kind for kind, _ in kit.runner.calls}


def test_where_no_workers_are_fastest_workers_are_looked_at_first(kit: Kit) -> None:
    """What keeps them from gaining is seen with them only."""
    finale = kit.finale()
    choice = replace(finale.run().choice, config=ZERO, best=ZERO)
    ceilings = Ceilings(
        stopwatch=finale.stopwatch,
        record=kit.record,
        budget=finale.budget,
        on_phase=finale.on_phase,
    )
    kit.runner.calls.clear()

    ceilings.take(choice)

    assert kit.runner.calls == [("ceiling", FOUR), ("ceiling", ZERO)]
