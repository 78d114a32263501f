"""The search: try configs one after another until it is enough.

First what must be tried, then what Optuna proposes. Each outcome is on the disk before
the next trial begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autoloader.search.study import rate_of
from autoloader.search.trials import run_trial
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.search.record import Record
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.search.study import Study
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

Stop = Literal["budget", "trials", "space_exhausted", "nothing_works"]

OTHER_KNOBS = 1.5
"""Most that prefetching, keeping and pinning are taken to bring, as a factor."""

LEAST_TRIALS = 2
"""Trials that are made however short the budget is: one tells of no difference."""

HOPELESS = 6
"""Trials in a row without one that could be measured, after which the search ends."""


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
    ) -> Stop:
        """Try configs and return why no more were tried.

        Args:
            stopwatch: runs the passes.
            first: what is tried before the sampler is asked, with its source.
            on_start: called with each config before its trial.
            on_outcome: called with each outcome, which is stored by then.
        """
        waiting = [pair for pair in first if self.record.of_config(pair[0]) is None]
        longest_s = 0.0
        while True:
            known = self.record.outcomes
            if self.most_trials is not None and len(known) >= self.most_trials:
                return "trials"
            if _is_hopeless(known):
                return "nothing_works"
            late = self.clock() + longest_s > self.deadline
            enough = len(known) >= LEAST_TRIALS
            if (
                late
                and enough
                and any(item.status is Status.MEASURED for item in known)
            ):
                return "budget"
            proposed = waiting.pop(0) if waiting else self._ask()
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

    def _ask(self) -> tuple[LoaderConfig, str] | None:
        while (config := self.study.ask()) is not None:
            if not _is_too_slow(config, self.record.outcomes, self.target):
                return config, "search"
            self.study.skip(config)
        return None


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
