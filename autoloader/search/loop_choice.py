"""Choose by training loops: the simplest config that keeps the step fed.

Pure: loops in, a choice out. A loop answers what its loader alone cannot: workers share
the CPUs with the step, and without workers nothing overlaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.measure.stepping import WAIT_SHARE
from autoloader.search.selection import Choice, simplicity
from autoloader.search.standings import Judgement
from autoloader.units import counted, format_percent
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from autoloader.search.loops import LoopFigures, Loops
    from autoloader.search.standings import Standings
    from autoloader.values.config import LoaderConfig

MOST_CANDIDATES = 5
"""Configs whose loops are raced for a choice."""

SLOWER_ERROR = 0.2
"""Share of cases in which rounds call a loop slower that is not. Little is lost by a
simpler config whose step is fed, so that its rounds need not say it for sure; and not
by chance alone either."""

ALONE_WAIT_SHARE = 2 * WAIT_SHARE
"""Part of its time that a loop without workers would wait, by the costs of an example,
up to which it is worth a search: those costs are known within a factor of two."""


def candidates(
    rates: Mapping[LoaderConfig, float],
    *,
    chosen: LoaderConfig | None,
    wanted: float,
    batch_sizes: Sequence[int | None],
    limit: int = MOST_CANDIDATES,
) -> tuple[LoaderConfig, ...]:
    """Return the configs whose loops are worth reading, the most important first.

    What the loaders' rates say is enough; the simplest there is, for a step that is
    slow enough for it; the fastest; then, from simple to complex, the fastest of each
    number of workers, those first that have the wanted rate.

    Args:
        rates: loaders' rates of the configs that may be chosen, examples a second.
        chosen: what is enough by these rates; None: nothing is.
        wanted: rate of a loader that keeps the step fed.
        batch_sizes: allowed batch sizes in order of preference.
        limit: most of them.
    """
    if not rates:
        return ()

    def place(config: LoaderConfig) -> tuple[int, bool, bool, int, int]:
        return simplicity(config, batch_sizes)

    by_workers: dict[int, LoaderConfig] = {}
    for config in sorted(rates, key=place):
        known = by_workers.get(config.num_workers)
        if known is None or rates[config] > rates[known] * (1 + INDIFFERENCE):
            by_workers[config.num_workers] = config
    others = sorted(
        by_workers.values(), key=lambda item: (rates[item] < wanted, place(item))
    )
    first = [
        chosen if chosen in rates else None,
        min(rates, key=place),
        max(rates, key=lambda item: rates[item]),
    ]
    found = dict.fromkeys(item for item in (*first, *others) if item is not None)
    return tuple(found)[:limit]


def choose_fed(
    loops: Loops,
    *,
    batch_sizes: Sequence[int | None],
    excluded: Collection[LoaderConfig] = (),
) -> Choice:
    """Return the simplest config that keeps the step fed, and its loop fast.

    Fed is a step that waits at most a twentieth of its loop's time, with confidence.
    Among those the simplest counts whose loop is not seen to be slower than the fastest
    by more than the indifference zone: its waits are within it, and its rounds do not
    speak against it. Where there is none, nothing is: workers that take the CPUs which
    the step computes with keep it fed and training slow. The fastest is the best then.

    Args:
        loops: that were read.
        batch_sizes: allowed batch sizes in order of preference.
        excluded: configs that must not be chosen.
    """
    standings = loops.standings(excluded=excluded)
    known, best = _figures(loops, standings, batch_sizes), standings.best
    if best is None or not known:
        reason = "no training loop came to its end"
        return Choice(config=None, state="not_met", best=None, reason=reason)
    fed = [item for item in known if known[item].is_fed is Judgement.MEETS]
    if not fed:
        return _none_is_fed(loops, known, best)
    least = min(known[item].wait_share for item in fed)
    weighed = loops.standings(excluded=excluded, error=SLOWER_ERROR)
    as_fast = [
        item
        for item in fed
        if known[item].wait_share <= least + INDIFFERENCE
        and (weighed[item].ratio_high or 1.0) >= 1
    ]
    if not as_fast:
        fastest_fed = max(fed, key=lambda item: standings[item].ratio)
        return _fed_is_slower(loops, known, fastest_fed, best)
    reason = (
        f"the simplest of {len(known)} whose training loop waits less than "
        f"{format_percent(WAIT_SHARE)} of its time "
        f"({format_percent(known[as_fast[0]].wait_share)}) and is not seen to be more "
        f"than {INDIFFERENCE * 100:g} % slower than the fastest, in {_rounds(loops)}"
    )
    return Choice(config=as_fast[0], state="met", best=best, reason=reason)


def _figures(
    loops: Loops, standings: Standings, batch_sizes: Sequence[int | None]
) -> dict[LoaderConfig, LoopFigures]:
    """Return what is known of each loop, that of the simplest config first."""
    ascending = sorted(
        standings.table, key=lambda item: simplicity(item.config, batch_sizes)
    )
    found = {item.config: loops.figures(item.config) for item in ascending}
    return {config: figures for config, figures in found.items() if figures is not None}


def _none_is_fed(
    loops: Loops, known: Mapping[LoaderConfig, LoopFigures], best: LoaderConfig
) -> Choice:
    """Return that no config is known to keep the step fed, with the closest one."""
    closest = min(known, key=lambda item: known[item].wait_share)
    waits = format_percent(known[closest].wait_share)
    told = f"closest: {closest.describe()} waits {waits} of its time"
    if any(item.is_fed is Judgement.UNDECIDED for item in known.values()):
        reason = (
            f"after {_rounds(loops)} of training loops it cannot be told whether the "
            f"step is fed; {told}"
        )
        return Choice(config=None, state="undecided", best=best, reason=reason)
    reason = f"no config keeps the step fed; {told}"
    return Choice(config=None, state="not_met", best=best, reason=reason)


def _fed_is_slower(
    loops: Loops,
    known: Mapping[LoaderConfig, LoopFigures],
    fed: LoaderConfig,
    best: LoaderConfig,
) -> Choice:
    """Return that what keeps the step fed slows training down, with the fastest."""
    ratio = loops.relative(fed, best)
    slower = "slower" if ratio is None else f"{(1 - ratio.median) * 100:.0f} % slower"
    reason = (
        f"{fed.describe()} keeps the step fed, and its training loop is {slower} than "
        f"the fastest, {best.describe()}, which waits "
        f"{format_percent(known[best].wait_share)} of its time, in {_rounds(loops)}: "
        "workers take from the step what it computes with"
    )
    return Choice(config=None, state="not_met", best=best, reason=reason)


def _rounds(loops: Loops) -> str:
    return counted(len(loops.rounds), "round")


def is_settled(
    loops: Loops,
    *,
    batch_sizes: Sequence[int | None],
    excluded: Collection[LoaderConfig] = (),
) -> bool:
    """Return whether more rounds would hardly change the choice.

    Of each config it is known whether it is fed, and of each that is fed, from simple
    to complex up to the first that is as fast as the fastest, whether it is. Arguments
    are those of `choose_fed`.
    """
    standings = loops.standings(excluded=excluded)
    for standing in sorted(
        standings.table, key=lambda item: simplicity(item.config, batch_sizes)
    ):
        found = loops.figures(standing.config)
        if found is None or found.is_fed is Judgement.FAILS:
            continue
        if found.is_fed is Judgement.UNDECIDED:
            return False
        if standing.judgement is not Judgement.FAILS:
            return standing.judgement is Judgement.MEETS
    return True


def worth_searching(
    configs: Sequence[LoaderConfig], *, example_s: float, step_examples_per_s: float
) -> tuple[LoaderConfig, ...]:
    """Return the configs that may keep a step fed, by the costs of an example alone.

    Without workers a loop loads and computes by turns: however fast its loader is
    alone, it waits as long as it loads. Where that is too long, the search leaves such
    configs out, unless there are no others.

    Args:
        configs: what may be chosen.
        example_s: seconds to read an example in one process.
        step_examples_per_s: what the step takes alone.
    """
    step_s = 1 / max(step_examples_per_s, 1e-9)
    fed = [item for item in configs if item.num_workers]
    waits = example_s / max(example_s + step_s, 1e-12)
    return tuple(fed if fed and waits > ALONE_WAIT_SHARE else configs)


def check_one_size(sizes: Sequence[int | None]) -> None:
    """Check that a step is to be kept fed with batches of one size.

    Raises:
        UsageError: it would take another rate with each.
    """
    if len(sizes) > 1:
        named = ", ".join(str(size) for size in sizes)
        msg = f"--target step needs one batch size, and {named} are searched"
        hint = f"name the one you train with: --batch-size {sizes[0]}"
        raise UsageError(msg, hint=hint)
