"""The search: try configs one after another until it is enough.

First what must be tried, then what Optuna proposes. Each outcome is on the disk before
the next trial begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autoloader.search.lessons import Lessons
from autoloader.search.study import rate_of
from autoloader.search.trials import run_trial
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.search.record import Record
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.search.study import Study
    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts
    from autoloader.values.target import Target

Stop = Literal["budget", "trials", "space_exhausted", "nothing_works"]

OTHER_KNOBS = 1.5
"""Most that prefetching, keeping and pinning are taken to bring, as a factor."""

LEAST_TRIALS = 2
"""Trials that are made however short the budget is: one tells of no difference."""

HOPELESS = 6
"""Trials in a row without one that could be measured, after which the search ends."""

TOO_SLOW = "as many workers were far too slow for other settings to help"
"""Why a config is passed over that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What a search needs besides its runner."""

    record: Record
    study: Study
    target: Target
    """What is wanted, and how much memory it may take."""
    most_trials: int | None
    """Cap on trials of the whole study; None: the budget alone ends it."""
    deadline: float
    """Reading of `clock` that no trial is expected to pass."""
    clock: Callable[[], float]

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
            first: what is tried before the sampler is asked, with its source.
            on_start: called with each config before its trial.
            on_outcome: called with each outcome, which is stored by then.
            on_skip: called with each config that is passed over, and the reason.
        """
        waiting = [pair for pair in first if self.record.of_config(pair[0]) is None]
        longest_s = 0.0
        while True:
            known = self.record.outcomes
            stop = self._stop(known, longest_s)
            if stop is not None:
                return stop
            proposed = self._next(waiting, stopwatch.facts, on_skip)
            if proposed is None:
                return "space_exhausted"
            config, source = proposed
            on_start(config)
            outcome = run_trial(
                stopwatch,
                config,
                number=max((item.number for item in known), default=-1) + 1,
                source=source,
                memory_bytes=self.target.memory_bytes,
                clock=self.clock,
            )
            self.record.add(outcome)
            self.study.tell(outcome)
            longest_s = max(longest_s, outcome.seconds)
            on_outcome(outcome)

    def _stop(self, known: Sequence[Outcome], longest_s: float) -> Stop | None:
        """Return why no more is tried; None: something is."""
        if self.most_trials is not None and len(known) >= self.most_trials:
            return "trials"
        if _is_hopeless(known):
            return "nothing_works"
        late = self.clock() + longest_s > self.deadline
        measured = any(item.status is Status.MEASURED for item in known)
        return "budget" if late and measured and len(known) >= LEAST_TRIALS else None

    def _next(
        self,
        waiting: list[tuple[LoaderConfig, str]],
        facts: DatasetFacts,
        on_skip: Callable[[LoaderConfig, str], None] | None,
    ) -> tuple[LoaderConfig, str] | None:
        """Return what is tried next, and who proposed it; None: nothing is left."""
        lessons = Lessons(facts=facts, outcomes=self.record.outcomes)
        while waiting:
            config, source = waiting.pop(0)
            why_not = lessons.why_not(config)
            if why_not is None:
                return config, source
            self._skip(config, why_not, on_skip)
        while (asked := self.study.ask()) is not None:
            why_not = lessons.why_not(asked)
            if why_not is None and self._is_too_slow(asked):
                why_not = TOO_SLOW
            if why_not is None:
                return asked, "search"
            self._skip(asked, why_not, on_skip)
        return None

    def _is_too_slow(self, config: LoaderConfig) -> bool:
        return _is_too_slow(config, self.record.outcomes, self.target)

    def _skip(
        self,
        config: LoaderConfig,
        why_not: str,
        on_skip: Callable[[LoaderConfig, str], None] | None,
    ) -> None:
        self.study.skip(config)
        if on_skip is not None:
            on_skip(config, why_not)


def _is_too_slow(
    config: LoaderConfig, outcomes: Sequence[Outcome], target: Target
) -> bool:
    """Whether as many workers were measured so slow that no other knob can help."""
    rates = {
        item.config: rate_of(item)
        for item in outcomes
        if item.status is Status.MEASURED
    }
    alike = [
        rate
        for known, rate in rates.items()
        if known.num_workers == config.num_workers
        and known.batch_size == config.batch_size
    ]
    if not alike:
        return False
    return max(alike) * OTHER_KNOBS < target.rate(max(rates.values()))


def _is_hopeless(outcomes: Sequence[Outcome]) -> bool:
    measured = any(item.status is Status.MEASURED for item in outcomes)
    return not measured and len(outcomes) >= HOPELESS
