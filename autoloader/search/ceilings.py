"""Read loaders once more over examples that are free: what no setting exceeds.

Comes after the choice, while the time lasts; nothing that is chosen depends on it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoloader.measure.intervals import median
from autoloader.measure.planning import wave_plan
from autoloader.search.budget import CEILING_S
from autoloader.search.rates import rates_of
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.search.budget import Budget
    from autoloader.search.race_store import RaceStore
    from autoloader.search.selection import Choice
    from autoloader.search.stopwatch import Stopwatch
    from autoloader.values.config import LoaderConfig

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Reads the ceilings of a study's configs, and keeps them in its record."""

    stopwatch: Stopwatch
    """Has the runner."""
    record: RaceStore
    """Of the study."""
    budget: Budget
    """Says how much time is left."""
    on_phase: Callable[[str, str], None]
    """Told which config is read."""

    def take(self, choice: Choice) -> None:
        """Read those that tell most of the choice, while the time lasts.

        What fails then is no fault of the config: it only stays unknown.
        """
        expected_s = CEILING_S
        for config in self._to_look_at(choice):
            if self.budget.left_s < expected_s:
                return
            begun = self.budget.clock()
            self.on_phase("ceiling", config.describe())
            found = self.stopwatch.runner.ceiling(
                config, plan=wave_plan(config.num_workers, waves=1)
            )
            expected_s = max(expected_s, self.budget.clock() - begun)
            if isinstance(found, Failure):
                _log.info("no ceiling of %s: %s", config.describe(), found.message)
                continue
            self.record.add(replace(self.record[config], ceiling=found))

    def _to_look_at(self, choice: Choice) -> list[LoaderConfig]:
        """Return the fastest of the chosen batch size, after one with workers.

        What keeps workers from gaining is seen with workers only.
        """
        wanted = choice.config or choice.best
        if wanted is None:
            return []
        rates = {
            config: median(found)
            for config, found in rates_of(self.record.outcomes).items()
            if config.batch_size == wanted.batch_size
        }
        ranked = sorted(rates, key=rates.__getitem__, reverse=True)
        best = choice.best if choice.best in rates else next(iter(ranked), None)
        if best is None or best.num_workers:
            return [] if best is None else [best]
        served = next((config for config in ranked if config.num_workers), None)
        return [best] if served is None else [served, best]
