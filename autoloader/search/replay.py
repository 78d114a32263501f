"""Replay whole studies from a table: the search and the choice that users get.

Everything that decides is the real code; only passes are answered by a table, and time
goes by on a clock of its own. What a study chose is then held against the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from autoloader.errors import DataError
from autoloader.search.budget import Budget
from autoloader.search.cost_model import CostModel
from autoloader.search.disturbance import Noise
from autoloader.search.exploration import Exploration, Stop
from autoloader.search.finale import Finale, Result
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.search.replay_runner import ReplayClock, ReplayRunner
from autoloader.search.selection import simplicity
from autoloader.search.space import incumbents, with_stored
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.search.strategy import Strategy
from autoloader.search.tables import Truth
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from autoloader.search.tables import Table
    from autoloader.values.target import Target

ENOUGH = 0.97
"""Share of the target that a right choice truly has: what is within it counts as met.
"""

PLENTY = 1.06
"""Share of the target that none can mistake: no choice should be more complex than the
simplest config that truly has it."""

Answered = Literal["enough", "too_slow", "undecided", "not_met", "unmeetable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a strategy has to work with; it leaves outcomes in the record."""

    table: Table
    """Facts, scope, space and machine; its answers are not for strategies to read."""
    target: Target
    """What is wanted of one rank."""
    stopwatch: Stopwatch
    """Runs passes and takes readings."""
    record: KnownOutcomes
    """Outcomes so far."""
    budget: Budget
    """When the search must end, on the replay's clock."""
    most_trials: int | None
    """Cap on trials; None: the budget alone ends it."""
    seed: int
    """Of whatever is drawn."""
    strategy: Strategy
    """What a tune asks for proposals and finalists."""
    stored: tuple[LoaderConfig, ...] = ()
    """What is tried first besides."""


Search = Callable[[Setting], Stop]
"""Searches, and says why it stopped."""

Ending = Callable[[Setting], Result]
"""Races, verifies and chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What a replayed study came to, held against the truth."""

    table: str
    """Name of the table."""
    seed: int
    """Of noise and search."""
    answered: Answered
    """`enough`: the choice truly has `ENOUGH` of the target; `too_slow`: it has not;
    `undecided`, `not_met`: the study chose nothing though a config meets the target;
    `unmeetable`: it rightly chose nothing, for none does."""
    is_simple: bool | None
    """Whether the choice is at least as simple as the simplest config with `PLENTY` of
    the target; None: none has as much, or nothing was chosen."""
    extra_workers: int | None
    """Workers beyond those of the simplest config that truly meets the target; None:
    nothing was chosen, or no config meets it."""
    chosen: LoaderConfig | None
    """The choice; None where nothing was chosen."""
    share: float | None
    """Its true rate, as a share of what is wanted; None: nothing was chosen."""
    written_share: float | None
    """The same of what is written: the best config, where nothing was chosen."""
    probability: float | None
    """Of meeting the target, as the study tells; None: nothing was chosen."""
    trials: int
    """Configs that were tried."""
    readings: int
    """Timed passes, the race's included."""
    rounds: int
    """Rounds of the race."""
    configs: int
    """Configs of the space."""
    seconds: float
    """Wall time that the study would have taken, from start to choice."""
    stopped_search: str
    """Why the search ended."""
    stopped_race: str | None
    """Why the race ended; None: there was none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "table": self.table,
            "seed": self.seed,
            "answered": self.answered,
            "is_simple": self.is_simple,
            "extra_workers": self.extra_workers,
            "chosen": None if self.chosen is None else self.chosen.to_dict(),
            "share": self.share,
            "written_share": self.written_share,
            "probability": self.probability,
            "trials": self.trials,
            "readings": self.readings,
            "rounds": self.rounds,
            "configs": self.configs,
            "seconds": round(self.seconds, 1),
            "stopped_search": self.stopped_search,
            "stopped_race": self.stopped_race,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a study is replayed under."""

    budget_s: float = 180.0
    """Wall time that the user allows."""
    seed: int = 0
    """Of noise and search."""
    noise: Noise = field(default_factory=Noise)
    """What disturbs the readings of a simulated table."""
    most_trials: int | None = None
    """Cap on trials; None: the budget alone ends it."""
    stored: tuple[LoaderConfig, ...] = ()
    """What an earlier study chose and raced, which is tried first."""
    by_events: bool = False
    """Whether each reading of a simulated table is simulated batch by batch: true to
    life, and slow."""


def study(
    table: Table,
    target: Target,
    conditions: Conditions | None = None,
    *,
    truth: Truth | None = None,
    search_by: Search | None = None,
    ending: Ending | None = None,
) -> ReplayResult:
    """Replay one study and hold its choice against the truth.

    Args:
        table: what passes are answered from.
        target: what is wanted of one rank; its memory budget holds.
        conditions: noise, seed and budget; None: as `Conditions` has them.
        truth: the exhaustive answer, where it was worked out already.
        search_by: how it searches; None: as a tune does.
        ending: how it races and chooses; None: as a tune does.
    """
    under, clock = conditions or Conditions(), ReplayClock()
    seed, budget_s = under.seed, under.budget_s
    disturbance = table.disturbance(under.noise, seed)
    runner = ReplayRunner(
        table, disturbance, clock, by_events=under.by_events, seed=seed
    )
    model = CostModel.of(table.facts, table.scope, table.machine, table.ranks)
    setting = Setting(
        table=table,
        target=target,
        stopwatch=_stopwatch(table, runner, budget_s),
        record=KnownOutcomes(),
        budget=Budget(budget_s, clock, clock()),
        most_trials=under.most_trials,
        seed=seed,
        strategy=Strategy.of(table.space, model, target, seed=seed),
        stored=under.stored,
    )
    clock.advance(table.reference_s)
    stopped = (search_by or search)(setting)
    result = (ending or finish)(setting)
    known = truth or Truth.of(table, target)
    return _result(setting, known, result, stopped, runner.passes["timed"])


def search(setting: Setting) -> Stop:
    """Search as a tune does: incumbents first, then what the strategy proposes."""
    table, record = setting.table, setting.record
    exploration = Exploration(
        record=record,
        study=_Unheeding(),
        proposer=setting.strategy,
        configs=setting.strategy.configs,
        target=setting.target,
        most_trials=setting.most_trials,
        deadline=setting.budget.search_end,
        limit=setting.budget.search_limit,
        clock=setting.budget.clock,
    )
    first = with_stored(incumbents(table.space, facts=table.facts), setting.stored)
    return exploration.run(
        setting.stopwatch,
        first,
        on_start=_ignore,
        on_outcome=_ignore,
    )


def finish(setting: Setting) -> Result:
    """Race, verify and choose as a tune does.

    Raises:
        DataError: nothing was measured.
    """
    table, record = setting.table, setting.record
    if not any(item.status is Status.MEASURED for item in record.outcomes):
        msg = f"not one config of the table {table.name} could be measured"
        raise DataError(msg)
    baseline = table.facts.baseline
    finale = Finale(
        stopwatch=setting.stopwatch,
        record=record,
        strategy=setting.strategy,
        target=setting.target,
        batch_sizes=table.space.batch_size,
        user_config=None if baseline is None else LoaderConfig.from_dict(baseline),
        default_config=table.space.default,
        scope=table.scope,
        budget=setting.budget,
        verify=None,
        on_phase=_ignore,
        on_round=_ignore,
    )
    return finale.run()


def _ignore(*_told: object) -> None:
    """Do nothing with what a watcher would show."""


class _Unheeding:
    """Follows the trials of a replay and shows them nowhere: there is no Optuna."""

    def ask(self, config: LoaderConfig) -> None:
        """Do nothing with what is tried."""

    def tell(self, outcome: Outcome) -> None:
        """Do nothing with what came of it."""


def _stopwatch(table: Table, runner: ReplayRunner, budget_s: float) -> Stopwatch:
    return Stopwatch(
        runner=runner,
        facts=table.facts,
        scope=table.scope,
        machine=table.machine,
        limit_s=budget_s * PASS_SHARE,
        ranks=table.ranks,
        shm_free_bytes=lambda: table.machine.shm_free_bytes,
    )


def _result(
    setting: Setting, truth: Truth, result: Result, stopped: Stop, readings: int
) -> ReplayResult:
    chosen, table, race = result.choice.config, setting.table, result.race
    sizes = table.space.batch_size
    share: float | None = None
    is_simple: bool | None = None
    extra: int | None = None
    if chosen is not None:
        if truth.can_be_met:
            extra = chosen.num_workers - truth.simplest(1.0).num_workers
        share = _share(table, chosen, truth)
        if truth.rates[truth.fastest] >= PLENTY * truth.wanted_examples_per_s:
            plain = simplicity(truth.simplest(PLENTY), sizes)
            is_simple = simplicity(chosen, sizes) <= plain
    written = chosen or result.choice.best
    return ReplayResult(
        table=table.name,
        seed=setting.seed,
        answered=_answered(result, truth, share),
        is_simple=is_simple,
        extra_workers=extra,
        chosen=chosen,
        share=share,
        written_share=None if written is None else _share(table, written, truth),
        probability=result.choice.probability,
        trials=len(setting.record.outcomes),
        readings=readings,
        rounds=0 if race is None else len(race.rounds),
        configs=truth.configs,
        seconds=setting.budget.spent_s,
        stopped_search=stopped,
        stopped_race=None if race is None else race.stopped_because,
    )


def _share(table: Table, config: LoaderConfig, truth: Truth) -> float:
    """Return a config's true rate, as a share of what is wanted."""
    return table.rate(config) / truth.wanted_examples_per_s


def _answered(result: Result, truth: Truth, share: float | None) -> Answered:
    if share is not None:
        return "enough" if share >= ENOUGH else "too_slow"
    if not truth.can_be_met:
        return "unmeetable"
    return "undecided" if result.choice.state == "undecided" else "not_met"
