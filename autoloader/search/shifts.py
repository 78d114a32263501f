"""Tell whether configs stand to each other as they did in a study: by their ratios.

Pure: the study's readings and tonight's rounds in, shifts with their bounds out. What
follows from a shift is `search.nightly`'s.

On logarithms, a shift is the mean ratio of a rival to the stored config in tonight's
rounds, less that of the study: what a night does to both cancels. Its variance has
three parts: the scatter of tonight's rounds, that of the study's, and what ratios do
from night to night though nothing has changed, once for tonight and once for the study:
`NIGHT_SPREAD`, which counts as `NIGHT_SPREAD_FREEDOM` nights and is learned from the
nights of this very file as they come. Degrees of freedom are those of Welch and
Satterthwaite.

Of 6,000 simulated nights of 12 rounds, each against a study of six in which PyTorch's
default ran in three, with readings that scatter by 2, 5 or 10 % and ratios by 1.4 %
from night to night, 0, 0 and 3 had a shift that seemed real (0.05 % are stated); 5 of
those whose study scattered by 10 % and whose night by 5 %, 7 where it was 15 and 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from autoloader.measure.intervals import ASSUMED_SPREAD, log_ratios, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.baseline import Baseline, Rival
    from autoloader.search.standings import Round
    from autoloader.values.night import Night

NIGHT_ERROR = 0.0005
"""Share of nights without a change on which a shift seems real, all rivals together: by
chance one in five years. Smaller shifts are seen as a drift, over many nights."""

ZONE = 0.05
"""Log ratio below which a shift, however certain, calls for nothing."""

NIGHT_SPREAD = 0.02
"""Scatter of log ratios from night to night, until the nights have told their own."""

NIGHT_SPREAD_FREEDOM = 8
"""Nights that `NIGHT_SPREAD` counts for."""

MOST_NIGHTS = 30
"""Latest nights that the scatter is learned from."""

TELLING = 0.4
"""Change against a rival that a night must be able to show."""

ENOUGH_ROUNDS = 6
"""Rounds of the study with a rival from which on their ratios alone tell how they
scatter."""

_LEAST_VARIANCE = 1e-12
"""Of logarithms: readings of a table may agree to the last digit."""

LEAST_ROUNDS = 3
"""Rounds with a rival, tonight and in the study, below which nothing is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How a rival's ratio to the stored config differs from the study's."""

    rival: Rival
    now: float
    """Mean log ratio of the rival to the stored config tonight."""
    log: float
    """The same, less that of the study: above 0, the stored config has lost."""
    bound: float
    """What `log` must exceed, either way, to be no accident."""
    tonight_share: float
    """Part (0-1) of the variance that is tonight's rounds'."""

    @property
    def is_real(self) -> bool:
        """Whether it is no accident, and worth a tune."""
        return abs(self.log) > max(self.bound, ZONE)

    @property
    def is_suspicious(self) -> bool:
        """Whether more rounds should say more of it."""
        return abs(self.log) > max(self.bound, ZONE) / 2

    @property
    def could_see(self) -> float:
        """Least change (0-1) that would not have been taken for an accident."""
        return -math.expm1(-max(self.bound, ZONE))

    @property
    def can_tell(self) -> bool:
        """Whether a change by `TELLING` would have been seen."""
        return self.could_see <= TELLING

    @property
    def times_now(self) -> float:
        """How many times as fast as the rival the stored config is tonight."""
        return math.exp(-self.now)

    @property
    def times_then(self) -> float:
        """The same in the study."""
        return math.exp(self.log - self.now)


def shifts_of(
    baseline: Baseline, rounds: Sequence[Round], past: Sequence[Night]
) -> tuple[Shift, ...]:
    """Return each rival's shift; of those that were read too few times, none.

    Args:
        baseline: what the file says.
        rounds: rates by config, in the order they ran; None: the pass failed.
        past: earlier nights of this very file, the oldest first.
    """
    found = []
    for rival in baseline.rivals:
        logs = log_ratios(
            [item.get(rival.config) for item in rounds],
            [item.get(baseline.config) for item in rounds],
        )
        if min(len(logs), len(rival.ratios)) >= LEAST_ROUNDS:
            error = NIGHT_ERROR / len(baseline.rivals)
            spread = spread_of_nights(rival, past)
            found.append(_shift(rival, logs, baseline.rates, spread, error))
    return tuple(found)


def spread_of_nights(rival: Rival, past: Sequence[Night]) -> tuple[float, int]:
    """Return how log ratios scatter from night to night, and its degrees of freedom.

    The scatter of each night's rounds is in theirs, which makes it larger, never
    smaller.
    """
    name = "vs_default" if rival.name == "pytorch_default" else "vs_second"
    told = [getattr(night, name) for night in past[-MOST_NIGHTS:]]
    return pooled_spread([math.log(ratio) for ratio in told if ratio], NIGHT_SPREAD)


def pooled_spread(logs: Sequence[float], assumed: float) -> tuple[float, int]:
    """Return what is assumed of a scatter and what was seen, by their numbers.

    Args:
        logs: one a night.
        assumed: counts as `NIGHT_SPREAD_FREEDOM` nights.

    Returns:
        The scatter and its degrees of freedom.
    """
    squares, freedom = NIGHT_SPREAD_FREEDOM * assumed**2, NIGHT_SPREAD_FREEDOM
    if len(logs) >= 2:
        squares += stdev(logs) ** 2 * (len(logs) - 1)
        freedom += len(logs) - 1
    return math.sqrt(squares / freedom), freedom


def bound_of(parts: Sequence[tuple[float, int]], error: float) -> float:
    """Return what a sum exceeds, either way, in `error` of cases only.

    Args:
        parts: variances that add up, each with its degrees of freedom.
        error: both sides together.
    """
    whole = sum(variance for variance, _ in parts)
    weight = sum(variance**2 / freedom for variance, freedom in parts)
    freedom = max(1, math.floor(whole**2 / weight))
    return t_quantile(1 - error / 2, freedom) * math.sqrt(whole)


def variance_of_mean(logs: Sequence[float]) -> tuple[float, int]:
    """Return the variance of a mean and its degrees of freedom.

    Of no more values than `LEAST_ROUNDS`, which may agree by chance, each is taken to
    scatter by `ASSUMED_SPREAD` at least.
    """
    spread = stdev(logs)
    if len(logs) <= LEAST_ROUNDS:
        spread = max(spread, ASSUMED_SPREAD)
    return max(spread**2, _LEAST_VARIANCE) / len(logs), len(logs) - 1


def _variance_of_study(
    ratios: Sequence[float], rates: Sequence[float]
) -> tuple[float, int]:
    """Return the variance of the study's mean log ratio and its degrees of freedom.

    PyTorch's default runs in every second round, so that there may be three ratios.
    Fewer than `ENOUGH_ROUNDS` are helped by the stored config's own rates: two configs
    that scatter as it does give ratios of twice its variance, or less where something
    drifted for both.

    Args:
        ratios: logarithms, one a round.
        rates: of the stored config, logarithms, of all rounds.
    """
    freedom = len(ratios) - 1
    squares = freedom * stdev(ratios) ** 2
    if len(ratios) < ENOUGH_ROUNDS and len(rates) >= LEAST_ROUNDS:
        squares += 2 * (len(rates) - 1) * stdev(rates) ** 2
        freedom += len(rates) - 1
    return max(squares / freedom, _LEAST_VARIANCE) / len(ratios), freedom


def _shift(
    rival: Rival,
    logs: Sequence[float],
    rates: Sequence[float],
    spread: tuple[float, int],
    error: float,
) -> Shift:
    """Return the shift of a ratio, and what it must exceed.

    Args:
        rival: with its ratios in the study.
        logs: its log ratios tonight.
        rates: of the stored config in the study.
        spread: how log ratios scatter from night to night, and its freedom.
        error: that the shift seems real and is not, both sides together.
    """
    then = [math.log(ratio) for ratio in rival.ratios]
    tonight = variance_of_mean(logs)
    study = _variance_of_study(then, [math.log(rate) for rate in rates])
    nights = (2 * spread[0] ** 2, spread[1])
    return Shift(
        rival=rival,
        now=fmean(logs),
        log=fmean(logs) - fmean(then),
        bound=bound_of((tonight, study, nights), error),
        tonight_share=tonight[0] / (tonight[0] + study[0] + nights[0]),
    )
