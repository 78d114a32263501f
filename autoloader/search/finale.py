"""Race the finalists, verify whole, choose: the end of a study.

The chosen config and the fastest pass the whole verification before anything is
written; one that fails it is refused, whatever its speed, and the choice is made anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.errors import DataError
from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.search.ceilings import Ceilings
from autoloader.search.race import LEAST_ROUNDS, LOOKS, Race, Rules, run_race
from autoloader.search.rates import rate_of, rates_of
from autoloader.search.selection import Choice, choose, too_large
from autoloader.search.standings import drift_of
from autoloader.search.trials import over_budget
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Outcome,
    Status,
    Verdict,
)
from autoloader.values.scope import GATE_EXAMPLES, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from autoloader.search.budget import Budget
    from autoloader.search.loops import Loops
    from autoloader.search.question import Chance
    from autoloader.search.race_store import RaceStore
    from autoloader.search.standings import Round, Standings
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.search.strategy import Strategy
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

MOST_FINALISTS = 4
"""Configs in a race beside PyTorch's default. With five, replayed tunes of two cores
took up to a tenth more passes, and of 4,160 simulated studies as many were right."""

CHEAP = 2.0
"""How often over the first look's rounds must fit before PyTorch's default, which is
raced for comparison only, runs in each of them."""

OVERHEAD_S = 0.25
"""Seconds that a pass takes beside its reading: fork, start and end of the trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a study ended."""

    choice: Choice
    """What was chosen, or why nothing was."""
    race: Race | None
    """Rounds; None where fewer than one config could be measured."""
    standings: Standings | None
    """The last look, with configs that failed verification left out."""
    verified: dict[LoaderConfig, Verdict]
    """Whole verifications that passed."""
    memory: dict[LoaderConfig, MemoryReading]
    """Last weighing of each config, over two epochs where it was verified."""
    lost: tuple[Outcome, ...] = ()
    """What came of configs that had been measured, and failed in the race or in their
    verification, in that order."""
    untried: float | None = None
    """How likely a config that was not tried is faster than all that were; None where
    no share of the fastest is wanted."""
    loops: Loops | None = None
    """Training loops; None: there is no step."""

    @property
    def recommended(self) -> LoaderConfig:
        """The choice, or the best config where none meets the target.

        Raises:
            DataError: no config came through race and verification.
        """
        found = self.choice.config or self.choice.best
        if found is None:
            msg = f"no config is left to recommend: {self.choice.reason}"
            raise DataError(msg)
        return found


@dataclass(slots=True, kw_only=True)
class Finale:
    """Race, verification and choice over the outcomes of a study."""

    stopwatch: Stopwatch
    record: RaceStore
    strategy: Strategy
    """Says which configs are worth racing."""
    target: Target
    batch_sizes: Sequence[int | None]
    user_config: LoaderConfig | None
    default_config: LoaderConfig
    scope: Scope
    budget: Budget
    verify: int | None
    """Examples of the whole verification; None: what the budget allows."""
    on_phase: Callable[[str, str], None]
    on_round: Callable[[int, Round], None]
    passed_over: Collection[LoaderConfig] = ()
    """What was never tried, because of what came of others."""
    reserved_s: float = 0.0
    """Seconds that are kept for training loops, after the race."""
    _excluded: dict[LoaderConfig, Outcome] = field(default_factory=dict)
    _verified: dict[LoaderConfig, Verdict] = field(default_factory=dict)
    _memory: dict[LoaderConfig, MemoryReading] = field(default_factory=dict)
    _rounds: list[Round] = field(default_factory=list)
    _longest_verification_s: float = 0.0

    def run(self) -> Result:
        """Return what the study recommends, verified."""
        for item in self._measured():
            if item.memory is not None:
                self._memory[item.config] = item.memory
        ranked = self._verify_likely()
        race = self._race(self._fitting(ranked))
        while True:
            standings = race.standings(self.target, excluded=self._excluded)
            choice = choose(
                standings,
                memory={
                    config: item.peak_bytes for config, item in self._memory.items()
                },
                batch_sizes=self.batch_sizes,
                excluded={*self._excluded, *self._outside()},
                likely={key: found.meets for key, found in self._chances().items()},
            )
            unverified = self._to_verify(choice)
            if not unverified:
                Ceilings(
                    stopwatch=self.stopwatch,
                    record=self.record,
                    budget=self.budget,
                    on_phase=self.on_phase,
                ).take(choice)
                return Result(
                    choice=choice,
                    race=race,
                    standings=standings,
                    verified=self._verified,
                    memory=self._memory,
                    lost=self.lost,
                    untried=self.strategy.untried(
                        self._readings(), {*self._failed(), *self.passed_over}
                    ),
                )
            for config in unverified:
                self._verify(config)

    def verify_whole(self, config: LoaderConfig) -> bool:
        """Verify a config that something else chose; return whether it may be used."""
        if config not in self._verified and config not in self._excluded:
            self._verify(config)
        return config in self._verified

    @property
    def lost(self) -> tuple[Outcome, ...]:
        """What came of configs that failed in race or verification."""
        return tuple(self._excluded.values())

    def _to_verify(self, choice: Choice) -> list[LoaderConfig]:
        """Return the choice, and the fastest, of which a share may be wanted."""
        return [
            config
            for config in dict.fromkeys((choice.config or choice.best, choice.best))
            if config is not None and config not in self._verified
        ]

    def _measured(self) -> list[Outcome]:
        return [item for item in self.record.outcomes if item.status is Status.MEASURED]

    def _verify_likely(self) -> tuple[LoaderConfig, ...]:
        """Return the finalists, the most important one verified already.

        It is verified before the race, so that the race can have all the time left.
        """
        while True:
            ranked = self._finalists()
            if not ranked or ranked[0] in self._verified:
                return ranked
            self._verify(ranked[0])

    def _finalists(self) -> tuple[LoaderConfig, ...]:
        """Return who is worth racing, the most important first, the user's own too."""
        readings, too_large = rates_of(self._measured()), self._too_large()
        ranked = self.strategy.finalists(readings, too_large, limit=MOST_FINALISTS)
        own = self.user_config
        if own in readings and own not in (*ranked, *too_large):
            ranked = (*ranked[: MOST_FINALISTS - 1], own)
        return ranked

    def _fitting(self, ranked: Sequence[LoaderConfig]) -> tuple[LoaderConfig, ...]:
        """Return as many finalists as can run until the first look is made."""
        too_large = self._too_large()
        cost = {
            item.config: _pass_s(item)
            for item in self._measured()
            if item.config not in too_large
        }
        room_s = (self._race_end() - self.budget.clock()) / LOOKS[0]
        default_s = cost.get(self.default_config, 0.0)
        kept: list[LoaderConfig] = []
        for config in ranked:
            taken_s = sum(cost[item] for item in [*kept, config]) + default_s / 2
            if len(kept) >= 2 and taken_s > room_s:
                break
            kept.append(config)
        # PyTorch's default runs in every second round, in each where there is time
        others_s = sum(cost[item] for item in kept)
        if default_s and others_s + default_s <= room_s / CHEAP:
            kept.append(self.default_config)
        return tuple(dict.fromkeys(kept))

    def _race_end(self) -> float:
        """Return when the race must end: verification, ceilings, loops follow it."""
        kept_s = self._longest_verification_s + self.budget.ceilings_s
        return self.budget.end - kept_s - self.reserved_s

    def _verify_examples(self, rate: float) -> int:
        if self.verify is not None:
            return min(self.verify, self.scope.examples)
        return self.budget.examples_to_verify(rate, self.scope.examples)

    def _race(self, entered: Sequence[LoaderConfig]) -> Race:
        names = "; ".join(config.describe() for config in entered)
        self.on_phase("race", names)
        measured = {item.config for item in self.record.outcomes if item.readings}
        measured -= self._too_large()
        background = [self.default_config] if self.default_config in measured else []
        return run_race(
            self._read,
            entered,
            Rules(
                target=self.target,
                batch_sizes=self.batch_sizes,
                deadline=self._race_end(),
                clock=self.budget.clock,
            ),
            background=background,
            chances=self._chances,
            on_round=self._keep_round,
        )

    def _keep_round(self, number: int, rates: Round) -> None:
        self._rounds.append(rates)
        self.on_round(number, rates)

    def _chances(self) -> dict[LoaderConfig, Chance]:
        """Return what all readings so far say of the measured configs."""
        return self.strategy.chances(
            self._readings(), self._failed(), drift=drift_of(self._rounds)
        )

    def _failed(self) -> set[LoaderConfig]:
        """Return what was tried, and cannot be chosen."""
        tried = {item.config for item in self.record.outcomes}
        measured = {item.config for item in self._measured()}
        return (tried - measured) | self._too_large()

    def _readings(self) -> dict[LoaderConfig, list[float]]:
        """Return the rates that count of each config.

        Of what ran in enough rounds only these do: other readings, perhaps of an
        earlier run, met another machine.
        """
        readings = rates_of(self._measured())
        for config in readings:
            found = (round_.get(config) for round_ in self._rounds)
            rates = [rate for rate in found if rate is not None]
            if len(rates) >= LEAST_ROUNDS:
                readings[config] = rates
        return readings

    def _too_large(self) -> set[LoaderConfig]:
        return too_large(self._measured(), self.target.memory_bytes)

    def _outside(self) -> set[LoaderConfig]:
        """Return what was measured for comparison only: the user does not allow it."""
        return {item.config for item in self._measured()} - set(self.strategy.configs)

    def _read(self, config: LoaderConfig) -> float | None:
        outcome = self.record[config]
        if outcome.verdict is None:
            return None
        taken = self.stopwatch.take(config, verdict=outcome.verdict, purpose="race")
        if not isinstance(taken, Failure) and not sum(taken[-1].counts):
            taken = Failure(
                kind="no_batch", phase="timed", message="a pass delivered no batch"
            )
        if isinstance(taken, Failure):
            self._exclude(outcome, failure=taken)
            return None
        for reading in taken:
            self.record.add_reading(outcome.number, reading)
        return epoch_rate(taken[-1])

    def _verify(self, config: LoaderConfig) -> None:
        """Verify a config whole and weigh it over two epochs; exclude it on failure."""
        begun = self.budget.clock()
        outcome = self.record[config]
        rate = rate_of(outcome) or 0.0
        self.on_phase("verification", config.describe())
        verdict = self.stopwatch.runner.gate(
            config, examples=self._verify_examples(rate)
        )
        if isinstance(verdict, Failure):
            self._exclude(outcome, failure=verdict)
        elif not verdict.passed:
            self._exclude(outcome, verdict=verdict)
        else:
            self._weigh(replace(outcome, verdict=verdict), verdict)
        took_s = self.budget.clock() - begun
        self._longest_verification_s = max(self._longest_verification_s, took_s)

    def _weigh(self, outcome: Outcome, verdict: Verdict) -> None:
        weighed = self.stopwatch.runner.weigh(outcome.config, examples=GATE_EXAMPLES)
        if isinstance(weighed, Failure):
            self._exclude(outcome, failure=weighed)
            return
        self._memory[outcome.config] = weighed
        failure = over_budget(weighed, self.target.memory_bytes)
        if failure is not None:
            self._exclude(replace(outcome, memory=weighed), failure=failure)
            return
        self._verified[outcome.config] = verdict
        self.record.add(replace(outcome, memory=weighed))

    def _exclude(
        self,
        outcome: Outcome,
        *,
        verdict: Verdict | None = None,
        failure: Failure | None = None,
    ) -> None:
        """Take a config out: it has no speed any more, whatever it was."""
        lost = replace(
            outcome,
            status=Status.REFUSED if failure is None else failure.status,
            verdict=verdict or outcome.verdict,
            failure=failure,
            readings=(),
            loops=(),
        )
        self._excluded[outcome.config] = lost
        self.record.add(lost)


def _pass_s(outcome: Outcome) -> float:
    """Return the seconds that one more pass of a config will take."""
    return median([reading.total_s for reading in outcome.counted]) + OVERHEAD_S
