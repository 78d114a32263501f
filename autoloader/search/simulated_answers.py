"""Simulate how each config of a space does where nothing disturbs it.

A window of a simulation is one draw: where costs have heavy tails, its rate is a matter
of luck, and one worker more or less would seem to change it by a tenth. What is handed
back is the rate that the luck is taken out of: every config meets the same costs, once
each, and rates of nearly as many workers are averaged.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from autoloader.search.batch_costs import Draws
from autoloader.search.events import simulate
from autoloader.search.prediction import need_of
from autoloader.search.simulated import Cost
from autoloader.search.tables import Answer, epoch_counts
from autoloader.values.job import PassPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from autoloader.search.events import SimulatedPass
    from autoloader.search.simulated import SimulatedLoader
    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts, Scope

WINDOW_BATCHES = 600
"""Least batches of the window from which a rate is taken."""

WINDOW_WAVES = 12
"""Least waves of it."""

MORE_WAVES = 128
"""Further waves where batches differ by as much as they take; in proportion below: what
an uneven batch holds up grows with the workers."""

NEAR = 0.2
"""Most that workers may differ, as a log ratio, for their rates to be averaged."""

PROCESS_BYTES = 200_000_000
"""Memory that a simulated training process takes, batches aside."""

WORKER_BYTES = 80_000_000
"""Memory that each simulated worker adds, batches aside."""


def simulated_answers(
    loader: SimulatedLoader,
    configs: Iterable[LoaderConfig],
    *,
    facts: DatasetFacts,
    scope: Scope,
) -> dict[LoaderConfig, Answer]:
    """Return how configs do in a simulation without noise.

    A real epoch that is no longer than the window is simulated whole.

    Args:
        loader: what examples cost.
        configs: those that are asked for; the more of them differ in their workers
            alone, the less luck is left in the answers.
        facts: sizes of an example.
        scope: length of an epoch.
    """
    found: dict[LoaderConfig, Answer] = {}
    long: list[LoaderConfig] = []
    for config in dict.fromkeys(configs):
        size = _size(config, facts)
        counts = epoch_counts(scope, size)
        if 0 < len(counts) <= WINDOW_BATCHES:
            seen = _whole(loader, config, counts, size)
            found[config] = _answer(loader, config, seen, facts)
        else:
            long.append(config)
    for config, batch_s in _steady_s(loader, long, facts).items():
        found[config] = _long_answer(loader, config, batch_s, facts)
    return found


def _whole(
    loader: SimulatedLoader, config: LoaderConfig, counts: tuple[int, ...], size: int
) -> SimulatedPass:
    """Return an epoch from start to end."""
    plan = PassPlan(warm_batches=1, steady_batches=0, tail_batches=0, epochs=1)
    return simulate(
        loader,
        config,
        plan,
        epoch_counts=counts,
        batch_examples=size,
        draws=Draws(period=len(counts)),
    )


def _answer(
    loader: SimulatedLoader,
    config: LoaderConfig,
    seen: SimulatedPass,
    facts: DatasetFacts,
    *,
    warm: int = 1,
    batch_s: float | None = None,
) -> Answer:
    """Return what a pass tells of a config.

    Args:
        loader: what examples cost.
        config: what was simulated.
        seen: the pass.
        facts: sizes of an example.
        warm: batches after which the queue rules it.
        batch_s: seconds from batch to batch afterwards; None: as in this pass.
    """
    arrivals = seen.arrivals_s
    steps = len(arrivals) - warm
    own_s = (arrivals[-1] - arrivals[warm - 1]) / steps if steps else 0.0
    own_s = own_s or arrivals[0]
    step_s = batch_s or own_s
    first_s = arrivals[warm - 1] - (warm - 1) * own_s
    return Answer(
        first_s=max(first_s, step_s / 100),
        batch_s=step_s,
        end_s=seen.total_s - arrivals[-1],
        start_s=_start_s(loader, config, step_s),
        batch_scatter=loader.batch_scatter(_size(config, facts)),
        own_cpu=seen.cpu_s / seen.total_s * own_s / step_s,
        peak_bytes=PROCESS_BYTES
        + WORKER_BYTES * config.num_workers
        + need_of(config, facts).total_bytes,
    )


def _long_answer(
    loader: SimulatedLoader, config: LoaderConfig, batch_s: float, facts: DatasetFacts
) -> Answer:
    """Return the answer of a config whose steady rate is known.

    How it starts is simulated with equal costs: luck would be taken for a start.
    """
    even = replace(
        loader,
        example_cpu=Cost(mean_s=loader.example_cpu.mean_s),
        example_wait=Cost(mean_s=loader.example_wait.mean_s),
    )
    wave = max(config.num_workers, 1)
    depth = config.prefetch_factor or 0
    warm = (depth + 2) * wave
    plan = PassPlan(warm_batches=warm, steady_batches=2 * wave, tail_batches=0)
    seen = simulate(even, config, plan, batch_examples=_size(config, facts))
    return _answer(loader, config, seen, facts, warm=warm, batch_s=batch_s)


def _steady_s(
    loader: SimulatedLoader, configs: Iterable[LoaderConfig], facts: DatasetFacts
) -> dict[LoaderConfig, float]:
    """Return the seconds from batch to batch, once the queue rules a pass.

    Workers that are kept do as others do, from there on.
    """
    kept = {
        config: replace(config, persistent_workers=config.num_workers > 0)
        for config in configs
    }
    steps = {
        config: _window_s(loader, config, facts)
        for config in dict.fromkeys(kept.values())
    }
    families: dict[tuple[int | None, bool, int | None], dict[int, float]] = {}
    for config, batch_s in steps.items():
        families.setdefault(_family(config), {})[config.num_workers] = batch_s
    smooth = {
        family: _smoothed(known, min(NEAR, loader.unevenness(family[2] or 1)))
        for family, known in families.items()
    }
    return {config: smooth[_family(config)][config.num_workers] for config in kept}


def _family(config: LoaderConfig) -> tuple[int | None, bool, int | None]:
    """Return what configs have in common that differ in their workers alone."""
    return (config.prefetch_factor, config.pin_memory, config.batch_size)


def _window_s(
    loader: SimulatedLoader, config: LoaderConfig, facts: DatasetFacts
) -> float:
    """Return the mean seconds from batch to batch in a window of a long pass.

    The costs come again after as many batches as the window has, so that those of each
    are met once in it, wherever it begins.
    """
    size = _size(config, facts)
    wave = max(config.num_workers, 1)
    depth = config.prefetch_factor or 0
    waves = math.ceil(WINDOW_WAVES + MORE_WAVES * loader.unevenness(size))
    window = max(WINDOW_BATCHES, waves * wave)
    warm = (depth + 2) * wave
    plan = PassPlan(warm_batches=warm, steady_batches=window, tail_batches=depth * wave)
    arrivals = simulate(
        loader, config, plan, batch_examples=size, draws=Draws(period=window)
    ).arrivals_s
    return (arrivals[warm + window - 1] - arrivals[warm - 1]) / window


def _smoothed(steps: Mapping[int, float], near: float) -> dict[int, float]:
    """Return seconds by workers, each the middle of what nearly as many take.

    A line through logarithms, of which neighbours weigh less with their distance, as in
    Cleveland's local regression (1979).

    Args:
        steps: seconds from batch to batch by workers.
        near: log ratio of workers at which a neighbour weighs nothing any more.
    """
    workers = np.array([max(count, 0.5) for count in steps])
    logs = np.log(np.array(list(steps.values())))
    found: dict[int, float] = {}
    for place, count in enumerate(steps):
        away = np.log(workers / workers[place])
        far = np.minimum(np.abs(away) / max(near, 1e-9), 1.0)
        weights = (1 - far**3) ** 3
        found[count] = math.exp(_line_at_0(away, logs, weights))
    return found


def _line_at_0(
    places: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """Return where a weighted line through points passes 0."""
    share = weights / weights.sum()
    middle, value = float(share @ places), float(share @ values)
    spread = float(share @ (places - middle) ** 2)
    if spread < 1e-12:
        return value
    slope = float(share @ ((places - middle) * (values - value))) / spread
    return value - slope * middle


def _size(config: LoaderConfig, facts: DatasetFacts) -> int:
    return int(config.batch_size or facts.batch_examples)


def _start_s(loader: SimulatedLoader, config: LoaderConfig, batch_s: float) -> float:
    """Return what the first, short epoch of kept workers takes."""
    if not config.persistent_workers:
        return 0.0
    workers = config.num_workers
    crowd = max(1.0, workers / loader.cores)
    return workers * (loader.fork_s + batch_s) + loader.start_s * crowd
