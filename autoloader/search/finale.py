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
from autoloader.search.budget import VERIFY_SHARE
from autoloader.search.race import LOOKS, Race, run_race
from autoloader.search.selection import Choice, choose, finalists
from autoloader.search.trials import over_budget
from autoloader.values.outcome import Failure, MemoryReading, Outcome, Status, Verdict
from autoloader.values.scope import GATE_EXAMPLES, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.search.budget import Budget
    from autoloader.search.record import Record
    from autoloader.search.standings import Round, Standings
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

MOST_FINALISTS = 5
"""Configs in a race beside PyTorch's default."""

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
    record: Record
    target: Target
    batch_sizes: Sequence[int | None]
    user_config: LoaderConfig | None
    default_config: LoaderConfig
    scope: Scope
    budget: Budget
    verify: int | None
    """Examples of the whole verification; None: what a fifth of the budget allows."""
    on_phase: Callable[[str, str], None]
    on_round: Callable[[int, Round], None]
    _excluded: set[LoaderConfig] = field(default_factory=set)
    _verified: dict[LoaderConfig, Verdict] = field(default_factory=dict)
    _memory: dict[LoaderConfig, MemoryReading] = field(default_factory=dict)
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
                excluded=self._excluded,
            )
            unverified = [
                config
                for config in dict.fromkeys((choice.config or choice.best, choice.best))
                if config is not None and config not in self._verified
            ]
            if not unverified:
                return Result(
                    choice=choice,
                    race=race,
                    standings=standings,
                    verified=self._verified,
                    memory=self._memory,
                )
            for config in unverified:
                self._verify(config)

    def _measured(self) -> list[Outcome]:
        return [item for item in self.record.outcomes if item.status is Status.MEASURED]

    def _verify_likely(self) -> tuple[LoaderConfig, ...]:
        """Return the finalists, the likely choice and the fastest verified already.

        They are verified before the race, so that the race can have all the time left.
        """
        while True:
            ranked = finalists(
                self._measured(),
                target=self.target,
                user_config=self.user_config,
                limit=MOST_FINALISTS,
                batch_sizes=self.batch_sizes,
            )
            unverified = [item for item in ranked[:2] if item not in self._verified]
            if not unverified:
                return ranked
            self._verify(unverified[0])

    def _fitting(self, ranked: Sequence[LoaderConfig]) -> tuple[LoaderConfig, ...]:
        """Return as many finalists as six rounds fit into the time of the race."""
        cost = {item.config: _pass_s(item) for item in self._measured()}
        room_s = (self._race_end() - self.budget.clock()) / LOOKS[0]
        default_s = cost.get(self.default_config, 0.0)
        kept: list[LoaderConfig] = []
        for config in ranked:
            taken_s = sum(cost[item] for item in [*kept, config]) + default_s / 2
            if len(kept) >= 2 and taken_s > room_s:
                break
            kept.append(config)
        # PyTorch's default runs in every second round, in each where there is time
        taken_s = sum(cost[item] for item in kept) + default_s
        if default_s and taken_s <= room_s:
            kept.append(self.default_config)
        return tuple(dict.fromkeys(kept))

    def _race_end(self) -> float:
        """Return when the race must end: one more verification may follow it."""
        return self.budget.end - self._longest_verification_s

    def _verify_examples(self, rate: float) -> int:
        if self.verify is not None:
            return min(self.verify, self.scope.examples)
        from_budget = int(self.budget.total_s * VERIFY_SHARE * rate / 2)
        return min(self.scope.examples, max(from_budget, GATE_EXAMPLES))

    def _race(self, entered: Sequence[LoaderConfig]) -> Race:
        names = "; ".join(config.describe() for config in entered)
        self.on_phase("race", names)
        measured = {item.config for item in self.record.outcomes if item.readings}
        background = [self.default_config] if self.default_config in measured else []
        return run_race(
            self._read,
            entered,
            target=self.target,
            batch_sizes=self.batch_sizes,
            deadline=self._race_end(),
            clock=self.budget.clock,
            background=background,
            on_round=self.on_round,
        )

    def _read(self, config: LoaderConfig) -> float | None:
        outcome = self.record[config]
        if outcome.verdict is None:
            return None
        taken = self.stopwatch.take(config, verdict=outcome.verdict, purpose="race")
        if isinstance(taken, Failure):
            return None
        for reading in taken:
            self.record.add_reading(outcome.number, reading)
        return epoch_rate(taken[-1])

    def _verify(self, config: LoaderConfig) -> None:
        """Verify a config whole and weigh it over two epochs; exclude it on failure."""
        begun = self.budget.clock()
        outcome = self.record[config]
        rate = median([epoch_rate(reading) for reading in outcome.counted])
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
        self._excluded.add(outcome.config)
        self.record.add(
            replace(
                outcome,
                status=Status.REFUSED if failure is None else failure.status,
                verdict=verdict or outcome.verdict,
                failure=failure,
                readings=(),
            )
        )


def _pass_s(outcome: Outcome) -> float:
    """Return the seconds that one more pass of a config will take."""
    return median([reading.total_s for reading in outcome.counted]) + OVERHEAD_S
