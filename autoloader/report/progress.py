"""How far a running study has come: what the events so far add up to.

Knows nothing of terminals; judges nothing for good, which is `search`'s.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autoloader.report.pace import Pace
from autoloader.search.rates import rate_of
from autoloader.search.selection import simplicity
from autoloader.search.standings import Standings
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from autoloader.search.budget import Budget
    from autoloader.search.standings import Round, Standing
    from autoloader.search.watcher import Extent
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome, Status
    from autoloader.values.target import Target

SEARCH_NOISE = 0.20
"""How far below the target a config is shown that may meet it. On two shared cores,
readings of one config scattered by 9 % (studies/photos), and the fastest of a dozen
single readings, which a share is wanted of, is the luckiest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A config with its epoch rate so far."""

    config: LoaderConfig
    examples_per_s: float


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
    """Config of the trial that runs; None between trials and outside the search."""
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
    _rates: dict[LoaderConfig, float] = field(default_factory=dict)

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """Note that a phase begins."""
        self.phase, self.detail, self.budget = name, detail, budget
        self.pace = None if extent is None else Pace(extent, budget.clock)
        self.stage, self.done, self.running = "", 0, None
        if name == "race":  # a night has one before its tune, of other rounds
            self.rounds, self.standings = [], ()

    def on_tick(self, stage: str, done: int) -> None:
        """Note where the running pass stands."""
        self.stage, self.done = stage, done

    def on_trial(self, config: LoaderConfig) -> None:
        """Note that a trial begins."""
        self.running, self.stage, self.done = config, "", 0

    def on_outcome(self, outcome: Outcome) -> None:
        """Note what came of a trial."""
        self.running, self.stage, self.done = None, "", 0
        self.counts[outcome.status] += 1
        if self.pace is not None:
            self.pace.on_outcome()
        rate = rate_of(outcome)
        if rate is None:
            self.last_failed = outcome
            return
        self._rates[outcome.config] = rate
        self.last = Rated(config=outcome.config, examples_per_s=rate)

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
        if not self._rates:
            return None
        return self._rated(max(self._rates, key=lambda config: self._rates[config]))

    @property
    def simplest(self) -> Rated | None:
        """The simplest config that may meet the target, by what was read so far."""
        if not self._rates:
            return None
        wanted = self.target.rate(max(self._rates.values()))
        least = wanted * (1 - INDIFFERENCE) * (1 - SEARCH_NOISE)
        enough = [config for config, rate in self._rates.items() if rate >= least]
        if not enough:
            return None
        return self._rated(min(enough, key=lambda config: simplicity(config, ())))

    @property
    def unit(self) -> Literal["examples", "batches"]:
        """What `done` counts."""
        return "examples" if self.phase == "reference" else "batches"

    def _rated(self, config: LoaderConfig) -> Rated:
        return Rated(config=config, examples_per_s=self._rates[config])
