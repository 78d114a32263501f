"""Whether memory is pinned: seen before the search, where batches are moved.

One config is read in turns with pinned batches and without, in a loop that moves them
to the accelerator, or runs the training step where there is one. The search then goes
on with what was better. What follows from the rates is `search.pin_gain`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from autoloader.measure.intervals import log_ratios
from autoloader.measure.planning import expected_example_s, loop_plan
from autoloader.measure.stepping import loop_rate, loop_shares
from autoloader.search.pin_gain import LOOKS, gain_of, is_settled
from autoloader.search.rounds import Rounds, run_rounds
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.search.trials import gate_examples, unfit
from autoloader.values.config import LoaderConfig
from autoloader.values.job import TrialRunner
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.transfer import PinReadings, TransferReading

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from autoloader.search.budget import Budget
    from autoloader.search.loops import LoopRunner
    from autoloader.search.space import Space
    from autoloader.search.watcher import Watcher
    from autoloader.tune_values import TuneRequest
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.machine import Machine
    from autoloader.values.step import StepReading

SHARE = 0.1
"""Part of the budget after which no further round is begun."""

LEAST_LEFT = 0.6
"""Part of the budget that must be left: search and race come after it."""


class MovingRunner(TrialRunner, Protocol):
    """Runs passes of trials, and some that move batches to the accelerator."""

    def transfer(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> TransferReading | Failure:
        """Take a reading of a loop that moves batches."""
        ...


@dataclass(slots=True, kw_only=True)
class Pinning:
    """Reads loops with pinned batches and without; the methods are its chapters."""

    space: Space
    """With both values of `pin_memory`."""
    runner: MovingRunner
    """Gates, and moves batches."""
    steps: LoopRunner | None
    """Runs the training step; None: there is none."""
    request: TuneRequest
    reference: Reference
    machine: Machine
    watcher: Watcher
    budget: Budget
    step_examples_per_s: float | None = None
    """What the training step takes alone; None: there is none."""
    _verdicts: dict[bool, Verdict] = field(default_factory=dict)
    _last: dict[bool, StepReading] = field(default_factory=dict)
    _failure: Failure | None = None
    """Why a round's pass failed; None: none did."""

    def run(self) -> tuple[Space, PinReadings]:
        """Return the space with pinning decided, and what it was decided by.

        Where it cannot be told, nothing is pinned.
        """
        if self.budget.left_s < LEAST_LEFT * self.budget.total_s:
            found = self._not_told(self.configs()[0], "the budget has no time for it")
        else:
            found = self._read()
        if found.failed is not None:
            self.watcher.on_caution(
                f"whether pinned memory gains cannot be told: {found.failed}",
                "--pin-memory yes pins all the same",
            )
        is_kept = gain_of(found).is_seen
        return replace(self.space, pin_memory=(is_kept,)), found

    def _read(self) -> PinReadings:
        config, why_not = self._gated()
        if config is None:
            return self._not_told(self.configs()[0], f"{why_not}")
        self.watcher.on_phase(
            "pinning", f"{config.describe()}, with it and without", self.budget
        )
        moved: dict[bool, TransferReading] = {}
        for is_pinned in (False, True):
            reading = self.runner.transfer(
                _with(config, is_pinned=is_pinned),
                verdict=self._verdicts[is_pinned],
                plan=self._plan(config, is_pinned=is_pinned),
            )
            if isinstance(reading, Failure):
                return self._not_told(config, reading.message)
            moved[is_pinned] = reading
            if self.steps is None:  # else that loop's steps are other ones
                self._last[is_pinned] = reading.loop
        rounds = self._rounds(config)
        return PinReadings(
            config=config,
            by=self._by,
            plain_rates=_rates(rounds, is_pinned=False),
            pinned_rates=_rates(rounds, is_pinned=True),
            plain=moved[False],
            pinned=moved[True],
            failed=f"a pass failed: {self._failure.message}" if self._failure else None,
        )

    def _rounds(self, config: LoaderConfig) -> Rounds[bool]:
        """Read both in turns, the order reversed every second round."""

        def read(is_pinned: bool) -> float | None:
            variant = _with(config, is_pinned=is_pinned)
            plan = self._plan(config, is_pinned=is_pinned)
            verdict = self._verdicts[is_pinned]
            found: StepReading | Failure
            if self.steps is not None:
                found = self.steps.step(variant, verdict=verdict, plan=plan)
            else:
                reading = self.runner.transfer(variant, verdict=verdict, plan=plan)
                found = reading if isinstance(reading, Failure) else reading.loop
            if isinstance(found, Failure):
                self._failure = found
                return None
            self._last[is_pinned] = found
            rate = loop_rate(found)
            if rate is None:
                self._failure = _too_few(self._by)
            return rate

        def line_up(number: int, dropped: Collection[bool]) -> Sequence[bool]:
            if dropped:  # one alone says nothing
                return []
            return [True, False] if number % 2 else [False, True]

        return run_rounds(
            read,
            line_up,
            looks=LOOKS,
            deadline=self.budget.clock() + SHARE * self.budget.total_s,
            clock=self.budget.clock,
            is_settled=lambda so_far: is_settled(
                log_ratios(
                    _rates(so_far, is_pinned=True), _rates(so_far, is_pinned=False)
                )
            ),
        )

    @property
    def _by(self) -> Literal["transfer", "step"]:
        return "transfer" if self.steps is None else "step"

    def _not_told(self, config: LoaderConfig, why: str) -> PinReadings:
        return PinReadings(
            config=config,
            by=self._by,
            plain_rates=(),
            pinned_rates=(),
            plain=None,
            pinned=None,
            failed=why,
        )

    def _gated(self) -> tuple[LoaderConfig | None, str | None]:
        """Return a config whose data is right pinned and not, else why none is."""
        facts, request = self.reference.facts, self.request
        stopwatch = Stopwatch(
            runner=self.runner,
            facts=facts,
            scope=self.reference.scope,
            machine=self.machine,
            limit_s=self._limit_s,
            ranks=request.ranks,
        )
        why_not: str | None = None
        for config in self.configs():
            cannot = unfit(config, stopwatch, self._memory_bytes)
            if cannot is not None:
                why_not = cannot.message
                continue
            self.watcher.on_phase("gate", config.describe(), self.budget)
            why_not = self._gate(config, gate_examples(config, stopwatch))
            if why_not is None:
                return config, None
        return None, why_not

    def _gate(self, config: LoaderConfig, examples: int) -> str | None:
        """Gate a config pinned and not; return what is wrong with it."""
        for is_pinned in (False, True):
            variant = _with(config, is_pinned=is_pinned)
            found = self.runner.gate(variant, examples=examples)
            if isinstance(found, Failure):
                return f"{variant.describe()}: {found.message}"
            if not found.passed:
                return f"{variant.describe()}: {found.findings[0].sentence}"
            self._verdicts[is_pinned] = found
        return None

    def configs(self) -> tuple[LoaderConfig, ...]:
        """Return which configs may be read: one with as many workers as CPUs first."""
        low, high = self.space.num_workers
        cpus = max(1, self.machine.whole_cpus // self.request.ranks)
        counts = dict.fromkeys((min(high, max(low, cpus)), low))
        return tuple(
            LoaderConfig.canonical(
                num_workers=workers,
                batch_size=self.space.batch_size[0],
                prefetch_factor=self.space.prefetch_factor[0],
            )
            for workers in counts
        )

    def _plan(self, config: LoaderConfig, *, is_pinned: bool) -> PassPlan:
        """Return what a pass reads, by what is known of its seconds a batch."""
        last = self._last.get(is_pinned) or self._last.get(not is_pinned)
        shares = None if last is None else loop_shares(last)
        if shares is not None:
            batch_s = 1 / shares.steps_per_s
        else:
            cpus = self.machine.effective_cpus / self.request.ranks
            facts = self.reference.facts
            size = config.batch_size or facts.batch_examples
            example_s = expected_example_s(config, facts=facts, cpus=cpus)
            step_s = 1 / self.step_examples_per_s if self.step_examples_per_s else 0.0
            batch_s = size * max(example_s, step_s)
        return loop_plan(config, batch_s=batch_s, limit_s=self._limit_s)

    @property
    def _limit_s(self) -> float:
        """Seconds that a pass should not exceed."""
        return self.budget.total_s * PASS_SHARE

    @property
    def _memory_bytes(self) -> int | None:
        """What the processes of a rank may take."""
        found = self.request.target.memory_bytes
        return None if found is None else found // self.request.ranks


def _too_few(phase: str) -> Failure:
    return Failure(
        kind="no_batch", phase=phase, message="a pass delivered too few batches"
    )


def _with(config: LoaderConfig, *, is_pinned: bool) -> LoaderConfig:
    return replace(config, pin_memory=is_pinned)


def _rates(rounds: Rounds[bool], *, is_pinned: bool) -> tuple[float | None, ...]:
    return tuple(rates.get(is_pinned) for rates in rounds.rates)
