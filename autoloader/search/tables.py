"""Tables that a replay answers from: how each config does where nothing disturbs it.

Made of a simulated loader or of the readings of a real study. The exhaustive answer is
known: the fastest config, and the simplest that is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.measure.intervals import median
from autoloader.measure.throughput import end_s, epoch_rate, steady_rate
from autoloader.search.disturbance import (
    LEAST_ROUNDS,
    Disturbance,
    DrawnNoise,
    Noise,
    RecordedNoise,
)
from autoloader.search.prediction import cannot_fit
from autoloader.values.outcome import Failure, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autoloader.search.simulated import SimulatedLoader
    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome, Reading
    from autoloader.values.scope import DatasetFacts, Scope
    from autoloader.values.target import Target

RIPPLE = 0.005
"""Share by which rates of a simulation differ without a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a config does where nothing disturbs it, in seconds of an epoch."""

    first_s: float
    """Arrival of the first batch."""
    batch_s: float
    """From batch to batch afterwards."""
    end_s: float
    """From the last batch to the end, workers shut down."""
    start_s: float = 0.0
    """What starting kept workers takes before the epoch that is read."""
    batch_scatter: float = 0.0
    """By how much a batch differs from pass to pass, as a share of its mean."""
    own_cpu: float = 0.0
    """CPUs that trial and workers keep busy."""
    peak_bytes: int = 0
    """Memory of all processes."""

    def epoch_s(self, batches: int) -> float:
        """Return the seconds of an epoch."""
        return self.first_s + max(0, batches - 1) * self.batch_s + self.end_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a replayed study can ask, and the true answers to it."""

    name: str
    """What it is called in a bench."""
    facts: DatasetFacts
    """What a reference run would say."""
    scope: Scope
    """What is read."""
    space: Space
    """What may be tried."""
    machine: Machine
    """Where it runs."""
    ranks: int = 1
    """Training processes that share the machine; everything else is one rank's."""
    memory_bytes: int | None = None
    """Memory budget of one rank; None: no limit."""
    reference_s: float = 0.0
    """What the reference takes of a study's budget."""
    answers: Mapping[LoaderConfig, Answer]
    """Of each config that can be measured."""
    broken: Mapping[LoaderConfig, Verdict | Failure] = field(default_factory=dict)
    """What becomes of each config that cannot."""
    rounds: Mapping[LoaderConfig, tuple[float | None, ...]] | None = None
    """Recorded epoch rates, round by round; None: it is simulated."""
    loader: SimulatedLoader | None = None
    """What the answers were simulated with; None: they are recorded."""

    def __post_init__(self) -> None:
        """Check that there is an answer to whatever may be tried."""
        lacking = [item for item in self.space.configs() if not self._knows(item)]
        if lacking:
            msg = (
                f"a table answers for every config of its space, got none for "
                f"{len(lacking)}, such as {lacking[0].describe()}"
            )
            raise UsageError(msg, hint="record an exhaustive run, or narrow the space")

    @classmethod
    def of(
        cls,
        outcomes: Iterable[Outcome],
        *,
        name: str,
        facts: DatasetFacts,
        scope: Scope,
        space: Space,
        machine: Machine,
        memory_bytes: int | None = None,
        reference_s: float = 0.0,
    ) -> Table:
        """Return the table of a real study, of which every config was read often.

        The k-th counted reading of each config is taken to belong to round k, as a run
        in interleaved rounds takes them.

        Raises:
            UsageError: a config of the space was not tried, or read too few times.
        """
        answers: dict[LoaderConfig, Answer] = {}
        broken: dict[LoaderConfig, Verdict | Failure] = {}
        rounds: dict[LoaderConfig, tuple[float | None, ...]] = {}
        for outcome in outcomes:
            if outcome.status is Status.MEASURED:
                readings = _in_rounds(outcome)
                answers[outcome.config] = _recorded_answer(outcome, readings, scope)
                rounds[outcome.config] = tuple(map(epoch_rate, readings))
            else:
                broken[outcome.config] = _why_broken(outcome)
        RecordedNoise(rates=rounds, seed=0)  # says who was read too few times
        return cls(
            name=name,
            facts=facts,
            scope=scope,
            space=space,
            machine=machine,
            memory_bytes=memory_bytes,
            reference_s=reference_s,
            answers=answers,
            broken=broken,
            rounds=rounds,
        )

    def disturbance(self, noise: Noise, seed: int) -> Disturbance:
        """Return what the readings of one study meet: drawn, or as recorded."""
        if self.rounds is None:
            return DrawnNoise(noise, seed)
        return RecordedNoise(self.rounds, seed)

    def batch_examples(self, config: LoaderConfig) -> float:
        """Return the examples of a batch."""
        return config.batch_size or self.facts.batch_examples

    def epoch_counts(self, config: LoaderConfig) -> tuple[int, ...]:
        """Return the examples of each batch of the real epoch; empty: it is unknown."""
        return epoch_counts(self.scope, int(self.batch_examples(config)))

    def rate(self, config: LoaderConfig) -> float:
        """Return the true examples a second over the real epoch."""
        answer = self.answers[config]
        counts = self.epoch_counts(config)
        if not counts:
            return self.batch_examples(config) / answer.batch_s
        return sum(counts) / answer.epoch_s(len(counts))

    def fits(self, config: LoaderConfig, memory_bytes: int | None) -> bool:
        """Return whether a config may be chosen: data right, memory within limits."""
        answer = self.answers.get(config)
        if answer is None or config in self.broken:
            return False
        if memory_bytes is not None and answer.peak_bytes > memory_bytes:
            return False
        refusal = cannot_fit(
            config, facts=self.facts, machine=self.machine, memory_bytes=memory_bytes
        )
        return refusal is None

    def _knows(self, config: LoaderConfig) -> bool:
        return config in self.answers or config in self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The exhaustive answer of a table: who is fastest, and who is enough."""

    rates: Mapping[LoaderConfig, float]
    """True epoch rate of each config that may be chosen, the simplest first."""
    fastest: LoaderConfig
    """The fastest; of those that differ by a ripple, the simplest."""
    wanted_examples_per_s: float
    """What the target comes to."""
    configs: int
    """Configs of the space, those that may not be chosen too."""

    @classmethod
    def of(cls, table: Table, target: Target) -> Truth:
        """Return what an exhaustive search of a table without noise would say.

        Raises:
            UsageError: no config of the table may be chosen.
        """
        configs = table.space.configs()
        rates = {
            config: table.rate(config)
            for config in configs
            if table.fits(config, target.memory_bytes)
        }
        if not rates:
            msg = f"no config of the table {table.name} may be chosen"
            raise UsageError(msg)
        best = max(rates.values())
        return cls(
            rates=rates,
            fastest=_simplest(rates, best * (1 - RIPPLE)),
            wanted_examples_per_s=target.rate(best),
            configs=len(configs),
        )

    @property
    def can_be_met(self) -> bool:
        """Whether a config meets the target."""
        return max(self.rates.values()) >= self.wanted_examples_per_s

    def simplest(self, factor: float) -> LoaderConfig:
        """Return the simplest config that has `factor` times what is wanted.

        Where none has as much, the fastest.
        """
        most = self.rates[self.fastest]
        return _simplest(self.rates, min(factor * self.wanted_examples_per_s, most))


def epoch_counts(scope: Scope, size: int) -> tuple[int, ...]:
    """Return the examples of each batch of the real epoch; empty: it is unknown."""
    length = scope.epoch_examples
    if length is None:
        return ()
    whole, left = divmod(length, size)
    rest = (left,) if left and not (scope.drop_last and whole) else ()
    return (size,) * whole + rest


def _simplest(rates: Mapping[LoaderConfig, float], least: float) -> LoaderConfig:
    """Return the first that reaches a rate; one does."""
    return next(config for config, rate in rates.items() if rate >= least)


def _in_rounds(outcome: Outcome) -> tuple[Reading, ...]:
    """Return the readings that were taken in turns; all that count where few were."""
    raced = tuple(item for item in outcome.counted if item.purpose == "race")
    return raced if len(raced) >= LEAST_ROUNDS else outcome.counted


def _recorded_answer(
    outcome: Outcome, readings: tuple[Reading, ...], scope: Scope
) -> Answer:
    """Return the middle of what was read of a config."""
    size = max(max(reading.counts, default=1) for reading in readings)
    batch_s = size / median([steady_rate(reading) for reading in readings])
    ending_s = median([end_s(reading) or 0.0 for reading in readings])
    counts = epoch_counts(scope, outcome.config.batch_size or size)
    first_s = batch_s
    if counts:
        epoch_s = sum(counts) / median([epoch_rate(reading) for reading in readings])
        ending_s = min(ending_s, epoch_s / 2)
        batch_s = min(batch_s, (epoch_s - ending_s) / len(counts))
        first_s = epoch_s - ending_s - (len(counts) - 1) * batch_s
    memory = outcome.memory
    return Answer(
        first_s=first_s,
        batch_s=batch_s,
        end_s=ending_s,
        own_cpu=median([reading.own_cpu for reading in readings]),
        peak_bytes=0 if memory is None else memory.peak_bytes,
    )


def _why_broken(outcome: Outcome) -> Verdict | Failure:
    """Return what the pass said that ended a trial early."""
    if outcome.failure is not None:
        return outcome.failure
    if outcome.verdict is not None and not outcome.verdict.passed:
        return outcome.verdict
    msg = f"trial {outcome.number} is {outcome.status.value} without a reason"
    raise UsageError(msg)
