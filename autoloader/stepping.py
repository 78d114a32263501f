"""The training step's part of a tune and of a measuring: alone first, then its loops.

Readable on one screen; each step lives in a module of its own. Prints nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.errors import StepError
from autoloader.measure.device_meter import DeviceMeter
from autoloader.measure.noise import is_spoiled
from autoloader.measure.planning import loop_pass_s, wave_plan
from autoloader.measure.stepping import WAIT_SHARE
from autoloader.search.budget import CHOICE_LOOPS_SHARE, LOOPS_SHARE
from autoloader.search.loop_choice import (
    candidates,
    check_one_size,
    choose_fed,
    is_settled,
    worth_searching,
)
from autoloader.search.loops import (
    ALONE_ROUNDS,
    CHOICE_ROUNDS,
    TOLD_ROUNDS,
    Entrant,
    LoopRace,
    Loops,
    consumer_rate,
)
from autoloader.search.rates import rate_of
from autoloader.search.selection import too_large
from autoloader.search.stopwatch import PASS_SHARE
from autoloader.trial.step_runner import StepRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from autoloader.measuring import MeasureRequest
    from autoloader.search.budget import Budget
    from autoloader.search.finale import Finale, Result
    from autoloader.search.race_store import RaceStore
    from autoloader.search.strategy import Strategy
    from autoloader.trial.child import Tick
    from autoloader.tune_values import TuneRequest
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine
    from autoloader.values.step import StepReading
    from autoloader.values.target import Target

LEAST_ROUNDS = 4
"""Rounds that the loops of a choice should have: fewer candidates rather than fewer."""

OVERHEAD_S = 0.4
"""Seconds that a pass takes beside its steps: fork, start and end of its processes."""

MOST_ALONE = 2
"""Times that the step alone is timed at first, where others have the machine."""

PASS_FACTOR = 2.0
"""How many times as long as a pass of a loader one with the step may take: each of its
batches takes longer, and first steps are not timed."""


@dataclass(slots=True, kw_only=True)
class Stepping:
    """Runs one training step; the methods are the chapters."""

    step: str
    """SPEC of the training step."""
    request: TuneRequest | MeasureRequest
    """What the user asked for: the dataset, and how processes are made."""
    reference: Reference
    machine: Machine
    folder: Path
    """Of the study."""
    tmp: Path
    """Short path, under which it makes a folder of its own."""
    stack: ExitStack
    """Unwound at the end of the command."""
    budget: Budget
    """Of the command."""
    on_phase: Callable[[str, str], None]
    on_tick: Tick
    cpus: int | None = None
    """CPUs that it may use; None: all of them."""
    share: float = LOOPS_SHARE
    """Part of the budget for loops that nothing rests on."""
    consumer: tuple[StepReading, ...] = ()
    """The step alone, once it was timed."""
    alone: LoaderConfig | None = None
    """Of the loader that its batches are read with."""
    target: Target | None = None
    """What a loader is wanted to give, ranks together; None: nothing is chosen."""
    _runner: StepRunner | None = field(default=None, repr=False)

    def time_alone(
        self, asked: Target, sizes: Sequence[int | None], *, ranks: int
    ) -> Target:
        """Time the step on batches that are ready, and return what is wanted then.

        Where the step is to be kept fed, that is the rate of the node at which it waits
        a twentieth: a loop that waits a share w of its time runs at (1 - w) of the rate
        of the step alone.

        Args:
            asked: what the user wants.
            sizes: allowed batch sizes, the first of which it is timed with.
            ranks: training processes of the node.

        Raises:
            UsageError: it is to be kept fed with batches of several sizes.
            StepError: it cannot be imported, or fails.
        """
        if asked.is_of_step:
            check_one_size(sizes)
        self.consume(sizes[0])
        if asked.is_of_step:
            asked = replace(asked, examples_per_s=self.wanted_examples_per_s * ranks)
        self.target = asked
        return asked

    def consume(self, batch_size: int | None) -> None:
        """Time the step on batches that are ready.

        Raises:
            StepError: it cannot be imported, or fails.
        """
        self.on_phase("step", f"{self.step}, on batches that are ready")
        scope, facts = self.reference.scope, self.reference.facts
        needs_worker = facts.needs_worker or (
            scope.stream is not None and scope.stream.needs_worker
        )
        config = LoaderConfig.canonical(
            num_workers=int(needs_worker), batch_size=batch_size
        )
        self.alone, plan = config, wave_plan(0)
        taken: list[StepReading] = []
        while not taken or (len(taken) < MOST_ALONE and self._is_spoiled(taken[-1])):
            found = self._running().consume(config, plan=plan, limit_s=self.alone_s)
            if isinstance(found, Failure):
                raise StepError(_told(found, self.step), hint=found.hint)
            taken.append(found)
        quiet = [item for item in taken if not self._is_spoiled(item)]
        self.consumer = tuple(quiet or taken)

    @property
    def examples_per_s(self) -> float:
        """What the step takes alone."""
        return consumer_rate(self.consumer)

    @property
    def wanted_examples_per_s(self) -> float:
        """Rate at which it waits a twentieth of its time."""
        return (1 - WAIT_SHARE) * self.examples_per_s

    @property
    def limit_s(self) -> float:
        """Seconds that a pass should not exceed."""
        return self.budget.total_s * PASS_SHARE * PASS_FACTOR

    @property
    def alone_s(self) -> float:
        """Seconds that the step alone should not exceed: half, for nothing loads it."""
        return self.limit_s / 2

    @property
    def is_choosing(self) -> bool:
        """Whether the choice rests on loops."""
        return self.target is not None and self.target.is_of_step

    @property
    def reserved_s(self) -> float:
        """Seconds that are kept for training loops."""
        share = CHOICE_LOOPS_SHARE if self.is_choosing else self.share
        return self.budget.total_s * share

    def narrow(self, strategy: Strategy) -> Strategy:
        """Return the strategy without configs that cannot keep the step fed."""
        if not self.is_choosing:
            return strategy
        return replace(
            strategy,
            configs=worth_searching(
                strategy.configs,
                example_s=self.reference.facts.example_s,
                step_examples_per_s=self.examples_per_s,
            ),
        )

    def with_neighbours(
        self, first: list[tuple[LoaderConfig, str]], strategy: Strategy
    ) -> list[tuple[LoaderConfig, str]]:
        """Return what is tried in any case, with the name of who proposes it.

        Added is what should keep the step fed by the costs of one process, and the same
        with one worker more: workers and the step may share CPUs, which only loops
        tell, and loops are read of what was measured.
        """
        if not self.is_choosing:
            return first
        plain: dict[int, LoaderConfig] = {}
        for config in strategy.configs:  # the simplest first
            plain.setdefault(config.num_workers, config)
        wanted = self.wanted_examples_per_s
        enough = next(
            (
                workers
                for workers, config in plain.items()
                if strategy.model.examples_per_s(config) >= wanted
            ),
            None,
        )
        if enough is None:
            return first  # the search looks for the fastest then
        named = dict(first)
        for added in (plain.get(enough), plain.get(enough + 1)):
            if added is not None:
                named.setdefault(added, "step")
        return list(named.items())

    def finish(
        self,
        finale: Finale,
        result: Result,
        *,
        allowed: Collection[LoaderConfig],
        deadline: float,
    ) -> Result:
        """Return the result with training loops: those of a choice, or only told.

        Args:
            finale: that came to the result by the rates of loaders.
            result: what it chose.
            allowed: what may be chosen.
            deadline: time of the clock at which the loops should end.
        """
        if self.is_choosing:
            return self._choose(finale, result, allowed=allowed, deadline=deadline)
        configs = (finale.default_config, finale.user_config, result.recommended)
        told = [config for config in configs if config is not None]
        loops = self.race(told, finale.record, looks=TOLD_ROUNDS, deadline=deadline)
        return replace(result, loops=loops)

    def race(
        self,
        configs: Sequence[LoaderConfig],
        record: RaceStore,
        *,
        looks: Sequence[int],
        deadline: float,
        is_settled: Callable[[Loops], bool] = lambda _loops: False,
    ) -> Loops:
        """Return the loops of configs that were measured; each reading is kept.

        Args:
            configs: whose loops; what has no speed is left out.
            record: knows them, and keeps the readings.
            looks: rounds after which they may be settled; the last one ends them.
            deadline: time of the clock that no round but the first should pass.
            is_settled: whether the loops so far tell enough.
        """
        entrants = [
            entrant
            for config in dict.fromkeys(configs)
            if (entrant := self._entrant(record, config)) is not None
        ]
        names = "; ".join(item.config.describe() for item in entrants)
        self.on_phase("loops", names)

        def keep(config: LoaderConfig, reading: StepReading) -> None:
            outcome = record[config]
            record.add(replace(outcome, loops=(*outcome.loops, reading)))

        race = LoopRace(
            runner=self._running(),
            step=self.step,
            consumer=self.consumer,
            alone=self.alone or LoaderConfig(num_workers=0, batch_size=None),
            alone_s=self.alone_s,
            limit_s=self.limit_s,
            clock=self.budget.clock,
            on_reading=keep,
        )
        return race.run(entrants, looks=looks, deadline=deadline, is_settled=is_settled)

    def _choose(
        self,
        finale: Finale,
        result: Result,
        *,
        allowed: Collection[LoaderConfig],
        deadline: float,
    ) -> Result:
        """Return the result with the choice that loops make, verified."""
        sizes, allowed = finale.batch_sizes, set(allowed)
        entered = candidates(
            _rates(finale, allowed),
            chosen=result.choice.config,
            wanted=self.wanted_examples_per_s,
            batch_sizes=sizes,
        )
        loops = self.race(
            self._fitting(
                (*entered[:2], finale.default_config, *entered[2:]), finale, deadline
            ),
            finale.record,
            looks=CHOICE_ROUNDS,
            deadline=deadline,
            is_settled=lambda found: is_settled(
                found, batch_sizes=sizes, excluded=found.readings.keys() - allowed
            ),
        )
        excluded = loops.readings.keys() - allowed
        while True:
            choice = choose_fed(loops, batch_sizes=sizes, excluded=excluded)
            config = choice.config or choice.best
            if config is None or finale.verify_whole(config):
                by_loader = choice.config is not None or choice.best is None
                best = result.choice.best if by_loader else choice.best
                choice = replace(choice, best=best)
                return replace(result, choice=choice, loops=loops, lost=finale.lost)
            excluded.add(config)

    def _fitting(
        self, ranked: Sequence[LoaderConfig], finale: Finale, deadline: float
    ) -> list[LoaderConfig]:
        """Return as many configs as some rounds fit into the time; two at least."""
        alone_s = ALONE_ROUNDS * (self.alone_s + OVERHEAD_S)
        left_s = deadline - self.budget.clock() - alone_s
        kept: dict[LoaderConfig, float] = {}
        for config in dict.fromkeys(ranked):
            entrant = self._entrant(finale.record, config)
            if entrant is None:
                continue
            batch_s = entrant.batch_s(self.examples_per_s)
            cost_s = OVERHEAD_S + loop_pass_s(
                config, batch_s=batch_s, limit_s=self.limit_s
            )
            if len(kept) >= 2 and LEAST_ROUNDS * (sum(kept.values()) + cost_s) > left_s:
                break
            kept[config] = cost_s
        return list(kept)

    def _is_spoiled(self, reading: StepReading) -> bool:
        """Whether others took CPUs that the step was short of."""
        return is_spoiled(reading, self.machine.logical_cpus)

    def _entrant(self, record: RaceStore, config: LoaderConfig) -> Entrant | None:
        outcome = record.of_config(config)
        size = config.batch_size or self.reference.facts.batch_examples
        return None if outcome is None else Entrant.of(outcome, float(size))

    def _running(self) -> StepRunner:
        """Return the runner, which starts its host when it is first asked."""
        if self._runner is None:
            self._runner = self.stack.enter_context(
                StepRunner(
                    self.request.source,
                    self.reference,
                    step=self.step,
                    meter=DeviceMeter() if self.machine.accelerators else None,
                    on_tick=self.on_tick,
                    folder=self.folder / "steps",
                    tmp=self.tmp / "s",
                    isolation=self.request.isolation,
                    policy=self.request.policy,
                    cpus=self.cpus,
                )
            )
        return self._runner


def _rates(
    finale: Finale, allowed: Collection[LoaderConfig]
) -> dict[LoaderConfig, float]:
    """Return the loaders' rates of what may be chosen, and fits the memory."""
    outcomes = finale.record.outcomes
    measured = [item for item in outcomes if item.status is Status.MEASURED]
    left_out = too_large(measured, finale.target.memory_bytes)
    rates = {item.config: rate_of(item) for item in measured}
    return {
        config: rate
        for config, rate in rates.items()
        if rate is not None and config in allowed and config not in left_out
    }


def _told(failure: Failure, step: str) -> str:
    """Return what a failure says, and that it is of the step."""
    if failure.kind == "step_exception" or failure.of_accelerator:
        return failure.message
    return f"--step {step} cannot be timed: {failure.message}"
