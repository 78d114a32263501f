"""Judge raced configs against the target: bounds, and what they say of each config.

Pure: rounds of rates in, judgements out. Running the rounds is `search.race`'s, picking
a config `search.selection`'s.

Where a rate is wanted, each config's own rates are bounded, with an allowance for how
far the minutes of a race are from what the machine does in the long run.

Where a share of the best config's rate is wanted, which one is the best is not known.
Each config is therefore compared with every other one in the rounds that both ran, so
that what slows a round down cancels. Its rate against the best is the least of these
ratios, and

- the lower bound is the least of the pairwise lower bounds: the true best is among the
  others, whichever it is, so this holds with the stated error;
- the upper bound is the least of the pairwise upper bounds, each with its share of the
  error: several configs that are equally fast are several chances to be beaten by luck.

A bootstrap that looks for the best in each resample was tried and left. With five
configs of 5 % noise, four of them equally fast, its upper bound with a stated error of
1.7 % was wrong in 13 to 15 % of 3,000 simulated races of 6, 12 and 24 rounds: the best
of a resample is faster still than the best that was seen. This one: 1.3 to 1.8 %.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist, fmean
from typing import Any

from autoloader.measure.intervals import (
    Interval,
    bounded_exp,
    log_ratios,
    lower_bound,
    upper_bound,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.target import CONFIDENCE, DRIFT, INDIFFERENCE, Target

Round = Mapping[LoaderConfig, float | None]
"""Epoch rate of each config of a round, in the order they ran; None: it failed."""

_ROUNDING = 1e-9  # of a log ratio; readings without any scatter may sit on the limit


class Judgement(StrEnum):
    """What the rounds so far say of a config."""

    MEETS = "meets"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One raced config against what is wanted."""

    config: LoaderConfig
    """What was raced."""
    rounds: int
    """Rounds that it ran in."""
    rate: Interval
    """Epoch rate, examples a second, for people to read."""
    ratio: float
    """Its rate divided by the wanted one, indifference zone taken off."""
    ratio_low: float | None
    """One-sided lower bound of `ratio`; None where the rounds are too few for one."""
    ratio_high: float | None
    """One-sided upper bound of `ratio`; None where the rounds are too few for one."""

    @property
    def judgement(self) -> Judgement:
        """Whether its bounds lie on one side of what is wanted."""
        if self.ratio_low is not None and self.ratio_low >= 1:
            return Judgement.MEETS
        if self.ratio_high is not None and self.ratio_high < 1:
            return Judgement.FAILS
        return Judgement.UNDECIDED

    @property
    def at_least(self) -> float | None:
        """Its rate as a share of the wanted one, with the stated confidence at least.

        None where the rounds are too few for a bound.
        """
        return None if self.ratio_low is None else self.ratio_low * (1 - INDIFFERENCE)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, and the judgement."""
        return {
            "config": self.config.to_dict(),
            "rounds": self.rounds,
            "rate": self.rate.to_dict(),
            "ratio": self.ratio,
            "ratio_low": self.ratio_low,
            "ratio_high": self.ratio_high,
            "judgement": self.judgement.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """All raced configs at one look."""

    rounds: tuple[Round, ...]
    """Rates that everything here is worked out of."""
    target: Target
    """What is wanted."""
    error: float
    """Share of cases, config by config, in which a one-sided bound may be wrong."""
    table: tuple[Standing, ...]
    """One entry a config, in the order in which they first ran."""

    @classmethod
    def of(
        cls,
        rounds: Sequence[Round],
        target: Target,
        error: float = 1 - CONFIDENCE,
        *,
        excluded: Collection[LoaderConfig] = (),
    ) -> Standings:
        """Return the standings after these rounds.

        Args:
            rounds: rates by config, above zero; a config that did not run in a round
                is absent or None there.
            target: what is wanted.
            error: error share of this look (`search.race.error_share`).
            excluded: configs that are left out, as candidates and as the best.
        """
        rates = _rates(rounds, excluded)
        limit = math.log(target.rate(1.0) * (1 - INDIFFERENCE))
        drift = drift_of(rounds)
        table = tuple(
            _standing(config, rates, target, limit, error, drift) for config in rates
        )
        return cls(rounds=tuple(rounds), target=target, error=error, table=table)

    def __getitem__(self, config: LoaderConfig) -> Standing:
        """Return the standing of one config; KeyError where it was not raced."""
        for standing in self.table:
            if standing.config == config:
                return standing
        raise KeyError(config)

    @property
    def best(self) -> LoaderConfig | None:
        """The config that is ahead of each other one in their common rounds."""
        rates = self._rates()
        if not rates:
            return None
        return max(rates, key=lambda config: _against_best(config, rates))

    def without(self, excluded: Collection[LoaderConfig]) -> Standings:
        """Return the standings as if these configs had not been raced."""
        left_out = {config for round_ in self.rounds for config in round_}
        left_out -= {standing.config for standing in self.table}
        return Standings.of(
            self.rounds, self.target, self.error, excluded=left_out | set(excluded)
        )

    def relative(self, config: LoaderConfig, other: LoaderConfig) -> Interval | None:
        """Return how many times as fast as `other` the first config is.

        The interval misses in `error` of cases, both sides together. None where the
        two have no round in common.
        """
        rates = self._rates()
        if config not in rates or other not in rates:
            return None
        ratios = log_ratios(rates[config], rates[other])
        if not ratios:
            return None
        return Interval.of([bounded_exp(ratio) for ratio in ratios], error=self.error)

    def to_dict(self) -> dict[str, Any]:
        """Return what was judged, without the rounds, which the race stores."""
        return {
            "target": self.target.to_dict(),
            "error": self.error,
            "table": [standing.to_dict() for standing in self.table],
        }

    def _rates(self) -> dict[LoaderConfig, tuple[float | None, ...]]:
        raced = {standing.config for standing in self.table}
        return {
            config: found
            for config, found in _rates(self.rounds, ()).items()
            if config in raced
        }


def _rates(
    rounds: Sequence[Round], excluded: Collection[LoaderConfig]
) -> dict[LoaderConfig, tuple[float | None, ...]]:
    """Return each config's rate in every round; None where it has none."""
    raced = dict.fromkeys(
        config
        for round_ in rounds
        for config, rate in round_.items()
        if rate is not None and config not in excluded
    )
    return {config: tuple(round_.get(config) for round_ in rounds) for config in raced}


def _standing(
    config: LoaderConfig,
    rates: Mapping[LoaderConfig, Sequence[float | None]],
    target: Target,
    limit: float,
    error: float,
    drift: float,
) -> Standing:
    own = [rate for rate in rates[config] if rate is not None]
    if target.examples_per_s is not None:
        logs = [math.log(rate) for rate in own]
        mean = fmean(logs)
        low, high = _bounds_in_the_long_run(logs, error, drift)
    else:
        mean = _against_best(config, rates)
        low, high = _bounds_against_best(config, rates, error)
    return Standing(
        config=config,
        rounds=len(own),
        rate=Interval.of(own, error=error),
        ratio=bounded_exp(mean - limit),
        ratio_low=None if low is None else bounded_exp(low - limit + _ROUNDING),
        ratio_high=None if high is None else bounded_exp(high - limit + _ROUNDING),
    )


def drift_of(rounds: Sequence[Round]) -> float:
    """Return how far minutes may be from the long run, as a deviation of log rates.

    At least `DRIFT`; more where the rounds show more: what all configs of a round have
    in common varies from round to round, by a two-way analysis of variance (rounds and
    configs) of those that ran in every round.
    """
    rates = [
        [math.log(rate) for rate in found if rate]
        for found in _rates(rounds, ()).values()
    ]
    complete = [logs for logs in rates if len(logs) == len(rounds)]
    configs, count = len(complete), len(rounds)
    if configs < 2 or count < 2:
        return DRIFT
    centred = [[log - fmean(logs) for log in logs] for logs in complete]
    common = [fmean(each) for each in zip(*centred, strict=True)]
    own = math.fsum(
        (log - shared) ** 2
        for logs in centred
        for log, shared in zip(logs, common, strict=True)
    )
    own /= (configs - 1) * (count - 1)
    together = math.fsum(shared**2 for shared in common) / (count - 1) - own / configs
    return max(DRIFT, math.sqrt(max(together, 0.0)))


def _bounds_in_the_long_run(
    logs: Sequence[float], error: float, drift: float
) -> tuple[float | None, float | None]:
    """Return the bounds of a config's log rate, whenever it is used.

    The rounds' scatter and the drift are independent of each other: their margins add
    up as squares do.
    """
    low = lower_bound(logs, error)
    if low is None:
        return None, None
    middle = fmean(logs)
    allowed = drift * NormalDist().inv_cdf(1 - error)
    margin = math.hypot(middle - low, allowed)  # as far above as below
    return middle - margin, middle + margin


def _against_best(
    config: LoaderConfig, rates: Mapping[LoaderConfig, Sequence[float | None]]
) -> float:
    """Return the least mean log ratio of a config to any raced one, itself included."""
    ratios = (log_ratios(rates[config], others) for others in rates.values())
    return min(fmean(logs) for logs in ratios if logs)


def _bounds_against_best(
    config: LoaderConfig,
    rates: Mapping[LoaderConfig, Sequence[float | None]],
    error: float,
) -> tuple[float | None, float | None]:
    """Return the bounds of the log ratio of a config to the best raced one.

    The config may be the best itself, so that 0 is an upper end of both. Two configs
    with fewer than two common rounds say nothing of each other: the other one may be
    the best by any factor, and there is no lower bound.
    """
    rivals = [others for rival, others in rates.items() if rival != config]
    pairs = [log_ratios(rates[config], others) for others in rivals]
    lows = [lower_bound(logs, error) for logs in pairs]
    highs = [upper_bound(logs, error / len(pairs)) for logs in pairs]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    low = min([0.0, *known_lows]) if len(known_lows) == len(pairs) else None
    return low, min([0.0, *known_highs])
