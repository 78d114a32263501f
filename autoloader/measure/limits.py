"""Name what limits a loader, with its evidence and the rate that it does not exceed.

Pure: costs, ceilings and readings in, one named limit out. Nothing is named which the
readings do not show: a ceiling by costs is a limit only where the fastest config comes
near it; a rate that more workers still raise is limited by none of them; and what
others took, or nobody looked at, is said to be why nothing is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from autoloader.measure.stage_costs import cached_rate
from autoloader.measure.throughput import has_steady_window
from autoloader.units import counted, format_cost, format_rate
from autoloader.values.decode import Stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.measure.observed import Observed

NEAR = 0.85
"""Part of a ceiling that the fastest config must reach for it to be the limit."""

BUSY = 0.85
"""Part of the CPUs in use from which on they count as used up: workers that compute
wait for the training process and for each other some of the time."""

OWN = 0.4
"""Part of the CPUs that the loader itself must use for them to be its limit."""

LARGE = 0.5
"""Part of an example's CPU time that the stage which is named must have, where the
others were not looked at."""

WAITS = 0.7
"""Part of the CPUs that reading processes could use, up to which they count as waiting:
between this and `BUSY` neither is said."""

LEVEL = 0.1
"""Gain by more workers that is none: single readings differ by as much. Of many more
workers, this part of what they could gain."""

START_SHARE = 0.2
"""Part of an epoch that start and end of workers must take to be the limit: it would be
1.25 times as fast without them."""

INFLATED = 1.5
"""Growth of an example's CPU seconds beyond what computing alone grows by on as many
CPUs, from which on memory is taken to be the cause. A quarter was seen where others
computed on the other half of a core."""


class LimitName(StrEnum):
    """What can limit a loader."""

    STORAGE = "storage"
    TRANSFORM = "transform"
    COLLATE = "collate"
    HANDOVER = "hand-over"
    MEMORY_BANDWIDTH = "memory bandwidth"
    CONSUMER = "consumer"
    START_UP = "start-up"
    SPACE = "space"
    UNKNOWN = "unknown"


STAGES = (LimitName.TRANSFORM, LimitName.COLLATE, LimitName.HANDOVER)
"""Stages that use CPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Stored):
    """What no DataLoader setting exceeds here, and why."""

    name: LimitName
    """The limit; `space`: more workers than were allowed would still gain."""
    evidence: str
    """What was measured, in one sentence."""
    ceiling_examples_per_s: float | None
    """Epoch rate of one rank that no setting exceeds; None where none is known."""
    cached_examples_per_s: float | None
    """Rate of the same loader where examples are free; None: not measured."""


def name_limit(seen: Observed) -> Limit:
    """Return the limit of a loader: the first that what was seen speaks for.

    What is measured at its own place comes first (the step, the start of workers, the
    loader without reading); then the CPUs, where they are used up; what is left waits,
    unless others kept it from the CPUs.
    """
    found = (
        _consumer(seen)
        or _start_up(seen)
        or _loader_itself(seen)
        or _cpus(seen)
        or _others(seen)
        or _waiting(seen)
    )
    cached = seen.cached
    name, evidence, ceiling = found
    if seen.is_disturbed and not seen.waits_alone:
        evidence += f"; other programs had {seen.most_taken_cpus:.2f} CPUs"
        evidence += "" if ceiling is None else ": no ceiling is told"
        ceiling = None
    return Limit(
        name=name,
        evidence=evidence,
        ceiling_examples_per_s=ceiling,
        cached_examples_per_s=None if cached is None else cached_rate(cached),
    )


_Found = tuple[LimitName, str, float | None]


def _consumer(seen: Observed) -> _Found | None:
    """Return that the training step is slower than the loader."""
    if seen.step_s is None or not seen.step_s:
        return None
    ceiling, loader = 1 / seen.step_s, seen.rates[seen.fastest]
    if loader < ceiling:
        return None
    evidence = (
        f"the training step takes {format_rate(ceiling)} examples/s, the loader alone "
        f"gives {format_rate(loader)}"
    )
    return LimitName.CONSUMER, evidence, ceiling


def _start_up(seen: Observed) -> _Found | None:
    """Return that start and end of workers take a large part of the best epoch."""
    epochs, best = seen.epoch_rates, seen.fastest
    steady = seen.rates[best]
    if not best or not steady or not epochs[best]:
        return None
    if not any(map(has_steady_window, seen.readings[best])):
        evidence = (
            f"an epoch ends before {_workers(best)} have filled the queue: what longer "
            "ones would have is not told"
        )
        return LimitName.UNKNOWN, evidence, None
    lost = 1 - epochs[best] / steady
    if lost < START_SHARE:
        return None
    evidence = (
        f"start and end of {_workers(best)} take {lost * 100:.0f} % of an epoch: "
        f"{format_rate(steady)} examples/s between them, {format_rate(epochs[best])} "
        "over all of it"
    )
    return LimitName.START_UP, evidence, seen.reached


def _loader_itself(seen: Observed) -> _Found | None:
    """Return that the loader is hardly faster where examples are free."""
    cached = seen.cached
    if cached is None:
        return None
    ceiling, rate = cached_rate(cached), seen.rates[seen.fastest]
    if rate < NEAR * ceiling:
        return None
    stages = seen.costs.stages_cpu_s
    collate_s, sent_s = stages.get("collate", 0.0), stages.get("hand-over", 0.0)
    name = LimitName.COLLATE if collate_s > sent_s else LimitName.HANDOVER
    by = _workers(cached.num_workers)
    most = seen.reached if _is_all(seen) else None
    told = (
        f"{format_rate(rate)} examples/s were read with {_workers(seen.fastest)}, and "
        f"{format_rate(ceiling)} with {by} where examples are free"
    )
    if not cached.num_workers:  # which collates only: nothing is handed over
        cost_s = seen.costs.collate_cpu_s or 0.0
        evidence = f"{told}; collate takes {format_cost(cost_s)} of CPU time an example"
        return LimitName.COLLATE, evidence, most
    evidence = (
        f"{told}; of an example's CPU time, collate takes {format_cost(collate_s)} "
        f"beyond a copy, copy and hand-over {format_cost(sent_s)}"
    )
    return name, evidence, most


def _is_all(seen: Observed) -> bool:
    """Whether more workers are known to gain nothing: none are left, or no CPUs are."""
    return (
        seen.fastest >= seen.most_workers
        or seen.used_cpus >= BUSY * seen.cpus
        or _level_from(seen.rates) is not None
    )


def _cpus(seen: Observed) -> _Found | None:
    """Return which work uses up the CPUs that others leave, where they are used up."""
    used = seen.used_cpus
    if used < BUSY * seen.left_cpus or used < OWN * seen.cpus:
        return None
    rate = seen.rates[seen.fastest]
    ceiling = seen.reached_by_all_cpus
    told = (
        f"{used:.2f} of {seen.cpus:g} CPUs are used at {format_rate(rate)} examples/s"
    )
    grown = _grown(seen)
    if grown is not None:
        evidence = (
            f"{told}; an example takes {grown:.2f} times the CPU time that it takes in "
            f"one process, computing alone {seen.compute_growth:.2f} times"
        )
        return LimitName.MEMORY_BANDWIDTH, evidence, ceiling
    stages = seen.costs.stages_cpu_s
    largest = max(stages, key=stages.__getitem__)
    share = stages[largest] / max(seen.cpu_s_with(seen.fastest), sum(stages.values()))
    if len(stages) < len(STAGES) and share < LARGE:
        evidence = (
            f"{told}; reading has {share * 100:.0f} % of an example's CPU time, and "
            "there was no time to tell the rest apart: a longer --budget has it"
        )
        return LimitName.UNKNOWN, evidence, None
    evidence = f"{told}; {share * 100:.0f} % of an example's CPU time: {largest}"
    return LimitName(largest), evidence, ceiling


def _grown(seen: Observed) -> float | None:
    """Return the growth of an example's CPU time that computing does not explain.

    Beside what one process took when the reference was read, stands what it took among
    the trials, where it was one of them: the machine may be slower by now.
    """
    if seen.compute_growth is None or not seen.fastest or seen.is_disturbed:
        return None
    stages = seen.costs.stages_cpu_s
    beyond_s = sum(cost for name, cost in stages.items() if name != "transform")
    alone_s = max(sum(stages.values()), seen.cpu_s_with(0) + beyond_s)
    now_s = seen.cpu_s_with(seen.fastest)
    grown = now_s / alone_s if alone_s else 0.0
    return grown if grown >= INFLATED * max(1.0, seen.compute_growth) else None


def _others(seen: Observed) -> _Found | None:
    """Return that other programs use the CPUs up: workers may wait for these only."""
    if seen.machine_cpus is None or seen.waits_alone:
        return None
    idle = seen.machine_cpus - seen.used_cpus - seen.taken_cpus
    if idle > (1 - BUSY) * seen.machine_cpus:
        return None
    evidence = (
        f"{max(idle, 0.0):.2f} of {seen.machine_cpus:g} CPUs were left idle: workers "
        "may wait for these only"
    )
    return LimitName.UNKNOWN, evidence, None


def _waiting(seen: Observed) -> _Found:
    """Return what workers wait for while CPUs are idle."""
    rates, workers = seen.rates, seen.fastest
    rate, used = rates[workers], seen.used_cpus
    cpus = f"with {used:.2f} of {seen.cpus:g} CPUs used"
    level = _level_from(rates)
    if level is not None:
        evidence = (
            f"more processes than {level} gain nothing beyond {format_rate(rate)} "
            f"examples/s, {cpus}"
        )
        left = seen.cpus if seen.waits_alone else seen.left_cpus
        if used > WAITS * min(max(workers, 1), left):
            evidence += ": too many to say that workers wait, too few for a limit"
            return LimitName.UNKNOWN, evidence, None
        if not seen.reads_bytes:
            evidence += ": they wait for no file and no connection that was seen"
            return LimitName.UNKNOWN, evidence, None
        return LimitName.STORAGE, f"{evidence}: they wait", seen.reached
    if workers >= seen.most_workers:
        fewer = [rate for count, rate in rates.items() if 0 < count < workers]
        told = f", {rate / max(fewer):.2f} times the next fewer" if fewer else ""
        evidence = (
            f"{_workers(workers)}, the most allowed, give {format_rate(rate)} "
            f"examples/s{told}, {cpus}"
        )
        return LimitName.SPACE, evidence, None
    evidence = (
        f"{_workers(workers)} give {format_rate(rate)} examples/s, {cpus}, and too few "
        "numbers of workers were read to tell whether more would gain"
    )
    return LimitName.UNKNOWN, evidence, None


def _level_from(rates: Mapping[int, float]) -> int | None:
    """Return the fewest processes that read from which on more gain nothing.

    At least half as many more must have been read beyond them. None: they gain, or
    nobody looked.
    """
    best: dict[int, float] = {}
    for workers, rate in rates.items():
        count = max(workers, 1)
        best[count] = max(rate, best.get(count, 0.0))
    for count, rate in sorted(best.items()):
        beyond = [more for more in best if more >= count * 1.5]
        if (
            rate
            and beyond
            and all(
                best[more] / rate - 1 <= LEVEL * max(1.0, more / count - 1)
                for more in beyond
            )
        ):
            return count
    return None


def _workers(count: int) -> str:
    return counted(count, "worker") if count else "no workers"
