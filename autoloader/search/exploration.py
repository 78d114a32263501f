"""The search: try configs one after another until it is enough.

First what must be tried, then what the strategy proposes, until it says that it is
enough. Each outcome is on the disk before the next trial begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from autoloader.measure.intervals import median
from autoloader.search.desk import Alone
from autoloader.search.lessons import Lessons
from autoloader.search.rates import rates_of
from autoloader.search.selection import too_large
from autoloader.search.trials import run_trial, unfit
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from autoloader.search.desk import Desk, Seen
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.search.strategy import Proposal
    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts
    from autoloader.values.target import Target

Stop = Literal["settled", "budget", "trials", "space_exhausted", "nothing_works"]
"""Why a search ended: what was tried is enough for a race, time or trials are used up,
nothing is left to try, or nothing can be measured."""

LEAST_TRIALS = 2
"""Trials that are made however short the budget is: one tells of no difference."""

GREAT_USE = 0.1
"""Share of the possible truths that a trial must serve to be worth time of the race."""

UNFIT = {
    "out_of_memory": "batches that take more memory than is allowed",
    "shared_memory_full": "batches that take more shared memory than is free",
    "descriptors_exhausted": "more open files than the limit",
}
"""Why a config is passed over before it runs, by the kind of what is predicted."""

DEADLY = "machines of the fleet died while they tried it"
"""Why a config is tried no more."""

HOPELESS = 6
"""Trials in a row without one that could be measured, after which the search ends."""


class Proposer(Protocol):
    """Says what to try next."""

    def propose(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
    ) -> Proposal | None:
        """Return what to try next; None: what was tried is enough."""
        ...


class TrialStore(Protocol):
    """Keeps what came of trials."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes in order of their numbers."""
        ...

    def of_config(self, config: LoaderConfig) -> Outcome | None:
        """Return the outcome of a config; None where it was not tried."""
        ...

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome; it is safe when this returns."""
        ...


class Follower(Protocol):
    """Told of each trial as it begins and ends."""

    def ask(self, config: LoaderConfig) -> None:
        """A config is about to be tried."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """This came of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What a search needs besides its runner."""

    record: TrialStore
    study: Follower
    """Told of all trials: Optuna's study, where people look at them."""
    proposer: Proposer
    """Says what to try when the first configs are done."""
    configs: Sequence[LoaderConfig]
    """All that may be tried."""
    target: Target
    """What is wanted, and how much memory it may take."""
    most_trials: int | None
    """Cap on trials of the whole study; None: the budget alone ends it."""
    deadline: float
    """Reading of `clock` after which only trials of great use are made."""
    limit: float
    """Reading of `clock` that no trial is expected to pass."""
    clock: Callable[[], float]
    desk: Desk | None = None
    """Hands out trials; None: all of them are this machine's."""

    def run(
        self,
        stopwatch: Stopwatch,
        first: Sequence[tuple[LoaderConfig, str]],
        *,
        on_start: Callable[[LoaderConfig], None],
        on_outcome: Callable[[Outcome], None],
        on_skip: Callable[[LoaderConfig, str], None] | None = None,
    ) -> Stop:
        """Try configs and return why no more were tried.

        Args:
            stopwatch: runs the passes.
            first: what is tried before the proposer is asked, with its source.
            on_start: called with each config before its trial.
            on_outcome: called with each outcome, which is stored by then.
            on_skip: called with each config that is passed over, and the reason.
        """
        desk = self.desk or Alone(self.record)
        on_skip = on_skip or _ignore
        waiting = list(first)
        seen = desk.look()
        skipped = self._unfit(seen, first, stopwatch)
        for config, why in skipped.items():
            on_skip(config, why)
        while True:
            stop = self._stop(seen)
            if stop is not None:
                return stop
            proposed = self._next(seen, waiting, stopwatch.facts, skipped, on_skip)
            if proposed is None:
                if not desk.wait(self._wait_end(seen)):
                    return self._at_the_end(seen, skipped)
                seen = desk.look()
                continue
            config, source, gain = proposed
            if self._is_late(seen, gain):
                return "budget"
            if desk.begin(config, source):
                on_start(config)
                on_outcome(self._try(desk, stopwatch, config, source))
            seen = desk.look()

    def _try(
        self, desk: Desk, stopwatch: Stopwatch, config: LoaderConfig, source: str
    ) -> Outcome:
        """Return what came of a trial; it is stored by then, and handed in."""
        self.study.ask(config)
        numbers = [item.number for item in self.record.outcomes]
        try:
            outcome = run_trial(
                stopwatch,
                config,
                number=max(numbers, default=-1) + 1,
                source=source,
                memory_bytes=self.target.memory_bytes,
                clock=self.clock,
            )
        except BaseException:
            desk.give_back()
            raise
        self.record.add(outcome)
        desk.end(outcome)
        self.study.tell(outcome)
        return outcome

    def _unfit(
        self,
        seen: Seen,
        first: Sequence[tuple[LoaderConfig, str]],
        stopwatch: Stopwatch,
    ) -> dict[LoaderConfig, str]:
        """Return what is passed over since its batches do not fit, and why."""
        known = {config for config, _ in first} | seen.tried
        return {
            config: UNFIT[failure.kind]
            for config in self.configs
            if config not in known
            and (failure := unfit(config, stopwatch, self.target.memory_bytes))
        }

    def _stop(self, seen: Seen) -> Stop | None:
        """Return why no more is tried, whatever there is; None: something is."""
        if self.most_trials is not None and seen.done >= self.most_trials:
            return "trials"
        return "nothing_works" if _is_hopeless(seen.outcomes) else None

    def _is_late(self, seen: Seen, gain: float) -> bool:
        """Whether there is no time left for a trial that would serve so much."""
        known = seen.outcomes
        measured = {item.config for item in known if item.status is Status.MEASURED}
        if not measured & set(self.configs) or len(known) < LEAST_TRIALS:
            return False
        expected_s = median([item.seconds for item in known]) * (1 + seen.owed)
        limit = self.limit if gain >= GREAT_USE else self.deadline
        return self.clock() + expected_s > limit

    def _wait_end(self, seen: Seen) -> float:
        """Return until when to wait for what others are trying."""
        if not seen.outcomes:
            return self.deadline
        each_s = median([item.seconds for item in seen.outcomes])
        return self.deadline - each_s * seen.owed

    def _next(
        self,
        seen: Seen,
        waiting: list[tuple[LoaderConfig, str]],
        facts: DatasetFacts,
        skipped: dict[LoaderConfig, str],
        on_skip: Callable[[LoaderConfig, str], None],
    ) -> tuple[LoaderConfig, str, float] | None:
        """Return what is tried next, who proposed it, and what for; None: enough.

        First what a machine of the fleet did not bring to its end.
        """
        outcomes = seen.outcomes
        lessons = Lessons(facts=facts, outcomes=outcomes)
        readings = rates_of(outcomes)
        failed = (seen.tried - readings.keys()) | seen.trying
        for config in seen.given_up - skipped.keys():
            skipped[config] = DEADLY
            on_skip(config, DEADLY)
        failed |= too_large(outcomes, self.target.memory_bytes)
        waiting[:] = [pair for pair in waiting if pair[0] not in seen.taken]
        known = seen.taken | {pair[0] for pair in waiting}
        for config in self.configs:
            if config not in skipped and config not in known:
                self._pass_over(config, lessons, skipped, on_skip)
        again = [pair for pair in seen.again if pair[0] not in skipped]
        while True:
            if again:
                (config, source), gain = again.pop(0), GREAT_USE
            elif self._is_full(seen):
                return None
            elif waiting:
                (config, source), gain = waiting.pop(0), 0.0
            else:
                proposal = self.proposer.propose(readings, {*failed, *skipped})
                if proposal is None:
                    return None
                config, source, gain = proposal.config, "search", proposal.gain
            if not self._pass_over(config, lessons, skipped, on_skip):
                return config, source, gain

    def _pass_over(
        self,
        config: LoaderConfig,
        lessons: Lessons,
        skipped: dict[LoaderConfig, str],
        on_skip: Callable[[LoaderConfig, str], None],
    ) -> bool:
        """Pass a config over, if what came of others speaks against it."""
        why_not = lessons.why_not(config)
        if why_not is None:
            return False
        skipped[config] = why_not
        on_skip(config, why_not)
        return True

    def _is_full(self, seen: Seen) -> bool:
        """Whether as many trials as are allowed were begun."""
        return self.most_trials is not None and seen.begun >= self.most_trials

    def _at_the_end(self, seen: Seen, skipped: Collection[LoaderConfig]) -> Stop:
        if self._is_full(seen):
            return "trials"
        left = set(self.configs) - seen.tried - set(skipped)
        return "settled" if left else "space_exhausted"


def _ignore(config: LoaderConfig, why: str) -> None:
    """Tell nobody what is passed over."""


def _is_hopeless(outcomes: Sequence[Outcome]) -> bool:
    latest = outcomes[-HOPELESS:]
    is_broken = all(item.status is not Status.MEASURED for item in latest)
    return is_broken and len(latest) == HOPELESS
