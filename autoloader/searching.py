"""The search of a tune: alone, or as one machine of a fleet.

What is tried, and when it is enough, is `search.exploration`'s; here is what a tune has
to say about it. Prints nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoloader.search.exploration import Exploration, Stop
from autoloader.search.space import Space, incumbents, with_stored
from autoloader.search.strategy import InOrder, Strategy
from autoloader.search.study import Study
from autoloader.search.watcher import Extent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoloader.search.budget import Budget
    from autoloader.search.record import Record
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.search.watcher import Watcher
    from autoloader.sharing import Sharing
    from autoloader.stepping import Stepping
    from autoloader.tune_values import TuneRequest
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

ELSEWHERE = "another machine of the fleet tried it, and it is not worth a race here"
"""Why a config has no trial of this machine's."""


@dataclass(slots=True, kw_only=True)
class Searching:
    """The search of one tune."""

    request: TuneRequest
    record: Record
    journal: Path
    """For Optuna's dashboards."""
    watcher: Watcher
    budget: Budget
    target: Target
    stepping: Stepping | None
    sharing: Sharing | None
    """The fleet that this machine is of; None: it searches alone."""
    passed_over: list[tuple[LoaderConfig, str]] = field(default_factory=list)
    """What was not tried here, and why."""
    study: Study | None = None
    """Optuna's, once the search has begun."""

    def run(self, stopwatch: Stopwatch, space: Space, strategy: Strategy) -> Stop:
        """Try configs until it is enough, and return why no more were tried."""
        first = self._first(stopwatch, space, strategy)
        is_exhaustive = self.request.is_exhaustive
        extent = self._extent(strategy, first) if is_exhaustive else None
        count = len(space.configs()) if extent is None else extent.configs
        self.watcher.on_phase("search", f"{count} configs", self.budget, extent)
        self.study = study = Study(
            self.journal,
            space,
            outcomes=self.record.outcomes,
            target=self.target,
            about={
                "dataset": self.request.source.spec,
                "machine": stopwatch.machine.key,
                "scope": f"{stopwatch.scope.examples:,} examples an epoch",
            },
        )
        exploration = Exploration(
            record=self.record,
            study=study,
            proposer=InOrder(configs=strategy.configs) if is_exhaustive else strategy,
            configs=strategy.configs,
            target=self.target,
            most_trials=self.request.most_trials,
            deadline=math.inf if is_exhaustive else self.budget.search_end,
            limit=math.inf if is_exhaustive else self.budget.search_limit,
            clock=self.budget.clock,
            desk=None if self.sharing is None else self.sharing.desk,
        )
        stopped = self._explore(exploration, stopwatch, first)
        if self.sharing is not None:
            self._try_here(self.sharing, study, stopwatch, strategy, first)
        return stopped

    def _first(
        self, stopwatch: Stopwatch, space: Space, strategy: Strategy
    ) -> list[tuple[LoaderConfig, str]]:
        """Return what is tried before the strategy is asked."""
        first = with_stored(
            incumbents(space, facts=stopwatch.facts),
            [item for item in self.request.first if item in strategy.configs],
        )
        if self.stepping is not None:
            first = self.stepping.with_neighbours(first, strategy)
        if self.sharing is not None:
            found = dict(first)
            for config, source in self.sharing.learned(space):
                if config in strategy.configs:
                    found.setdefault(config, source)
            first = list(found.items())
        return first

    def _explore(
        self,
        exploration: Exploration,
        stopwatch: Stopwatch,
        first: Sequence[tuple[LoaderConfig, str]],
    ) -> Stop:
        return exploration.run(
            stopwatch,
            first,
            on_start=self.watcher.on_trial,
            on_outcome=self.watcher.on_outcome,
            on_skip=self._pass_over,
        )

    def _try_here(
        self,
        sharing: Sharing,
        study: Study,
        stopwatch: Stopwatch,
        strategy: Strategy,
        first: Sequence[tuple[LoaderConfig, str]],
    ) -> None:
        """Try what is worth a race, and was tried on other machines only."""
        memory_bytes = self.target.memory_bytes
        owed = sharing.owed(strategy, first, memory_bytes=memory_bytes)
        end = math.inf if self.request.is_exhaustive else self.budget.search_limit
        here = Exploration(
            record=self.record,
            study=study,
            proposer=InOrder(configs=()),
            configs=[config for config, _ in owed],
            target=self.target,
            most_trials=None,
            deadline=end,
            limit=end,
            clock=self.budget.clock,
        )
        if owed:
            self._explore(here, stopwatch, owed)
        known = {config for config, _ in self.passed_over}
        for config in sharing.elsewhere():
            if config not in known:
                self._pass_over(config, ELSEWHERE)

    def _extent(
        self, strategy: Strategy, first: Sequence[tuple[LoaderConfig, str]]
    ) -> Extent:
        """Return all that an exhaustive search tries; some of it may be done."""
        every = {*strategy.configs, *(config for config, _source in first)}
        done = {item.config for item in self.record.outcomes}
        return Extent(configs=len(every), tried=len(every & done))

    def _pass_over(self, config: LoaderConfig, why: str) -> None:
        self.passed_over.append((config, why))
        self.watcher.on_skip(config, why)
