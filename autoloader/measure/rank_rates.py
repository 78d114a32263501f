"""Rates of each rank of several, and which of them is the slowest.

Pure. What all of them reach together is `measure.throughput`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from autoloader.measure.throughput import epoch_rate, ranks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRates:
    """What each rank of a config reaches, while the others run beside it."""

    examples_per_s: tuple[float, ...]
    """For each rank the median of its epoch rates."""

    @property
    def slowest(self) -> int:
        """Number of the slowest rank."""
        return min(range(len(self.examples_per_s)), key=self.examples_per_s.__getitem__)

    @property
    def slowest_share(self) -> float:
        """Its rate as a part of the mean of all: a step waits for the last batch."""
        mean = fmean(self.examples_per_s)
        return self.examples_per_s[self.slowest] / mean if mean else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the shape that files and reports have it in."""
        return {
            "examples_per_s": list(self.examples_per_s),
            "slowest": self.slowest,
            "slowest_share": self.slowest_share,
        }


def rank_rates(readings: Sequence[Reading]) -> RankRates | None:
    """Return the rates of each rank; None where there is one training process."""
    ranked = [ranks_of(item) for item in readings if item.others]
    if not ranked:
        return None
    return RankRates(
        examples_per_s=tuple(
            median(map(epoch_rate, of_rank)) for of_rank in zip(*ranked, strict=True)
        )
    )
