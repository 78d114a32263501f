"""The story of a measuring: given configs, gated, then read side by side.

Readable on one screen; each step lives in a module of its own. Prints nothing.
"""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoloader.errors import UsageError
from autoloader.measure.throughput import epoch_rate
from autoloader.search.budget import (
    MEASURED_LOOPS_SHARE,
    REFERENCE_SHARE,
    Budget,
)
from autoloader.search.comparison import LOOKS
from autoloader.search.contenders import Contender, contenders_of
from autoloader.search.loops import TOLD_ROUNDS
from autoloader.search.measure_folder import make_measure_folder, write_study
from autoloader.search.moments import Moment
from autoloader.search.record import Record
from autoloader.search.side_by_side import SideBySide, read_side_by_side
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.search.trials import run_trial
from autoloader.stepping import Stepping
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.rank_references import read_reference, runner_of
from autoloader.units import counted
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.job import Reference, ReferenceOrder, scope_of_one
from autoloader.values.outcome import Failure, Outcome, Reading, Status
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.stages import Stage
    from autoloader.search.comparison import Comparison
    from autoloader.search.loops import Loops
    from autoloader.search.watcher import MeasureWatcher
    from autoloader.trial.hosting import Isolation
    from autoloader.trial.ranked import RankedRunner
    from autoloader.trial.runner import ProcessRunner
    from autoloader.values.machine import Machine

BUDGET_S = 180.0
"""Wall time where neither a budget nor a number of rounds is given."""

ROUNDS_SHARE = 0.6
"""Part of the budget that the rounds up to the first look should fit into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRequest:
    """What the user asked for."""

    source: SourceSpec
    step: str | None = None
    """SPEC of the training step, whose loops are read too; None: there is none."""
    configs: tuple[str, ...] = ()
    """Configs as text, the baseline first; what one or none leaves out is added."""
    batch_size: int | None = None
    """Examples a batch where a config names none; None: the DataLoader's own, else
    32."""
    scope: ScopeRequest = field(default_factory=ScopeRequest)
    rounds: int | None = None
    """Number of rounds; None: until every pair is settled, `LOOKS[-1]` at most."""
    budget_s: float | None = BUDGET_S
    """Wall time; None: as long as the rounds take."""
    memory_bytes: int | None = None
    """What a config may take; None: no limit."""
    ranks: int = 1
    """Training processes that read at once, each its share."""
    isolation: Isolation = "auto"
    policy: GatePolicy = field(default_factory=GatePolicy)
    """What refuses a config."""
    folder: Path = Path(".autoloader")
    """Where studies are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One config with all that came of it."""

    contender: Contender
    outcome: Outcome
    """Its fate; one that failed in a round has no readings there."""
    readings: tuple[Reading, ...]
    """Everything that was read, in order, before it failed or not."""

    @property
    def has_speed(self) -> bool:
        """Whether it was read, and never failed."""
        return self.outcome.status is Status.MEASURED


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureResult:
    """What came of a measuring."""

    source: SourceSpec
    reference: Reference
    machine: Machine
    measured: tuple[Measured, ...]
    """Every config, in the order of their names."""
    side_by_side: SideBySide | None
    """The rounds; None where fewer than two configs could be measured."""
    comparison: Comparison | None
    """What they say; None where fewer than two configs are left."""
    loops: Loops | None = None
    """Training loops; None: there is no step, or nothing could be measured."""
    why_fresh: str | None
    """Why passes had fresh processes; None where they were forked, or not by choice."""
    study: Path
    """Folder with every reading."""
    seconds: float

    @property
    def state(self) -> Literal["settled", "undecided", "failed"]:
        """Whether every pair is known, or was given all rounds that were asked for."""
        if self.comparison is None or self.side_by_side is None:
            return "failed"
        is_done = (
            self.side_by_side.is_fixed
            and self.side_by_side.rounds.stopped_because == "all_rounds"
        )
        return "settled" if is_done or self.comparison.is_settled else "undecided"


def measure(
    request: MeasureRequest,
    machine: Machine,
    watcher: MeasureWatcher,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> MeasureResult:
    """Return how fast each config is, and how many times as fast as the others.

    Raises:
        UsageError: something asked for cannot be done.
        DatasetError: the dataset fails by itself.
        StoredFileError: a reading cannot be written.
    """
    budget = Budget(request.budget_s or BUDGET_S, clock, clock())
    begun = datetime.now().astimezone()
    with ExitStack() as stack:
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        folder = make_measure_folder(request.folder.absolute(), begun)
        stack.callback(_forget_if_empty, folder)
        record = stack.enter_context(Record(folder, goes_on=False))
        story = _Measuring(
            request, machine, watcher, folder, record, tmp, budget, stack
        )
        try:
            return story.run()
        except KeyboardInterrupt as exc:
            exc.add_note(story.what_is_kept())
            raise


@dataclass(slots=True)
class _Measuring:
    """One run; the methods are its chapters."""

    request: MeasureRequest
    machine: Machine
    watcher: MeasureWatcher
    folder: Path
    record: Record
    tmp: Path
    budget: Budget
    stack: ExitStack
    stepping: Stepping | None = None
    """None: there is no training step."""
    measured: dict[str, Measured] = field(default_factory=dict)

    def run(self) -> MeasureResult:
        reference = self._read_reference()
        contenders = contenders_of(
            self.request.configs,
            batch_size=self.request.batch_size,
            facts=reference.facts,
            scope=scope_of_one(reference),
        )
        write_study(
            self.folder,
            dataset=self.request.source.spec,
            reference=reference,
            machine=self.machine,
            contenders=contenders,
        )
        self.watcher.on_entered(contenders)
        self._time_step(reference, contenders)
        runner = self._start_runner(reference)
        stopwatch = self._stopwatch(runner, reference, len(contenders))
        for contender in contenders:
            self._try(stopwatch, contender)
        found = self._compare(stopwatch)
        is_chosen = self.request.isolation == "auto"
        has_two = found is not None and len(found.left) >= 2
        return MeasureResult(
            source=self.request.source,
            reference=reference,
            machine=self.machine,
            measured=tuple(self.measured.values()),
            side_by_side=found,
            comparison=found.comparison() if found is not None and has_two else None,
            loops=self._loops(),
            why_fresh=runner.why_fresh if is_chosen else None,
            study=self.folder,
            seconds=self.budget.clock() - self.budget.begun,
        )

    def what_is_kept(self) -> str:
        """Return where the readings of a run that was interrupted are."""
        count = sum(len(item.readings) for item in self.measured.values())
        if not count:
            return "nothing was read yet"
        return f"{counted(count, 'reading')} so far: {self.folder / 'outcomes.jsonl'}"

    def _read_reference(self) -> Reference:
        self.watcher.on_phase("reference", self.request.source.spec)
        logs = self.folder / "reference"
        logs.mkdir(mode=0o700)
        limit_s = self.budget.total_s * REFERENCE_SHARE
        return read_reference(
            ReferenceOrder(
                source=self.request.source,
                request=replace(self.request.scope, time_limit_s=limit_s),
                folder=str(logs),
                largest_batch=_largest_batch(self.request),
                step=self.request.step,
                ranks=self.request.ranks,
            ),
            logs=logs,
            tmp=self.tmp,
            hang_after_s=self.request.policy.hang_after_s,
            on_tick=self._on_tick,
        )

    def _start_runner(self, reference: Reference) -> ProcessRunner | RankedRunner:
        runner = runner_of(
            self.request.source,
            reference,
            folder=self.folder / "trials",
            tmp=self.tmp,
            isolation=self.request.isolation,
            policy=self.request.policy,
            memory_bytes=self.request.memory_bytes,
            on_tick=self._on_tick,
        )
        self.stack.enter_context(runner)
        return runner

    def _stopwatch(
        self,
        runner: ProcessRunner | RankedRunner,
        reference: Reference,
        configs: int,
    ) -> Stopwatch:
        share = min(PASS_SHARE, ROUNDS_SHARE / (LOOKS[0] * configs))
        return Stopwatch(
            runner=runner,
            facts=reference.facts,
            scope=scope_of_one(reference),
            machine=self.machine,
            limit_s=self.budget.total_s * share,
            ranks=self.request.ranks,
            at_once=self.request.ranks,
            moment=lambda: Moment.now(self.budget.spent_s),
        )

    def _try(self, stopwatch: Stopwatch, contender: Contender) -> None:
        """Gate, weigh and read a config for the first time."""
        self.watcher.on_trial(contender)
        outcome = run_trial(
            stopwatch,
            contender.config,
            number=contender.number,
            source=contender.source,
            memory_bytes=self.request.memory_bytes,
            clock=self.budget.clock,
        )
        self.record.add(outcome)
        self.measured[contender.name] = Measured(
            contender=contender, outcome=outcome, readings=outcome.readings
        )
        self.watcher.on_outcome(contender, outcome)

    def _compare(self, stopwatch: Stopwatch) -> SideBySide | None:
        """Read what can be measured side by side; None where that is not two."""
        names = [name for name, item in self.measured.items() if item.has_speed]
        if len(names) < 2:
            return None
        self.watcher.on_phase("rounds", ", ".join(names))
        reserved_s = 0.0 if self.stepping is None else self.stepping.reserved_s
        return read_side_by_side(
            lambda name: self._read(stopwatch, name),
            names,
            rounds=self.request.rounds,
            deadline=self._end() - reserved_s,
            clock=self.budget.clock,
            on_round=self.watcher.on_round,
        )

    def _time_step(
        self, reference: Reference, contenders: tuple[Contender, ...]
    ) -> None:
        """Time the training step alone, where there is one."""
        if self.request.step is None:
            return
        self.stepping = Stepping(
            step=self.request.step,
            request=self.request,
            reference=reference,
            machine=self.machine,
            folder=self.folder,
            tmp=self.tmp,
            stack=self.stack,
            budget=self.budget,
            on_phase=self.watcher.on_phase,
            on_tick=self._on_tick,
            share=MEASURED_LOOPS_SHARE,
        )
        self.stepping.consume(contenders[0].config.batch_size)

    def _loops(self) -> Loops | None:
        """Read training loops of what was measured, in rounds of their own."""
        configs = [
            item.contender.config for item in self.measured.values() if item.has_speed
        ]
        if self.stepping is None or not configs:
            return None
        asked = self.request.rounds
        looks = TOLD_ROUNDS if asked is None else (asked,)
        return self.stepping.race(
            configs, self.record, looks=looks, deadline=self._end()
        )

    def _end(self) -> float:
        """Return the time of the clock at which the last round should end."""
        return math.inf if self.request.budget_s is None else self.budget.end

    def _on_tick(self, stage: Stage, done: int) -> None:
        self.watcher.on_tick(stage.words, done)

    def _read(self, stopwatch: Stopwatch, name: str) -> float | None:
        """Take the reading of a round; None where the pass failed."""
        item = self.measured[name]
        outcome = item.outcome
        if outcome.verdict is None:
            return None
        taken = stopwatch.take(outcome.config, verdict=outcome.verdict, purpose="race")
        if not isinstance(taken, Failure) and not sum(taken[-1].counts):
            taken = Failure(
                kind="no_batch", phase="timed", message="a pass delivered no batch"
            )
        if isinstance(taken, Failure):
            failed = replace(outcome, status=taken.status, failure=taken, readings=())
            self.record.add(failed)
            self.measured[name] = replace(item, outcome=failed)
            return None
        for reading in taken:
            self.record.add_reading(outcome.number, reading)
        self.measured[name] = replace(item, readings=(*item.readings, *taken))
        return epoch_rate(taken[-1])


def _forget_if_empty(folder: Path) -> None:
    """Remove the folder of a run that read nothing: the SPEC was mistyped, say.

    What a dataset printed before it failed stays.
    """
    kind = sys.exc_info()[0]
    if kind is None or (folder / "outcomes.jsonl").exists():
        return
    if issubclass(kind, UsageError | KeyboardInterrupt):
        remove_folder(folder)


def _largest_batch(request: MeasureRequest) -> int | None:
    """Return the largest batch size asked for; None where none is."""
    size = request.batch_size
    configs = [LoaderConfig.parse(text, batch_size=size) for text in request.configs]
    named = [config.batch_size for config in configs if config.batch_size is not None]
    return max([*named, size or 0]) or None
