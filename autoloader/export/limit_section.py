"""The section `limit` of a recommendation: what no setting exceeds here, and why.

Gathers what a study saw; which limit that speaks for is `measure.limits`'. Of several
ranks it is that of one, on its share of the CPUs, with the others beside it.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from autoloader.measure.advice import advice_for
from autoloader.measure.limits import name_limit
from autoloader.measure.observed import Observed
from autoloader.measure.stage_costs import stage_costs
from autoloader.measure.throughput import epoch_rate, ranks_of
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.values.ceiling import HotFunction
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome, Reading
    from autoloader.values.scope import DatasetFacts


def limit_section(
    chosen: LoaderConfig,
    outcomes: Iterable[Outcome],
    *,
    facts: DatasetFacts,
    cpus: float,
    workers: tuple[int, int],
    machine_cpus: float | None = None,
    hot: Sequence[HotFunction] = (),
    step_s: float | None = None,
) -> dict[str, Any] | None:
    """Return the section; None where no config of the chosen batch size was read.

    Args:
        chosen: the config that is recommended.
        outcomes: of the study.
        facts: what one process measured.
        cpus: that the loader may use.
        workers: fewest and most that were allowed.
        machine_cpus: CPUs of the whole machine; None: other programs are not looked at.
        hot: functions that carry the time of reading.
        step_s: seconds of the training step for an example; None: there is none.
    """
    measured = [
        item
        for item in outcomes
        if item.status is Status.MEASURED
        and item.config.batch_size == chosen.batch_size
    ]
    readings = _best_by_workers(measured)
    if not readings:
        return None
    ceilings = tuple(item.ceiling for item in measured if item.ceiling is not None)
    costs = stage_costs(facts, ceilings)
    seen = Observed(
        cpus=cpus,
        costs=costs,
        readings=readings,
        ceilings=ceilings,
        least_workers=workers[0],
        most_workers=workers[1],
        machine_cpus=machine_cpus,
        reads_bytes=facts.access is not None and facts.access.source != "memory",
        step_s=step_s,
        compute_growth=max(
            (item.compute_growth for item in ceilings if item.compute_growth),
            default=None,
        ),
    )
    limit = name_limit(seen)
    return {
        **limit.to_dict(),
        "stages": costs.to_dict(),
        "functions": [item.to_dict() for item in hot],
        "advice": [
            item.to_dict() for item in advice_for(limit, seen, facts=facts, hot=hot)
        ],
    }


def _best_by_workers(measured: Iterable[Outcome]) -> dict[int, tuple[Reading, ...]]:
    """Return the readings of the best config of each number of workers.

    Kept workers and fresh ones are not mixed: what start-up costs would be blurred. Of
    a config that was raced only the race counts: the best of many single readings is
    the luckiest.
    """
    best: dict[int, tuple[float, tuple[Reading, ...]]] = {}
    for item in measured:
        readings = tuple(map(_of_one, item.raced))
        if not readings:
            continue
        rate = median(map(epoch_rate, readings))
        known = best.get(item.config.num_workers)
        if known is None or rate > known[0]:
            best[item.config.num_workers] = (rate, readings)
    return {workers: found for workers, (_, found) in best.items()}


def _of_one(reading: Reading) -> Reading:
    """Return the reading of one training process, with its part of what others took."""
    ranks = ranks_of(reading)
    if len(ranks) == 1:
        return reading
    return replace(
        ranks[0],
        own_cpu=fmean(item.own_cpu for item in ranks),
        foreign_cpu=reading.foreign_cpu / len(ranks),
        stolen_cpu=reading.stolen_cpu / len(ranks),
    )
