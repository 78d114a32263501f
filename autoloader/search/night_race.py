"""Verify a stored config whole, then read it beside its rivals: the passes of a night.

Says what is run and in which order; what the readings say is `search.nightly`'s. Passes
are run through the seam that a search has, by processes or by a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.measure.throughput import epoch_rate
from autoloader.search.nightly import LOOKS, is_quiet
from autoloader.search.rounds import run_rounds
from autoloader.search.trials import gate_examples, over_budget, unfit
from autoloader.values.outcome import Failure, Outcome, Reading, Status, Verdict
from autoloader.values.scope import GATE_EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from autoloader.search.baseline import Baseline
    from autoloader.search.race_store import RaceStore
    from autoloader.search.standings import Round
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.values.config import LoaderConfig
    from autoloader.values.night import Night


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReadings:
    """What a night read."""

    verdict: Verdict | None
    """Of the stored config's whole verification; None: it did not come to its end."""
    failure: Failure | None
    """Why the stored config cannot be used tonight; None: it can, if its data is right.
    """
    rounds: tuple[Round, ...]
    """Epoch rates by config, in the order they ran; None where the pass failed."""


@dataclass(slots=True, kw_only=True)
class NightRace:
    """The passes of one night."""

    stopwatch: Stopwatch
    record: RaceStore
    baseline: Baseline
    past: Sequence[Night]
    """Earlier nights of the same file."""
    deadline: float
    """Time of the clock that no round but the first is expected to pass."""
    least_s: float
    """Seconds that the rounds have at least: a gate takes long where all is slow."""
    clock: Callable[[], float]
    on_phase: Callable[[str, str], None]
    on_round: Callable[[int, Round], None]
    _verdicts: dict[LoaderConfig, Verdict] = field(default_factory=dict)
    _failure: Failure | None = None
    _begun: float = 0.0

    def run(self) -> NightReadings:
        """Return what was read; nothing is timed whose data is wrong."""
        stored = self.baseline.config
        self.on_phase("verification", stored.describe())
        found = self._verify()
        if isinstance(found, Failure):
            return NightReadings(verdict=None, failure=found, rounds=())
        failure = self._over_budget() if found.passed else None
        if failure is not None or not found.passed:
            return NightReadings(verdict=found, failure=failure, rounds=())
        self._verdicts[stored] = found
        self._gate_rivals()
        names = "; ".join(config.describe() for config in self._verdicts)
        self.on_phase("race", names)
        self._begun = self.clock()
        rounds = run_rounds(
            self._read,
            self._line_up,
            looks=LOOKS,
            deadline=max(self.deadline, self._begun + self.least_s),
            clock=self.clock,
            is_settled=lambda so_far: is_quiet(self.baseline, so_far.rates, self.past),
            on_round=self.on_round,
        ).rates
        return NightReadings(verdict=found, failure=self._failure, rounds=rounds)

    def _verify(self) -> Verdict | Failure:
        """Compare as many examples as the study did, over two epochs."""
        stored, scope = self.baseline.config, self.stopwatch.scope
        too_large = unfit(stored, self.stopwatch, self._memory_bytes)
        if too_large is not None:
            return too_large
        wanted = self.baseline.verified or GATE_EXAMPLES
        examples = min(wanted, scope.examples * self.stopwatch.at_once)
        return self.stopwatch.runner.gate(stored, examples=examples)

    @property
    def _memory_bytes(self) -> int | None:
        """Bytes that were asked for; what a machine leaves changes every night."""
        target = self.baseline.target
        return target.memory_bytes if self.baseline.is_memory_asked else None

    def _over_budget(self) -> Failure | None:
        if self._memory_bytes is None:
            return None
        weighed = self.stopwatch.runner.weigh(self.baseline.config, examples=0)
        if isinstance(weighed, Failure):
            return weighed
        return over_budget(weighed, self._memory_bytes)

    def _gate_rivals(self) -> None:
        """Gate the rivals; one that is refused or fails is not read."""
        for rival in self.baseline.rivals:
            config = rival.config
            self.on_phase("gate", config.describe())
            if unfit(config, self.stopwatch, self._memory_bytes) is not None:
                continue
            found = self.stopwatch.runner.gate(
                config, examples=gate_examples(config, self.stopwatch)
            )
            if isinstance(found, Verdict) and found.passed:
                self._verdicts[config] = found

    def _line_up(
        self, number: int, dropped: Collection[LoaderConfig]
    ) -> list[LoaderConfig]:
        """Return who runs in a round; every second round in reverse order."""
        if self.baseline.config in dropped:
            return []
        left = [config for config in self._verdicts if config not in dropped]
        return left[::-1] if number % 2 else left

    def _read(self, config: LoaderConfig) -> float | None:
        """Take the reading of a round; None where the pass failed."""
        taken = self.stopwatch.take(
            config, verdict=self._verdicts[config], purpose="race"
        )
        if not isinstance(taken, Failure) and not sum(taken[-1].counts):
            taken = Failure(
                kind="no_batch", phase="timed", message="a pass delivered no batch"
            )
        if isinstance(taken, Failure):
            self._lose(config, taken)
            return None
        self._keep(config, taken)
        return epoch_rate(taken[-1])

    def _keep(self, config: LoaderConfig, taken: Sequence[Reading]) -> None:
        known = self.record.of_config(config)
        if known is None:
            self.record.add(self._outcome(config, tuple(taken), None))
            return
        for reading in taken:
            self.record.add_reading(known.number, reading)

    def _lose(self, config: LoaderConfig, failure: Failure) -> None:
        """Note that a pass failed; of the stored config it is what the night says."""
        if config == self.baseline.config:
            self._failure = failure
        known = self.record.of_config(config)
        if known is None:
            self.record.add(self._outcome(config, (), failure))
        else:
            status = failure.status
            lost = replace(known, status=status, failure=failure, readings=())
            self.record.add(lost)

    def _outcome(
        self,
        config: LoaderConfig,
        readings: tuple[Reading, ...],
        failure: Failure | None,
    ) -> Outcome:
        runner, place = self.stopwatch.runner, self.baseline.configs.index(config)
        names = ("stored", *(rival.name for rival in self.baseline.rivals))
        return Outcome(
            number=place,
            config=config,
            status=Status.MEASURED if failure is None else failure.status,
            source=names[place],
            isolation=runner.isolation,
            seconds=self.clock() - self._begun,
            start_method=runner.start_method if config.num_workers else None,
            verdict=self._verdicts[config],
            readings=readings,
            failure=failure,
        )
