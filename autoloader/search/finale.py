"""Race the finalists, verify whole, choose: the end of a study.

The chosen config and the fastest pass the whole verification before anything is
written; one that fails it is refused, whatever its speed, and the choice is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from autoloader.errors import DataError
from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.search.budget import Budget
from autoloader.search.race import LOOKS, Race, run_race
from autoloader.search.record import Record
from autoloader.search.selection import SEARCH_NOISE, Choice, choose, finalists
from autoloader.search.standings import Round, Standings
from autoloader.search.trials import over_budget
from autoloader.values.config import LoaderConfig
from autoloader.values.job import TrialRunner
from autoloader.values.outcome import Failure, MemoryReading, Outcome, Status, Verdict
from autoloader.values.scope import GATE_EXAMPLES, Scope
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

    runner: TrialRunner
    record: Record
    target: Target
    batch_sizes: Sequence[int]
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

    def run(self) -> Result:
        """Return what the study recommends, verified."""
        measured = [
            item for item in self.record.outcomes if item.status is Status.MEASURED
        ]
        for item in measured:
            if item.memory is not None:
                self._memory[item.config] = item.memory
        entered = self._finalists(measured)
        race = self._race(entered)
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
            candidates = [choice.config or choice.best, choice.best]
            unverified = [
                config
                for config in dict.fromkeys(candidates)
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

    def _finalists(self, measured: Sequence[Outcome]) -> tuple[LoaderConfig, ...]:
        """Return as many finalists as six rounds fit into the time of the race."""
        ranked = finalists(
            measured,
            target=self.target,
            user_config=self.user_config,
            limit=MOST_FINALISTS,
            batch_sizes=self.batch_sizes,
        )
        cost = {item.config: _pass_s(item) for item in measured}
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
        return self.budget.end - self._verification_s()

    def _verification_s(self) -> float:
        """Return the seconds kept for verifying and weighing two of the fast configs."""
        rates = sorted(
            epoch_rate(reading)
            for item in self.record.outcomes
            for reading in item.readings
        )
        if not rates:
            return 0.0
        examples = self._verify_examples(rates[-1])
        read = 2 * examples + 2 * min(examples, GATE_EXAMPLES)
        typical = median(rates[-3:]) / (1 + SEARCH_NOISE)
        return 2 * (read / typical + 4 * OVERHEAD_S)

    def _verify_examples(self, rate: float) -> int:
        if self.verify is not None:
            return min(self.verify, self.scope.examples)
        from_budget = int(self.budget.total_s * VERIFY_SHARE_OF_ONE * rate / 2)
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
        reading = self.runner.time(config, verdict=outcome.verdict, purpose="race")
        if isinstance(reading, Failure):
            return None
        self.record.add_reading(outcome.number, reading)
        return epoch_rate(reading)

    def _verify(self, config: LoaderConfig) -> None:
        """Verify a config whole and weigh it over two epochs; exclude it on failure."""
        outcome = self.record[config]
        rate = median([epoch_rate(reading) for reading in outcome.readings])
        self.on_phase("verification", config.describe())
        verdict = self.runner.gate(config, examples=self._verify_examples(rate))
        failure = verdict if isinstance(verdict, Failure) else None
        refused = isinstance(verdict, Verdict) and not verdict.passed
        if failure is None and not refused:
            weighed = self.runner.weigh(config, examples=GATE_EXAMPLES)
            if isinstance(weighed, Failure):
                failure = weighed
            else:
                self._memory[config] = weighed
                failure = over_budget(weighed, self.target.memory_bytes)
        if failure is None and isinstance(verdict, Verdict) and verdict.passed:
            self._verified[config] = verdict
            self.record.add(
                replace(outcome, verdict=verdict, memory=self._memory[config])
            )
            return
        self._excluded.add(config)
        self.record.add(
            replace(
                outcome,
                status=failure.status if failure is not None else Status.REFUSED,
                verdict=verdict if isinstance(verdict, Verdict) else outcome.verdict,
                failure=failure,
                readings=(),
            )
        )


VERIFY_SHARE_OF_ONE = 0.08
"""Share of the budget for one config's whole verification; two are verified."""


def _pass_s(outcome: Outcome) -> float:
    """Return the seconds that one more pass of a config will take."""
    return median([reading.total_s for reading in outcome.readings]) + OVERHEAD_S
