"""Rates of trials, as search, race and report read them.

What a single reading says is `measure.throughput`'s; what rates say of each other
belongs to `measure.intervals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome


def rate_of(outcome: Outcome) -> float | None:
    """Return the median epoch rate of a trial; None where it was not measured."""
    rates = [epoch_rate(reading) for reading in outcome.counted]
    return median(rates) if rates else None


def rates_of(outcomes: Sequence[Outcome]) -> dict[LoaderConfig, list[float]]:
    """Return the rates above 0 of configs that were measured, examples a second."""
    found: dict[LoaderConfig, list[float]] = {}
    for item in outcomes:
        if item.status is Status.MEASURED:
            rates = [epoch_rate(reading) for reading in item.counted]
            found.setdefault(item.config, []).extend(rate for rate in rates if rate > 0)
    return {config: rates for config, rates in found.items() if rates}
