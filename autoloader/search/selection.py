"""Pick configs: who is worth a race, which of the raced is recommended, what knobs do.

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
from autoloader.units import format_bytes, format_rate
from autoloader.values.config import LoaderConfig
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target

SEARCH_NOISE = 0.20
"""How far a single reading of the search is trusted. On two shared cores, readings of
one config within a race scattered by 9 % (studies/photos), and the fastest of a dozen
single readings is the luckiest: at 10 %, it once kept all others out of the race."""

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


def finalists(
    outcomes: Iterable[Outcome],
    *,
    target: Target,
    user_config: LoaderConfig | None,
    limit: int,
    batch_sizes: Sequence[int | None],
) -> tuple[LoaderConfig, ...]:
    """Return the measured configs that are worth racing, most important first.

    A config whose readings lie up to `SEARCH_NOISE` below what is wanted may still meet
    it. In this order, as many as `limit` allows:

    1. the likely choice: the simplest that meets the target as measured; where none
       does, the simplest that may; else the fastest;
    2. the fastest, which a share target is measured by;
    3. of the simpler ones that may meet it, the one most likely to: the fastest;
    4. the user's own config;
    5. the simplest that meets it even if its reading was too fast by `SEARCH_NOISE`;
    6. further simpler ones that may meet it, the fastest first;
    7. those that may meet it and differ from the likely choice in one knob.

    PyTorch's default runs in the background of a race and gets a place here only by its
    merits. What takes more memory than allowed has no place.

    Args:
        outcomes: what the search measured; several of one config count together.
        target: what is wanted.
        user_config: the user's own settings; None where there are none.
        limit: most configs to return, 1 or more.
        batch_sizes: allowed batch sizes in order of preference.
    """
    kept = [outcome for outcome in outcomes if not _is_too_large(outcome, target)]
    rates = _median_rates(kept)
    if not rates:
        return ()
    ascending = sorted(rates, key=lambda config: simplicity(config, batch_sizes))
    wanted = target.rate(max(rates.values())) * (1 - INDIFFERENCE)
    ranked = _by_importance(ascending, rates, wanted, user_config)
    return tuple(dict.fromkeys(ranked))[:limit]


def choose(
    standings: Standings,
    *,
    memory: Mapping[LoaderConfig, int],
    batch_sizes: Sequence[int | None],
    excluded: Collection[LoaderConfig] = (),
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
    for standing in ascending:
        if standing.judgement is Judgement.MEETS:
            return _met(standing, ascending, left)
    open_ones = [
        standing for standing in ascending if standing.judgement is Judgement.UNDECIDED
    ]
    wanted = standings.target.describe()
    if open_ones:
        closest = max(open_ones, key=lambda standing: standing.ratio)
        reason = (
            f"after {_rounds(left)} it cannot be told whether a config meets {wanted}; "
            f"closest: {_describe(closest)}"
        )
        return Choice(config=None, state="undecided", best=left.best, reason=reason)
    reason = f"no config reached {wanted}; best was {_describe(left[left.best])}"
    return Choice(config=None, state="not_met", best=left.best, reason=reason)


def knob_effects(
    outcomes: Iterable[Outcome], chosen: LoaderConfig
) -> dict[str, list[dict[str, Any]]]:
    """Return, knob by knob, what the measured neighbours of a config do otherwise.

    A neighbour differs from `chosen` in one knob alone; at 0 workers, where nothing is
    prefetched or kept, in num_workers alone.

    Returns:
        For each knob a list by ascending value of `value`, `rate_ratio` (median epoch
        rate, as a multiple of the chosen config's) and `memory_bytes` (peak, less the
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
        effects[knob].append(
            {
                "value": getattr(config, knob),
                "rate_ratio": rate / rates[chosen],
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


def _by_importance(
    ascending: Sequence[LoaderConfig],
    rates: Mapping[LoaderConfig, float],
    wanted: float,
    user_config: LoaderConfig | None,
) -> list[LoaderConfig]:
    """Return the order that `finalists` states, from configs sorted by simplicity."""

    def reaching(rate: float) -> list[LoaderConfig]:
        return [config for config in ascending if rates[config] >= rate]

    plausible = reaching(wanted * (1 - SEARCH_NOISE))
    fastest = max(ascending, key=lambda config: rates[config])
    likely = [*reaching(wanted), *plausible, fastest][0]
    below = ascending[: ascending.index(likely)]
    simpler = [config for config in plausible if config in below]
    simpler.sort(key=lambda config: rates[config], reverse=True)
    return [
        likely,
        fastest,
        *simpler[:1],
        *(config for config in ascending if config == user_config),
        *reaching(wanted / (1 - SEARCH_NOISE))[:1],
        *simpler,
        *(config for config in plausible if knob_between(likely, config) is not None),
    ]


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


def _is_too_large(outcome: Outcome, target: Target) -> bool:
    if target.memory_bytes is None or outcome.memory is None:
        return False
    return outcome.memory.peak_bytes > target.memory_bytes


def _met(standing: Standing, ascending: Sequence[Standing], left: Standings) -> Choice:
    simpler = ascending[: ascending.index(standing)]
    reason = (
        f"the simplest of {len(ascending)} raced configs that meets "
        f"{left.target.describe()}"
    )
    doubtful = [item for item in simpler if item.judgement is Judgement.UNDECIDED]
    if doubtful:
        closest = max(doubtful, key=lambda item: item.ratio)
        times = "time" if closest.rounds == 1 else "times"
        reason += (
            f"; {closest.config.describe()} is simpler and was {closest.ratio:.2f} of "
            f"what is wanted, read {closest.rounds} {times}: too few to tell"
        )
    return Choice(config=standing.config, state="met", best=left.best, reason=reason)


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


def _rounds(standings: Standings) -> str:
    count = len(standings.rounds)
    return f"{count} round{'' if count == 1 else 's'}"
