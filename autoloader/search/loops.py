"""Race training loops: the same step, fed by different configs, in interleaved rounds.

Says what is read and keeps it; what a loop's moments mean is `measure.stepping`'s,
which config follows from them `search.loop_choice`'s. Rates here are of loops, never
of loaders alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Protocol, Self

from autoloader.measure.intervals import Interval, lower_bound, median, upper_bound
from autoloader.measure.planning import loop_plan, wave_plan
from autoloader.measure.stepping import WAIT_SHARE, loop_rate, loop_shares, wait_shares
from autoloader.search.rates import rate_of
from autoloader.search.rounds import Rounds, run_rounds
from autoloader.search.standings import Judgement, Standings
from autoloader.values.outcome import Failure, Status
from autoloader.values.target import CONFIDENCE, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from autoloader.search.rounds import StopReason
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.device import DeviceSeen
    from autoloader.values.job import PassPlan
    from autoloader.values.outcome import Outcome, Verdict
    from autoloader.values.step import StepReading

TOLD_ROUNDS = (6,)
"""Rounds of loops that are compared only: enough for an interval of their ratio."""

CHOICE_ROUNDS = (4, 8, 12)
"""Rounds of loops after which a choice may be settled; the last ones end them."""

ENOUGH_READINGS = 3
"""Readings of a loop from which on its waits are judged by one share each. Fewer are
cut into parts, which are less independent of each other, but show how they scatter."""

ALONE_ROUNDS = 2
"""First rounds in which the step alone is read as well: what loops are held against."""


class LoopRunner(Protocol):
    """Runs the training step in processes of its own."""

    def consume(
        self, config: LoaderConfig, *, plan: PassPlan, limit_s: float
    ) -> StepReading | Failure:
        """Take a reading of the step alone, on batches that are ready."""
        ...

    def step(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> StepReading | Failure:
        """Take a reading of the training loop."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A config whose loop is to be read."""

    config: LoaderConfig
    verdict: Verdict
    """What the gate said of it: its data is right."""
    batch_examples: float
    """Examples of a batch."""
    loader_examples_per_s: float
    """Rate of its loader alone."""

    @classmethod
    def of(cls, outcome: Outcome, batch_examples: float) -> Self | None:
        """Return the entrant that an outcome makes; None where it has no speed.

        Args:
            outcome: of a config.
            batch_examples: examples of its batch.
        """
        rate = rate_of(outcome)
        if outcome.status is not Status.MEASURED or outcome.verdict is None or not rate:
            return None
        return cls(
            config=outcome.config,
            verdict=outcome.verdict,
            batch_examples=batch_examples,
            loader_examples_per_s=rate,
        )

    def batch_s(self, step_examples_per_s: float) -> float:
        """Return the seconds from batch to batch that its loop should take.

        Args:
            step_examples_per_s: what the step takes alone.
        """
        load_s = self.batch_examples / max(self.loader_examples_per_s, 1e-9)
        step_s = self.batch_examples / max(step_examples_per_s, 1e-9)
        return max(load_s, step_s) if self.config.num_workers else load_s + step_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFigures:
    """What all readings of one config's loop say together."""

    rate: Interval
    """Examples a second over a whole epoch, start and end of workers included."""
    readings: int
    steps_per_s: float
    """Median of the steady part."""
    wait_share: float
    """Mean part of the steady part that the step waited, 0-1."""
    wait_low: float | None
    """One-sided lower bound of it; None where one reading shows no scatter."""
    wait_high: float | None
    """One-sided upper bound of it; None where one reading shows no scatter."""
    wait_s: float
    """Median wait for a batch."""
    compute_s: float
    """Median seconds of a step."""
    utilisation: float | None
    """Mean part of the time that the busiest accelerator worked; None: not told."""

    @property
    def is_fed(self) -> Judgement:
        """Whether the step waits no more than is allowed, with confidence."""
        if self.wait_high is not None and self.wait_high <= WAIT_SHARE:
            return Judgement.MEETS
        if self.wait_low is not None and self.wait_low > WAIT_SHARE:
            return Judgement.FAILS
        return Judgement.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """The step alone, and the loops of several configs."""

    step: str
    """SPEC of the training step."""
    consumer: tuple[StepReading, ...]
    """The step alone, on batches that were ready, in the rounds of the loops."""
    rounds: tuple[Round, ...]
    """Loop rates by config, in the order they ran; None where the pass failed."""
    stopped_because: StopReason
    error: float
    """Share of cases in which a one-sided bound may be wrong."""
    readings: Mapping[LoaderConfig, tuple[StepReading, ...]]
    """Every reading of each config."""
    failed: Mapping[LoaderConfig, Failure]
    """Why a config's loop did not come to its end."""

    @property
    def step_examples_per_s(self) -> float:
        """What the step takes where it never waits."""
        return consumer_rate(self.consumer)

    @property
    def step_s(self) -> float:
        """Seconds of one step that never waits, by the median."""
        shares = [found for item in self.consumer if (found := loop_shares(item))]
        return median([item.compute_s for item in shares])

    @property
    def devices(self) -> list[DeviceSeen | None]:
        """What the driver told of the accelerator in each pass; None: nothing."""
        taken = [item for found in self.readings.values() for item in found]
        return [item.device for item in (*self.consumer, *taken)]

    def standings(
        self,
        *,
        excluded: Collection[LoaderConfig] = (),
        error: float | None = None,
    ) -> Standings:
        """Return each loop against the fastest, indifference zone taken off.

        Args:
            excluded: configs to leave out, as candidates and as the fastest; those that
                failed are.
            error: share of cases in which a bound may be wrong; None: as elsewhere.
        """
        left_out = {*self.failed, *excluded}
        return Standings.of(
            self.rounds,
            Target(share_of_best=1.0),
            self.error if error is None else error,
            excluded=left_out,
        )

    def relative(self, config: LoaderConfig, other: LoaderConfig) -> Interval | None:
        """Return how many times as fast as another's a config's loop is.

        None where no round had both; without ends where few had.
        """
        found = self.standings().relative(config, other)
        both = [item for item in self.rounds if item.get(config) and item.get(other)]
        return None if found is None else _told(found, len(both))

    def saved_share(self, old: LoaderConfig, new: LoaderConfig) -> float | None:
        """Return what part of the loop's time a config saves; below 0: it costs.

        None where no round had both.
        """
        found = self.relative(new, old)
        return None if found is None else 1 - 1 / found.median

    def figures(self, config: LoaderConfig) -> LoopFigures | None:
        """Return what a config's readings say; None where it has none, or failed."""
        readings = [] if config in self.failed else self.readings.get(config, ())
        shares = [found for item in readings if (found := loop_shares(item))]
        rates = [rate for item in readings if (rate := loop_rate(item))]
        if not shares or not rates:
            return None
        waits, error = [item.wait_share for item in shares], self.error
        if len(waits) < ENOUGH_READINGS:
            waits = [part for item in readings for part in wait_shares(item)]
        busy = [item.utilisation for item in readings if item.utilisation is not None]
        return LoopFigures(
            rate=_told(Interval.of(rates, error=error), len(rates)),
            readings=len(readings),
            steps_per_s=median([item.steps_per_s for item in shares]),
            wait_share=fmean(waits),
            wait_low=lower_bound(waits, error),
            wait_high=upper_bound(waits, error),
            wait_s=median([item.wait_s for item in shares]),
            compute_s=median([item.compute_s for item in shares]),
            utilisation=fmean(busy) if busy else None,
        )


def _told(interval: Interval, readings: int) -> Interval:
    """Return an interval, without ends where few readings leave them anywhere."""
    if readings >= ENOUGH_READINGS:
        return interval
    return Interval(median=interval.median, low=None, high=None)


def consumer_rate(readings: Sequence[StepReading]) -> float:
    """Return the examples a second of a step alone; 0 where nothing was read."""
    found = [shares for item in readings if (shares := loop_shares(item))]
    return median([item.examples_per_s for item in found]) if found else 0.0


@dataclass(slots=True, kw_only=True)
class LoopRace:
    """Reads the loops of some configs in rounds."""

    runner: LoopRunner
    step: str
    consumer: tuple[StepReading, ...]
    """The step alone, at least once."""
    alone: LoaderConfig
    """Of the loader that batches are read with for it."""
    alone_s: float
    """Seconds that it should not exceed."""
    limit_s: float
    """Seconds that a pass should not exceed."""
    clock: Callable[[], float]
    on_reading: Callable[[LoaderConfig, StepReading], None]
    """Called with each reading, to keep it."""
    _alone: list[StepReading] = field(default_factory=list)
    _taken: dict[LoaderConfig, list[StepReading]] = field(default_factory=dict)
    _failed: dict[LoaderConfig, Failure] = field(default_factory=dict)

    def run(
        self,
        entrants: Sequence[Entrant],
        *,
        looks: Sequence[int],
        deadline: float,
        is_settled: Callable[[Loops], bool] = lambda _loops: False,
    ) -> Loops:
        """Return the loops, read in turns, the order reversed every second round.

        Args:
            entrants: whose loops; equal configs are one.
            looks: rounds after which they may be settled; the last one ends them. They
                share the error.
            deadline: time of the clock that no round but the first should pass.
            is_settled: whether the loops so far tell enough.
        """
        error = (1 - CONFIDENCE) / len(looks)
        known = {item.config: item for item in entrants}

        def line_up(
            number: int, dropped: Collection[LoaderConfig | None]
        ) -> list[LoaderConfig | None]:
            left = [config for config in known if config not in dropped]
            found: list[LoaderConfig | None] = [*(left[::-1] if number % 2 else left)]
            if found and number < ALONE_ROUNDS and None not in dropped:
                found.append(None)
            return found

        found = run_rounds(
            lambda config: (
                self._read_alone() if config is None else self._read(known[config])
            ),
            line_up,
            looks=looks,
            deadline=deadline,
            clock=self.clock,
            is_settled=lambda so_far: is_settled(self._loops(so_far, error)),
        )
        return self._loops(found, error)

    def _loops(self, found: Rounds[LoaderConfig | None], error: float) -> Loops:
        return Loops(
            step=self.step,
            consumer=tuple(self._alone) or self.consumer,
            rounds=tuple(
                {config: rate for config, rate in round_.items() if config is not None}
                for round_ in found.rates
            ),
            stopped_because=found.stopped_because,
            error=error,
            readings={config: tuple(taken) for config, taken in self._taken.items()},
            failed=dict(self._failed),
        )

    def _read_alone(self) -> float | None:
        """Read the step on batches that are ready; None where that fails."""
        found = self.runner.consume(self.alone, plan=wave_plan(0), limit_s=self.alone_s)
        if isinstance(found, Failure):
            return None
        self._alone.append(found)
        return consumer_rate((found,))

    def _read(self, entrant: Entrant) -> float | None:
        config, taken = entrant.config, self._taken.setdefault(entrant.config, [])
        before = loop_shares(taken[-1]) if taken else None
        batch_s = (
            entrant.batch_s(consumer_rate(self._alone or self.consumer))
            if before is None
            else 1 / before.steps_per_s
        )
        plan = loop_plan(config, batch_s=batch_s, limit_s=self.limit_s)
        found = self.runner.step(config, verdict=entrant.verdict, plan=plan)
        if not isinstance(found, Failure) and loop_rate(found) is None:
            found = Failure(
                kind="no_batch",
                phase="step",
                message="a pass delivered too few batches",
            )
        if isinstance(found, Failure):
            self._failed[config] = found
            return None
        taken.append(found)
        self.on_reading(config, found)
        return loop_rate(found)
