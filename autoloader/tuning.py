"""The story of a tune: reference, search, race, verification, recommendation.

Readable on one screen; each step lives in a module of its own. Prints nothing.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.errors import StoredFileError
from autoloader.export.evidence import Evidence, recommend
from autoloader.files import check_writable, refusals_named
from autoloader.opening import Opened, Opening
from autoloader.search.budget import Budget
from autoloader.search.cost_model import CostModel
from autoloader.search.finale import Finale, Result
from autoloader.search.fleet_names import FleetName
from autoloader.search.folder import StudyFolder, StudyKey, StudyState
from autoloader.search.moments import Moment
from autoloader.search.passed_over import by_reason
from autoloader.search.rates import rates_of
from autoloader.search.reasons import nothing_left, nothing_measured
from autoloader.search.record import Record
from autoloader.search.space import Space, SpaceRequest
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.search.strategy import Strategy
from autoloader.searching import Searching
from autoloader.stepping import Stepping
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.rank_references import runner_of
from autoloader.tune_values import TuneRequest, TuneResult
from autoloader.values.job import scope_of_one
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autoloader.child.stages import Stage
    from autoloader.export.recommendation import Recommendation
    from autoloader.search.exploration import Stop
    from autoloader.search.shared_storage import SharedStorage
    from autoloader.search.study import Study
    from autoloader.search.watcher import Watcher
    from autoloader.sharing import Sharing
    from autoloader.trial.ranked import RankedRunner
    from autoloader.trial.runner import ProcessRunner
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine
    from autoloader.values.scope import DatasetFacts
    from autoloader.values.target import Target


def tune(
    request: TuneRequest,
    machine: Machine,
    watcher: Watcher,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> TuneResult:
    """Find the simplest config that meets the target, and write it.

    Raises:
        UsageError: something asked for cannot be done; nothing was started.
        StepError: the training step fails.
        DatasetError: the dataset fails by itself.
        DataError: not one config could be measured, or none is left in the end.
        StoredFileError: a file of the study cannot be read or written.
    """
    budget = Budget(request.budget_s, clock, clock())
    if request.out is not None:
        check_writable(request.out)
    key = StudyKey.of(
        source=request.source,
        scope=request.scope,
        space=request.space,
        machine=machine,
        ranks=request.ranks,
        isolation=request.isolation,
        policy=request.policy,
        memory_bytes=request.target.memory_bytes if request.is_memory_asked else None,
        step=request.step,
    )
    folder = StudyFolder(request.folder.absolute(), key)
    with refusals_named(folder.path), ExitStack() as stack:
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        folder.make()
        record = stack.enter_context(Record(folder.path))
        return _Tuning(
            request,
            machine,
            watcher,
            key,
            folder,
            record,
            tmp,
            budget,
            stack,
            request.target,
        ).run()


@dataclass(slots=True)
class _Tuning:
    """One run of a study; the methods are its chapters."""

    request: TuneRequest
    machine: Machine
    watcher: Watcher
    key: StudyKey
    folder: StudyFolder
    record: Record
    tmp: Path
    budget: Budget
    stack: ExitStack
    target: Target
    is_finished: bool = False
    study: Study | None = None
    """Optuna's, once the search has begun."""
    shared: SharedStorage | None = None
    """What a fleet shares; None: this machine works alone."""
    stepping: Stepping | None = None
    """None: there is no training step."""
    allowed: tuple[LoaderConfig, ...] = ()
    """What may be chosen."""
    passed_over: list[tuple[LoaderConfig, str]] = field(default_factory=list)

    def run(self) -> TuneResult:
        begun = self.budget.begun
        self.shared = self._reach()
        opened = self._open()
        reference, space = opened.reference, opened.state.space
        self.stepping = self._time_step(reference, space)
        runner = self._start_runner(reference)
        stopwatch = self._stopwatch(runner, reference)
        strategy = self._strategy(reference, space)
        stopped = self._search(stopwatch, space, strategy)
        if runner.why_fresh is not None and self.request.isolation == "auto":
            self.watcher.on_caution(
                f"each pass had a fresh process: {runner.why_fresh}", None
            )
        result = self._finish(stopwatch, reference, space, strategy)
        if self.study is not None:
            self.study.conclude(self.record.outcomes, result.choice)
        recommendation, written = self._write(opened, result, strategy.model, stopped)
        self.is_finished = True
        return TuneResult(
            state=result.choice.state,
            recommendation=recommendation,
            written=written,
            result=result,
            outcomes=self.record.outcomes,
            reference=reference,
            stopped_search=stopped,
            study=self.folder.path,
            seconds=self.budget.clock() - begun,
            budget_s=self.request.budget_s,
            is_exhaustive=self.request.is_exhaustive,
            passed_over=by_reason(self.passed_over),
        )

    def _reach(self) -> SharedStorage | None:
        """Open what a fleet shares, before anything is read; None: there is none."""
        if self.request.storage is None:
            return None
        from autoloader.sharing import reach  # SQLAlchemy

        found = reach(self.request.storage, self.watcher)
        self.stack.callback(found.close)
        return found

    def _open(self) -> Opened:
        """Read the reference; take budget and memory from an earlier run."""
        opened = Opening(
            request=self.request,
            machine=self.machine,
            watcher=self.watcher,
            folder=self.folder,
            record=self.record,
            tmp=self.tmp,
            budget=self.budget,
            stack=self.stack,
        ).run()
        self.budget = opened.budget
        self.target = replace(self.target, memory_bytes=opened.state.memory_bytes)
        self.folder.write(opened.state)
        self.stack.callback(self._note_state, opened.state)
        return opened

    def _time_step(self, reference: Reference, space: Space) -> Stepping | None:
        """Time the training step alone, which says what keeps it fed."""
        if self.request.step is None:
            return None
        stepping = Stepping(
            step=self.request.step,
            request=self.request,
            reference=reference,
            machine=self.machine,
            folder=self.folder.path,
            tmp=self.tmp,
            stack=self.stack,
            budget=self.budget,
            on_phase=self._on_phase,
            on_tick=self._on_tick,
            cpus=self.machine.cpus_of_a_rank(self.request.ranks),
        )
        sizes, ranks = space.batch_size, self.request.ranks
        self.target = stepping.time_alone(self.target, sizes, ranks=ranks)
        self.watcher.on_target(self.target)
        return stepping

    def _start_runner(self, reference: Reference) -> ProcessRunner | RankedRunner:
        runner = runner_of(
            self.request.source,
            reference,
            folder=self.folder.path / "trials",
            tmp=self.tmp,
            isolation=self.request.isolation,
            policy=self.request.policy,
            memory_bytes=self.target.memory_bytes,
            on_tick=self._on_tick,
            on_pass=self.watcher.on_pass,
        )
        self.stack.enter_context(runner)
        return runner

    def _stopwatch(
        self, runner: ProcessRunner | RankedRunner, reference: Reference
    ) -> Stopwatch:
        stopwatch = Stopwatch(
            runner=runner,
            facts=reference.facts,
            scope=scope_of_one(reference),
            machine=self.machine,
            limit_s=self.budget.total_s * PASS_SHARE,
            moment=lambda: Moment.now(self.budget.spent_s),
            ranks=self.request.ranks,
            at_once=self.request.ranks,
        )
        stopwatch.remember(self.record.outcomes)
        return stopwatch

    def _strategy(self, reference: Reference, space: Space) -> Strategy:
        own = reference.facts.own_config
        is_free = self.request.space == SpaceRequest()  # nothing speaks against it
        strategy = Strategy.of(
            space,
            CostModel.of(
                reference.facts,
                scope_of_one(reference),
                self.machine,
                self.request.ranks,
                at_once=self.request.ranks,
            ),
            self.target,
            seed=self.request.scope.seed,
            also=[own] if own is not None and is_free else [],
        )
        self.allowed = tuple(strategy.configs)
        return strategy if self.stepping is None else self.stepping.narrow(strategy)

    def _search(self, stopwatch: Stopwatch, space: Space, strategy: Strategy) -> Stop:
        searching = Searching(
            request=self.request,
            record=self.record,
            journal=self.folder.path / "optuna.log",
            watcher=self.watcher,
            budget=self.budget,
            target=self.target,
            stepping=self.stepping,
            sharing=self._sharing(stopwatch.facts),
        )
        stopped = searching.run(stopwatch, space, strategy)
        self.study = searching.study
        if self.shared is not None:
            self.shared.close()  # the race is this machine's alone
        self.passed_over = searching.passed_over
        if self.request.is_exhaustive:
            self.budget = self.budget.for_the_finish()
        if not any(item.status is Status.MEASURED for item in self.record.outcomes):
            self.is_finished = True  # asked again, it begins anew
            raise nothing_measured(
                self.record.outcomes, passed_over=by_reason(self.passed_over)
            )
        return stopped

    def _sharing(self, facts: DatasetFacts) -> Sharing | None:
        """Join the fleet that was named; None: this machine searches alone."""
        if self.shared is None:
            return None
        from autoloader.sharing import Sharing  # SQLAlchemy

        return Sharing.join(
            self.shared,
            FleetName.of(self.key, facts, self.machine),
            record=self.record,
            watcher=self.watcher,
            most_trials=self.request.most_trials,
            clock=self.budget.clock,
        )

    def _finish(
        self,
        stopwatch: Stopwatch,
        reference: Reference,
        space: Space,
        strategy: Strategy,
    ) -> Result:
        measured = rates_of(self.record.outcomes)
        if not any(config in measured for config in strategy.configs):
            strategy = replace(strategy, configs=self.allowed)  # what is left of them
        finale = Finale(
            stopwatch=stopwatch,
            record=self.record,
            strategy=strategy,
            target=self.target,
            batch_sizes=space.batch_size,
            user_config=reference.facts.own_config,
            default_config=space.default,
            scope=reference.scope,
            budget=self.budget,
            verify=self.request.verify,
            on_phase=self._on_phase,
            on_round=self.watcher.on_round,
            reserved_s=0.0 if self.stepping is None else self.stepping.reserved_s,
            passed_over=[config for config, _ in self.passed_over],
        )
        result = finale.run()
        if result.choice.best is None:
            self.is_finished = True
            raise nothing_left(
                self.record.outcomes,
                lost=result.lost,
                memory_bytes=self.target.memory_bytes,
            )
        if self.stepping is None:
            return result
        end = self.budget.end
        return self.stepping.finish(finale, result, allowed=self.allowed, deadline=end)

    def _write(
        self,
        opened: Opened,
        result: Result,
        model: CostModel,
        stopped: Stop,
    ) -> tuple[Recommendation, Path | None]:
        evidence = Evidence(
            source=self.request.source,
            target=self.target,
            ranks=self.request.ranks,
            machine=self.machine,
            reference=opened.reference,
            space=opened.state.space,
            pinning=opened.state.pinning,
            result=result,
            outcomes=self.record.outcomes,
            default_config=opened.state.space.default,
            user_config=opened.reference.facts.own_config,
            study=self.folder.path.name,
            seconds=self.budget.spent_s,
            model=model,
            stopped_search=stopped,
            passed_over=by_reason(self.passed_over),
            request=self.request.section,
        )
        recommendation = recommend(evidence)
        is_unmet = result.choice.state != "met" and not self.request.is_best_effort
        if is_unmet or self.request.out is None:
            return recommendation, None
        recommendation.write(self.request.out)
        return recommendation, self.request.out

    def _on_phase(self, name: str, detail: str) -> None:
        self.watcher.on_phase(name, detail, self.budget)

    def _on_tick(self, stage: Stage, done: int) -> None:
        self.watcher.on_tick(stage.words, done)

    def _note_state(self, state: StudyState) -> None:
        """Keep how far it came, so that a resumed run has the time that was left.

        Where it ends by an error, that is what is told, not a disk that refuses this.
        """
        has_failed = sys.exc_info()[0] is not None
        try:
            self.folder.write(
                replace(state, finished=self.is_finished, spent_s=self.budget.spent_s)
            )
        except StoredFileError:
            if not has_failed:
                raise
