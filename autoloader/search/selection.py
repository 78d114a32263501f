"""Pick configs: which of the raced is recommended, and what each knob does.

Pure functions of outcomes and standings; nothing here runs a trial or states a bound.

The recommendation is the **simplest** config that is enough, not the fastest: the least
by `simplicity` among those whose lower bound meets the target and whose memory fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.search.standings import Judgement, Standing, Standings
from autoloader.units import counted, format_bytes, format_rate
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from autoloader.measure.intervals import Interval
    from autoloader.values.outcome import Outcome

LIKELY = 0.95
"""Probability of meeting the target from which a raced config counts as meeting it
where its rounds alone are too few to tell."""

HOPELESS = 0.02
"""Probability of meeting the target up to which a config does not count as open."""

PROBABLE = 0.5
"""The same for the likeliest one, where no other is likely enough: it is chosen where
it meets the target more likely than not, and called so. The probabilities are cautious:
of 10,400 replayed studies with 8 and 15 % of noise (`search.replay`), those whose
likeliest config had 0.5 to 0.8 were right to choose it in 94 % of cases."""

KNOBS = (
    "num_workers",
    "prefetch_factor",
    "pin_memory",
    "persistent_workers",
    "batch_size",
)
"""Settings whose own effect is shown, in the order of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the race says to use."""

    config: LoaderConfig | None
    """Simplest config that meets the target; None where none is known to."""
    state: Literal["met", "not_met", "undecided"]
    """`not_met`: each config fails; `undecided`: none meets it, and one still might."""
    best: LoaderConfig | None
    """Fastest of those that may be chosen, or of all; None where nothing was raced."""
    reason: str
    """Why, in one sentence without a full stop."""
    probability: float | None = None
    """That the choice meets the target, by all readings of the study and the cost model
    together; None: nothing was chosen, or it was not asked."""


def simplicity(
    config: LoaderConfig, batch_sizes: Sequence[int | None]
) -> tuple[int, bool, bool, int, int]:
    """Return what configs are sorted by from simple to complex.

    Args:
        config: what to place.
        batch_sizes: allowed batch sizes in order of preference; others come last.
    """
    sizes = list(batch_sizes)
    known = config.batch_size in sizes
    return (
        config.num_workers,
        config.persistent_workers,
        config.pin_memory,
        config.prefetch_factor or 0,
        sizes.index(config.batch_size) if known else len(sizes),
    )


def choose(
    standings: Standings,
    *,
    memory: Mapping[LoaderConfig, int],
    batch_sizes: Sequence[int | None],
    excluded: Collection[LoaderConfig] = (),
    likely: Mapping[LoaderConfig, float] | None = None,
) -> Choice:
    """Return the simplest config that meets the target and fits the memory.

    What is excluded or too large has no speed either: the best, of which a share may
    be wanted, is the best of the others.

    Args:
        standings: the last look of a race.
        memory: peak bytes of configs; one that was not weighed counts as fitting.
        batch_sizes: allowed batch sizes in order of preference.
        excluded: configs that must not be chosen, such as one that failed the whole
            verification.
        likely: how likely each config meets the target, by all readings of the study
            and the cost model together (`search.question`). The rounds of a race alone
            may be too few to tell.
    """
    limit = standings.target.memory_bytes
    too_large = {
        config for config, size in memory.items() if limit is not None and size > limit
    }
    left = standings.without({*excluded, *too_large})
    if left.best is None:
        return _nothing_to_choose(standings, limit if too_large else None)
    ascending = sorted(
        left.table, key=lambda standing: simplicity(standing.config, batch_sizes)
    )
    known = likely or {}
    for standing in ascending:
        if meets(standing, known):
            return _met(standing, ascending, left, known)
    open_ones = [standing for standing in ascending if is_open(standing, known)]
    wanted = standings.target.describe()
    if open_ones:
        likeliest = max(open_ones, key=lambda item: known.get(item.config, 0.0))
        if known.get(likeliest.config, 0.0) >= PROBABLE:
            return _met(likeliest, ascending, left, known)
        closest = max(open_ones, key=lambda standing: standing.ratio)
        reason = (
            f"after {counted(len(left.rounds), 'round')} it cannot be told whether a "
            f"config meets {wanted}; closest: {_describe(closest)}"
        )
        return Choice(config=None, state="undecided", best=left.best, reason=reason)
    reason = f"no config reached {wanted}; best was {_describe(left[left.best])}"
    return Choice(config=None, state="not_met", best=left.best, reason=reason)


def meets(standing: Standing, likely: Mapping[LoaderConfig, float]) -> bool:
    """Whether a config counts as meeting the target.

    Its rounds say so; or they leave it open, and all readings of the study, its own and
    its neighbours', make it likely.
    """
    if standing.judgement is Judgement.UNDECIDED:
        return likely.get(standing.config, 0.0) >= LIKELY
    return standing.judgement is Judgement.MEETS


def is_open(standing: Standing, likely: Mapping[LoaderConfig, float]) -> bool:
    """Whether a config that is not known to meet the target may do so."""
    is_undecided = standing.judgement is Judgement.UNDECIDED
    return is_undecided and likely.get(standing.config, 1.0) > HOPELESS


def too_large(outcomes: Iterable[Outcome], limit: int | None) -> set[LoaderConfig]:
    """Return the configs that were weighed with more memory than is allowed."""
    return {
        item.config
        for item in outcomes
        if limit is not None and item.memory and item.memory.peak_bytes > limit
    }


def _unpaired(_config: LoaderConfig, _other: LoaderConfig) -> Interval | None:
    """Tell of no rounds that had both."""
    return None


def knob_effects(
    outcomes: Iterable[Outcome],
    chosen: LoaderConfig,
    relative: Callable[[LoaderConfig, LoaderConfig], Interval | None] = _unpaired,
) -> dict[str, list[dict[str, Any]]]:
    """Return, knob by knob, what the measured neighbours of a config do otherwise.

    A neighbour differs from `chosen` in one knob alone; at 0 workers, where nothing is
    prefetched or kept, in num_workers alone.

    Args:
        outcomes: of the study.
        chosen: whose neighbours they are.
        relative: how many times as fast as another one a config is, by the rounds of a
            race that had both; None where none had.

    Returns:
        For each knob a list by ascending value of `value`, `rate_ratio` (epoch rate, as
        a multiple of the chosen config's: the median of common rounds of the race, else
        that of all readings of the one by that of the other), `low` and `high` (of that
        ratio; None where the rounds do not tell) and `memory_bytes` (peak, less the
        chosen config's; None where one of them was not weighed). All lists are empty
        where the chosen config was not measured.
    """
    known = list(outcomes)
    rates = _median_rates(known)
    sizes = _median_sizes(known)
    effects: dict[str, list[dict[str, Any]]] = {knob: [] for knob in KNOBS}
    for config, rate in rates.items():
        knob = knob_between(chosen, config)
        if knob is None or not rates.get(chosen):
            continue
        weighed = config in sizes and chosen in sizes
        paired = relative(config, chosen)
        effects[knob].append(
            {
                "value": getattr(config, knob),
                "rate_ratio": rate / rates[chosen] if paired is None else paired.median,
                "low": None if paired is None else paired.low,
                "high": None if paired is None else paired.high,
                "memory_bytes": sizes[config] - sizes[chosen] if weighed else None,
            }
        )
    for effect in effects.values():
        effect.sort(key=lambda entry: (entry["value"] is not None, entry["value"]))
    return effects


def knob_between(config: LoaderConfig, other: LoaderConfig) -> str | None:
    """Return the one knob that turns `config` into `other`; None for none or several.

    What means nothing at 0 workers goes along with num_workers.
    """
    if config == other:
        return None
    for knob in KNOBS:
        settings = {**config.to_dict(), knob: getattr(other, knob)}
        if LoaderConfig.canonical(**settings) == other:
            return knob
    return None


def _median_rates(outcomes: Iterable[Outcome]) -> dict[LoaderConfig, float]:
    """Return the median epoch rate of each config, over all its readings."""
    found: dict[LoaderConfig, list[float]] = {}
    for outcome in outcomes:
        for reading in outcome.counted:
            found.setdefault(outcome.config, []).append(epoch_rate(reading))
    return {config: median(rates) for config, rates in found.items()}


def _median_sizes(outcomes: Iterable[Outcome]) -> dict[LoaderConfig, int]:
    """Return the median peak bytes of each config that was weighed."""
    found: dict[LoaderConfig, list[int]] = {}
    for outcome in outcomes:
        if outcome.memory is not None:
            found.setdefault(outcome.config, []).append(outcome.memory.peak_bytes)
    return {config: int(median(sizes)) for config, sizes in found.items()}


def _met(
    standing: Standing,
    ascending: Sequence[Standing],
    left: Standings,
    likely: Mapping[LoaderConfig, float],
) -> Choice:
    simpler = ascending[: ascending.index(standing)]
    is_sure = meets(standing, likely)
    which = "simplest" if is_sure else "likeliest"
    reason = (
        f"the {which} of {len(ascending)} raced configs "
        f"{'that meets' if is_sure else 'to meet'} {left.target.describe()}"
    )
    if standing.judgement is Judgement.UNDECIDED:
        share = likely[standing.config]
        reason += f", with a probability of {share:.2f} by all readings of the study"
    doubtful = [item for item in simpler if item.judgement is Judgement.UNDECIDED]
    if doubtful:
        closest = max(doubtful, key=lambda item: item.ratio)
        reason += (
            f"; {closest.config.describe()} is simpler and was {closest.ratio:.2f} of "
            f"what is wanted, read {counted(closest.rounds, 'time')}: too few to tell"
        )
    return Choice(
        config=standing.config,
        state="met",
        best=left.best,
        reason=reason,
        probability=likely.get(standing.config),
    )


def _nothing_to_choose(standings: Standings, limit: int | None) -> Choice:
    if standings.best is None:
        reason = "no config came through a race"
    elif limit is not None:
        reason = f"no raced config fits into {format_bytes(limit)} of memory"
    else:
        reason = "each raced config was excluded"
    return Choice(config=None, state="not_met", best=standings.best, reason=reason)


def _describe(standing: Standing) -> str:
    rate = format_rate(standing.rate.median)
    return f"{rate} examples/s ({standing.config.describe()})"
