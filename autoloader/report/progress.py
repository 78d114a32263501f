"""How far a running study has come: what the events so far add up to.

Knows nothing of terminals; judges nothing for good, which is `search`'s.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autoloader.measure.intervals import Interval, median
from autoloader.measure.throughput import epoch_rate
from autoloader.report.estimate import Estimate
from autoloader.report.pace import Pace
from autoloader.search.selection import simplicity
from autoloader.search.standings import Standings
from autoloader.values.target import CONFIDENCE, INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.search.budget import Budget
    from autoloader.search.standings import Round, Standing
    from autoloader.search.watcher import Extent
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder
    from autoloader.values.outcome import Outcome, Status
    from autoloader.values.target import Target

LOADING = "loading"
"""Stage in which batches arrive, in words."""

SEARCH_NOISE = 0.20
"""How far below the target a config is shown that may meet it. On two shared cores,
readings of one config scattered by 9 % (studies/photos), and the fastest of a dozen
single readings, which a share is wanted of, is the luckiest."""


PASSES = {
    "gate": "comparing its data",
    "share": "reading what each worker should",
    "memory": "weighing its memory",
    "timed": "reading its speed",
    "ceiling": "reading its speed with free examples",
}
"""What a pass is for, in words, by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A config with its epoch rate so far."""

    config: LoaderConfig
    rate: Interval
    """Examples a second, by the readings that count."""
    readings: int
    """How many these are."""


@dataclass(slots=True)
class Progress:
    """What is known by now."""

    target: Target
    phase: str = ""
    detail: str = ""
    budget: Budget | None = None
    pace: Pace | None = None
    """Of a search that goes on until all is tried; None: the budget ends it."""
    stage: str = ""
    done: int = 0
    running: LoaderConfig | None = None
    """Config of the trial or the pass that runs; None between them."""
    purpose: str = ""
    """What the running pass is for; empty between passes."""
    estimate: Estimate | None = None
    """Rate of the running pass; None: it is not timed."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, for that rate."""
    last: Rated | None = None
    """Latest trial that was measured."""
    last_failed: Outcome | None = None
    """Latest trial that was not."""
    counts: Counter[Status] = field(default_factory=Counter)
    passed_over: int = 0
    """Configs that are not tried, because of what came of others."""
    rounds: list[Round] = field(default_factory=list)
    """Rounds of the race so far."""
    standings: tuple[Standing, ...] = ()
    """Who is in the race, in the order in which they first ran. For their ratios only:
    what a config is judged to be has fixed looks."""
    _rates: dict[LoaderConfig, tuple[float, ...]] = field(default_factory=dict)
    """Rates of the search's readings."""

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """Note that a phase begins."""
        self.phase, self.detail, self.budget = name, detail, budget
        self.pace = None if extent is None else Pace(extent, budget.clock)
        self._rest()
        if name == "race":  # a night has one before its tune, of other rounds
            self.rounds, self.standings = [], ()

    def on_pass(self, order: PassOrder) -> None:
        """Note that a pass begins."""
        self._rest()
        self.running = order.config
        self.purpose = PASSES.get(order.kind, "")
        self.estimate = Estimate.of(order, self.clock)

    def on_tick(self, stage: str, done: int) -> None:
        """Note where the running pass stands."""
        self.stage, self.done = stage, done
        if self.estimate is not None and stage == LOADING:
            self.estimate.note(done)

    def on_trial(self, config: LoaderConfig) -> None:
        """Note that a trial begins."""
        self._rest()
        self.running = config

    def on_outcome(self, outcome: Outcome) -> None:
        """Note what came of a trial."""
        self._rest()
        self.counts[outcome.status] += 1
        if self.pace is not None:
            self.pace.on_outcome()
        rates = tuple(epoch_rate(reading) for reading in outcome.counted)
        if not rates:
            self.last_failed = outcome
            return
        self._rates[outcome.config] = rates
        self.last = _rated(outcome.config, rates)

    def on_skip(self) -> None:
        """Note that a config is passed over."""
        self.passed_over += 1
        if self.pace is not None:
            self.pace.on_skip()

    def on_round(self, rates: Round) -> None:
        """Note a round of the race."""
        self.rounds.append(rates)
        # worked out here, between two passes, and not whenever the screen is drawn
        self.standings = Standings.of(self.rounds, self.target).table

    @property
    def fastest(self) -> Rated | None:
        """The fastest config that was measured."""
        rates = self._read()
        if not rates:
            return None
        best = max(rates, key=lambda config: median(rates[config]))
        return _rated(best, rates[best])

    @property
    def simplest(self) -> Rated | None:
        """The simplest config that may meet the target, by what was read so far."""
        rates = {config: median(found) for config, found in self._read().items()}
        if not rates:
            return None
        wanted = self.target.rate(max(rates.values()))
        noise = 0.0 if self.rounds else SEARCH_NOISE
        least = wanted * (1 - INDIFFERENCE) * (1 - noise)
        enough = [config for config, rate in rates.items() if rate >= least]
        if not enough:
            return None
        found = min(enough, key=lambda config: simplicity(config, ()))
        return _rated(found, self._read()[found])

    def _read(self) -> dict[LoaderConfig, tuple[float, ...]]:
        """Return the rates that count: those of the race, once there are any."""
        if not self.rounds:
            return self._rates
        found: dict[LoaderConfig, tuple[float, ...]] = {}
        for round_ in self.rounds:
            for config, rate in round_.items():
                if rate:
                    found[config] = (*found.get(config, ()), rate)
        return found or self._rates

    def _rest(self) -> None:
        """Forget the pass that ran."""
        self.running, self.purpose, self.estimate = None, "", None
        self.stage, self.done = "", 0

    @property
    def unit(self) -> Literal["examples", "batches"]:
        """What `done` counts."""
        return "examples" if self.phase == "reference" else "batches"


def _rated(config: LoaderConfig, rates: Sequence[float]) -> Rated:
    positive = [rate for rate in rates if rate > 0]
    rate = (
        Interval.of(positive, error=1 - CONFIDENCE)
        if positive
        else Interval(median=0.0, low=None, high=None)
    )
    return Rated(config=config, rate=rate, readings=len(rates))
