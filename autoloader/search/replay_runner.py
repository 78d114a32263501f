"""Answer passes from a table: the `TrialRunner` of a replay, and its clock.

The clock moves on by what each pass would take; nothing else of a replay is here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from autoloader.search.batch_costs import Draws
from autoloader.search.events import SimulatedPass, simulate
from autoloader.values.outcome import Failure, MemoryReading, Reading, Verdict

if TYPE_CHECKING:
    from autoloader.search.disturbance import Disturbance, Moment
    from autoloader.search.simulated import SimulatedLoader
    from autoloader.search.tables import Answer, Table
    from autoloader.values.ceiling import CeilingReading
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan

PASS_S = 0.25
"""Seconds of a pass beside what it reads: fork, start and end of the trial."""

WEIGH_S = 0.5
"""Seconds in which a full queue is weighed."""

GATE_SLOWER = 1.2
"""Seconds of a gated batch, as a multiple of one that nobody compares."""


class ReplayClock:
    """Seconds that pass only where a pass takes them."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        self.now_s += seconds


class ReplayRunner:
    """Answers passes from a table, disturbed, and moves the clock.

    Args:
        table: how configs do.
        disturbance: what each reading meets.
        clock: moved by what each pass would take.
        by_events: whether each reading is simulated batch by batch, where the table has
            a loader to simulate; else batches arrive evenly, which is far quicker.
        seed: of the examples' costs, where they are simulated.
    """

    def __init__(
        self,
        table: Table,
        disturbance: Disturbance,
        clock: ReplayClock,
        *,
        by_events: bool = False,
        seed: int = 0,
    ) -> None:
        self._table = table
        self._disturbance = disturbance
        self._clock = clock
        self._loader = table.loader if by_events else None
        self._seed = seed
        self.passes: Counter[str] = Counter()

    @property
    def isolation(self) -> str:
        """How passes are made, in the words of a real runner."""
        return "fork"

    @property
    def start_method(self) -> str:
        """How workers are started: as the table's dataset has it."""
        return self._table.facts.start_method

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Return the table's verdict; right, where it knows of no fault."""
        answer = self._begin("gate", config)
        if isinstance(answer, Verdict | Failure):
            return answer
        compared = min(examples, self._table.scope.examples)
        batches = max(1, round(compared / self._table.batch_examples(config)))
        taken_s = answer.start_s + 2 * GATE_SLOWER * answer.epoch_s(batches)
        self._clock.advance(taken_s)
        return Verdict(
            passed=True,
            examples=compared,
            of=self._table.scope.of,
            epochs=2,
            compared="rows",
            count_path=(0,),
            batch_bytes=int(
                self._table.batch_examples(config) * self._table.facts.example_bytes
            ),
        )

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Return a reading that obeys the plan, and its table but for the noise."""
        if not verdict.passed:
            msg = f"a config whose data is wrong is never timed: {config.describe()}"
            raise ValueError(msg)
        answer = self._begin("timed", config)
        if isinstance(answer, Failure):
            return answer
        if isinstance(answer, Verdict):
            msg = f"the gate refuses {config.describe()}: it has no speed"
            raise ValueError(msg)
        moment = self._disturbed(config, answer, plan.steady_batches)
        slower = self._slower(answer, moment)
        seen = (
            self._even(answer, config, plan, slower, slower * moment.start_slower)
            if self._loader is None
            else self._by_events(self._loader, config, plan, slower)
        )
        self._clock.advance(answer.start_s * slower + seen.total_s)
        return Reading(
            purpose=purpose,
            num_workers=config.num_workers,
            kept=config.persistent_workers,
            arrivals_s=seen.arrivals_s,
            counts=seen.counts,
            warm_batches=plan.warm_batches,
            steady_batches=plan.steady_batches,
            total_s=seen.total_s,
            epoch_examples=self._table.scope.epoch_examples,
            epoch_ends_s=seen.epoch_ends_s,
            own_cpu=answer.own_cpu / slower,
            foreign_cpu=moment.foreign_share * self._table.machine.effective_cpus,
            cache=self._table.scope.cache,
        )

    def weigh(self, config: LoaderConfig, *, examples: int) -> MemoryReading | Failure:
        """Return the table's memory."""
        answer = self._begin("memory", config)
        if isinstance(answer, Failure):
            return answer
        if isinstance(answer, Verdict):
            msg = f"the gate refuses {config.describe()}: it is never weighed"
            raise ValueError(msg)
        queued = (config.prefetch_factor or 0) * config.num_workers + 1
        batches = examples / self._table.batch_examples(config)
        epochs_s = 2 * answer.epoch_s(round(batches)) if examples else 0.0
        filling_s = answer.start_s + answer.first_s + queued * answer.batch_s
        self._clock.advance(WEIGH_S + filling_s + epochs_s)
        size = answer.peak_bytes
        return MemoryReading(
            full_queue_bytes=size,
            epoch_end_bytes=(size, size) if examples else (),
            queued_bytes=0,
            queue_was_full=True,
        )

    def ceiling(
        self, config: LoaderConfig, *, plan: PassPlan
    ) -> CeilingReading | Failure:
        """Return that a table does not say it: nothing of it was simulated."""
        del plan
        return Failure(
            kind="unsupported",
            phase="ceiling",
            message=f"a table has no ceiling of {config.describe()}",
        )

    def _begin(self, phase: str, config: LoaderConfig) -> Answer | Verdict | Failure:
        """Count a pass, and return what ends it early, or how the config does.

        Raises:
            KeyError: the config is not in the table.
        """
        self.passes[phase] += 1
        self._clock.advance(PASS_S)
        broken = self._table.broken.get(config)
        ends_here = isinstance(broken, Verdict) or (
            broken is not None
            and (broken.phase == phase or config not in self._table.answers)
        )
        if broken is not None and ends_here:
            return broken
        return self._table.answers[config]

    def _disturbed(self, config: LoaderConfig, answer: Answer, batches: int) -> Moment:
        own = 0.0 if self._loader else answer.batch_scatter / max(batches, 1) ** 0.5
        return self._disturbance.at(self._clock(), config, own)

    def _slower(self, answer: Answer, moment: Moment) -> float:
        """Return how much slower a reading is; others slow down what lacks CPUs."""
        cpus = self._table.machine.effective_cpus / self._table.ranks
        lacking = answer.own_cpu / cpus / (1 - moment.foreign_share)
        return moment.slower * (max(1.0, lacking) if moment.foreign_share else 1.0)

    def _even(
        self,
        answer: Answer,
        config: LoaderConfig,
        plan: PassPlan,
        slower: float,
        start_slower: float,
    ) -> SimulatedPass:
        """Return a pass whose batches arrive evenly."""
        size = int(self._table.batch_examples(config))
        in_epoch = self._table.epoch_counts(config) if plan.epochs else ()
        counts = in_epoch or (size,) * plan.total
        step_s = answer.batch_s * slower
        lead_s = max(0.0, answer.first_s - answer.batch_s) * start_slower
        first_s = lead_s + min(answer.first_s, answer.batch_s) * slower
        ending_s = answer.end_s * start_slower
        each = [first_s + place * step_s for place in range(len(counts))]
        epoch_s = each[-1] + ending_s
        starts = [number * epoch_s for number in range(max(plan.epochs, 1))]
        return SimulatedPass(
            arrivals_s=tuple(begin_s + at_s for begin_s in starts for at_s in each),
            counts=counts * len(starts),
            epoch_ends_s=tuple(at_s + epoch_s for at_s in starts)
            if plan.epochs
            else (),
            total_s=epoch_s * len(starts),
            cpu_s=0.0,
        )

    def _by_events(
        self,
        loader: SimulatedLoader,
        config: LoaderConfig,
        plan: PassPlan,
        slower: float,
    ) -> SimulatedPass:
        """Return a pass that is simulated batch by batch, with waits of its own."""
        seen = simulate(
            loader,
            config,
            plan,
            epoch_counts=self._table.epoch_counts(config),
            batch_examples=int(self._table.batch_examples(config)),
            draws=Draws(seed=self._seed, turn=self.passes["timed"]),
        )
        return replace(
            seen,
            arrivals_s=tuple(at_s * slower for at_s in seen.arrivals_s),
            epoch_ends_s=tuple(at_s * slower for at_s in seen.epoch_ends_s),
            total_s=seen.total_s * slower,
        )
