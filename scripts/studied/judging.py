"""Judge choices: how far from the best of a table, at what cost, how much they spread.

Pure: tables, results of replays and rates of plain loops in, figures out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval
from autoloader.values.config import LoaderConfig
from scripts.studied.grids import GRID_CONFIGS, GRID_READINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.search.tables import Table, Truth

BAR_SHARE = 0.92
"""Share of the exhaustive best that a choice must reach: 95 %, less the zone of 3 %."""

BAR_COST = 1 / 5
"""Part of the grid's timed passes that a tune may take."""

ERROR = 0.05
"""Share of cases in which an interval may miss the true ratio."""

GRID = "the grid's fastest"
"""Who stands for the exhaustive answer in a race of plain loops."""

Rates = dict[str, list[float | None]]
"""Rates by round, under the name of the settings; None: they failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """What replayed tunes on a table came to."""

    study: str
    configs: int
    """Of the grid."""
    fastest: LoaderConfig
    """The fastest of the table; of those that hardly differ, the simplest."""
    fastest_examples_per_s: float
    tunes: int
    shares: tuple[float, ...]
    """True rate of each choice, as a share of the fastest's, ascending; a tune that
    chose nothing has none."""
    choices: tuple[tuple[str, int], ...]
    """What was chosen, and how often; the most frequent first."""
    readings: float
    """Timed passes of a tune, in the middle."""
    seconds: float
    """Wall time of a tune, in the middle."""
    grid_s: float
    """What reading the grid took."""
    scatter: float | None
    """Deviation of the log of one reading of the grid; None: not known."""

    @classmethod
    def of(
        cls,
        table: Table,
        truth: Truth,
        results: Sequence[Mapping[str, Any]],
        grid_s: float,
        scatter: float | None,
    ) -> GridRow:
        """Return the row of a table.

        Args:
            table: what was replayed.
            truth: its exhaustive answer.
            results: replayed tunes, as `ReplayResult.to_dict` wrote them.
            grid_s: seconds that reading the grid took.
            scatter: deviation of the log of one reading of the grid.
        """
        best = truth.rates[truth.fastest]
        chosen = [
            LoaderConfig.from_dict(item["chosen"])
            for item in results
            if item["chosen"] is not None
        ]
        counted = Counter(short(config) for config in chosen)
        nothing = len(results) - len(chosen)
        choices = counted.most_common() + [("nothing", nothing)] * bool(nothing)
        return cls(
            study=table.name,
            configs=truth.configs,
            fastest=truth.fastest,
            fastest_examples_per_s=best,
            tunes=len(results),
            shares=tuple(sorted(table.rate(config) / best for config in chosen)),
            choices=tuple(choices),
            readings=median(item["readings"] for item in results),
            seconds=median(item["seconds"] for item in results),
            grid_s=grid_s,
            scatter=scatter,
        )

    @property
    def cost(self) -> float:
        """Timed passes of a tune, as a part of those of the whole grid."""
        return self.readings / (GRID_CONFIGS * GRID_READINGS)

    @property
    def holds(self) -> bool:
        """Whether every tune chose, near enough to the best, and at a fifth at most."""
        is_near = len(self.shares) == self.tunes and self.shares[0] >= BAR_SHARE
        return is_near and self.cost <= BAR_COST


def short(config: LoaderConfig) -> str:
    """Return a config without its batch size, which is the same for all."""
    return ", ".join(
        part for part in config.describe().split(", ") if not part.startswith("batch ")
    )


def rate_of(key: str | None, rates: Rates) -> float | None:
    """Return the median rate of some settings; None where they have none."""
    found = [rate for rate in rates.get(key or "", []) if rate is not None]
    return median(found) if found else None


def ratio_of(key: str | None, other: str | None, rates: Rates) -> Interval | None:
    """Return how many times as fast one is as the other, round by round; or None.

    Args:
        key: name of settings; None: nothing was recommended.
        other: name of those that it is held against.
        rates: of the race that read both.
    """
    if key is None or other is None or key == other:
        return None
    pairs = zip(rates.get(key, []), rates.get(other, []), strict=False)
    ratios = [one / two for one, two in pairs if one is not None and two is not None]
    return Interval.of(ratios, error=ERROR) if ratios else None


def fastest_of(keys: Sequence[str | None], rates: Rates) -> str | None:
    """Return the name of the fastest settings; None where none has a rate."""
    rated = {
        key: rate for key in keys if key and (rate := rate_of(key, rates)) is not None
    }
    return max(rated, key=rated.__getitem__, default=None)
