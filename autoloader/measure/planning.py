"""Decide what a timed pass reads: whole waves or whole epochs, within some seconds.

Pure: sizes, costs and an earlier reading in, a plan out. What a reading says is
`measure.throughput`'s.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from autoloader.measure.throughput import steady_rate, steady_window_s, warm_s
from autoloader.values.job import PassPlan

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Reading
    from autoloader.values.scope import DatasetFacts, Scope

WARM_WAVES = 2
"""Waves before the steady window: workers start and the queue fills."""

STEADY_WAVES = 4
"""Waves of a steady window, where seconds allow."""

STEADY_BATCHES = 8
"""Least batches of a steady window, for few workers."""

LEAST_WARM_S = 0.3
"""Seconds that a warm-up should last: where batches take 2 ms, two waves of them end
before the workers have copied the pages that they share with the process they were
forked from."""

LEAST_WINDOW_S = 1.0
"""Seconds that a steady window should last: hundreds of times what a scheduler lets a
process wait for a CPU, and more than a pass costs besides."""

MOST_BATCHES = 20_000
"""Batches of a pass, however fast they are."""

MOST_EPOCHS = 200
"""Epochs of a pass, however short they are."""

START_S = 0.06
"""Seconds that each worker adds to an epoch that starts it anew, its end included,
before any was seen. With nothing to read, 1 to 8 forked workers of a process with torch
loaded took 58 to 90 ms each, the least of 25 epochs on two cores in use by others."""

FIRST_STEPS = 1
"""Least steps of a training loop before its clock runs: the first builds the model.
What libraries do at the next is over with the waves that warm up."""

_SHORTER = ((2, 4), (2, 3), (2, 2), (1, 2), (1, 1))
"""Waves of warm-up and window, each pair tried where the one before takes too long."""


def wave_plan(num_workers: int, waves: int = STEADY_WAVES) -> PassPlan:
    """Return the batches of a pass whose steady window is made of whole waves.

    Batches arrive in waves of as many as there are workers; a window that cuts a wave
    is off by up to a wave. Without workers each batch is a wave of its own, and there
    is no tail because nothing runs ahead.

    Args:
        num_workers: workers of the loader, 0 or more.
        waves: least waves of the steady window; more where they hold too few batches.
    """
    wave = max(num_workers, 1)
    enough = -(-STEADY_BATCHES // wave)
    return _plan(num_workers, WARM_WAVES, max(waves, enough))


def plan_pass(
    config: LoaderConfig,
    *,
    facts: DatasetFacts,
    scope: Scope,
    cpus: float,
    limit_s: float,
    known: Reading | None = None,
) -> PassPlan:
    """Return what a timed pass of a config reads.

    The rule: two waves to warm up, four waves and at least eight batches as window.
    More where an earlier reading shows that they last less than `LEAST_WARM_S` and
    `LEAST_WINDOW_S`, as far as an epoch has room for them; fewer where they would take
    longer than `limit_s`. Where the user's whole epoch is no longer than that, whole
    epochs are read, one after the other, start and end of each included. A cold pass
    reads nothing twice.

    Args:
        config: what is timed.
        facts: costs of an example, from one process.
        scope: the list, and the length of an epoch.
        cpus: CPUs that the loader may use.
        limit_s: seconds that a pass should not exceed.
        known: an earlier reading of the config; None: it is the first.
    """
    batch_s = _batch_s(config, facts, cpus, known)
    plan = _long_enough(config, None if known is None else batch_s, limit_s)
    if plan.total * batch_s > limit_s:
        plan = _shortened(config.num_workers, batch_s, limit_s)
    is_cold = scope.cache == "cold"
    if is_cold and scope.of is not None:
        available = max(1, int(scope.examples / _examples(config, facts)))
        plan = _within(config.num_workers, plan, available)
    batches = _epoch_batches(config, facts, scope)
    if batches is None or batches > plan.total:
        return plan
    epochs = 1 if is_cold else _epochs(config, batches, batch_s, plan, limit_s, known)
    return replace(
        plan, warm_batches=_warm_within(config, plan, batches), epochs=epochs
    )


def loop_plan(config: LoaderConfig, *, batch_s: float, limit_s: float) -> PassPlan:
    """Return what a pass with the training step reads: whole waves, within the limit.

    Args:
        config: what feeds the step.
        batch_s: seconds from batch to batch of that loop, as far as they are known.
        limit_s: seconds that a pass should not exceed.
    """
    plan = _long_enough(config, batch_s, limit_s)
    if plan.total * batch_s > limit_s:
        plan = _shortened(config.num_workers, batch_s, limit_s)
    return plan


def loop_pass_s(config: LoaderConfig, *, batch_s: float, limit_s: float) -> float:
    """Return the seconds that such a pass takes, its first, untimed steps with it.

    Arguments are those of `loop_plan`.
    """
    plan = loop_plan(config, batch_s=batch_s, limit_s=limit_s)
    return batch_s * (plan.total + max(config.num_workers, FIRST_STEPS))


def expected_example_s(
    config: LoaderConfig, *, facts: DatasetFacts, cpus: float
) -> float:
    """Return the seconds from example to example, by the costs of one process."""
    at_once = max(1, config.num_workers)
    return max(facts.example_s / at_once, facts.example_cpu_s / max(cpus, 0.1))


def is_too_short(reading: Reading) -> bool:
    """Whether a reading is over so soon that a scheduler's whims decide it.

    What `plan_pass` would then make longer, that is; a list that is at its end is not.
    """
    if reading.epoch_ends_s:
        return (
            reading.total_s < LEAST_WINDOW_S / 2
            and len(reading.epoch_ends_s) < MOST_EPOCHS
            and reading.cache == "warm"
        )
    can_grow = (
        len(reading.arrivals_s) < MOST_BATCHES
        and reading.steady_batches > 0
        and len(reading.arrivals_s) >= reading.warm_batches + reading.steady_batches
        and reading.cache == "warm"
    )
    warming_s, window_s = warm_s(reading) or 0.0, steady_window_s(reading)
    return can_grow and (window_s < LEAST_WINDOW_S / 2 or warming_s < LEAST_WARM_S / 2)


def _plan(num_workers: int, warm: int, steady: int) -> PassPlan:
    wave = max(num_workers, 1)
    return PassPlan(
        warm_batches=warm * wave, steady_batches=steady * wave, tail_batches=num_workers
    )


def _long_enough(
    config: LoaderConfig, batch_s: float | None, limit_s: float
) -> PassPlan:
    """Return the waves of the rule, or as many as last long enough, within the limit.

    Args:
        config: what is timed.
        batch_s: seconds from batch to batch, as they were read; None: not known.
        limit_s: seconds that a pass should not exceed.
    """
    plan = wave_plan(config.num_workers)
    if batch_s is None:
        return plan
    wave = max(config.num_workers, 1)
    wave_s = max(batch_s * wave, 1e-9)
    room_s = max(limit_s - wave_s, 0.0) / (LEAST_WARM_S + LEAST_WINDOW_S)
    whole = math.ceil if room_s >= 1 else math.floor
    share = min(1.0, room_s)
    warm, steady = (
        min(max(batches // wave, whole(share * least_s / wave_s)), MOST_BATCHES // wave)
        for batches, least_s in (
            (plan.warm_batches, LEAST_WARM_S),
            (plan.steady_batches, LEAST_WINDOW_S),
        )
    )
    return _plan(config.num_workers, warm, steady)


def _examples(config: LoaderConfig, facts: DatasetFacts) -> float:
    """Return the examples of a batch."""
    return config.batch_size or facts.batch_examples


def _batch_s(
    config: LoaderConfig, facts: DatasetFacts, cpus: float, known: Reading | None
) -> float:
    """Return the seconds from batch to batch: read earlier, else predicted."""
    size = _examples(config, facts)
    rate = 0.0 if known is None else steady_rate(known)
    if rate > 0:
        return size / rate
    return size * expected_example_s(config, facts=facts, cpus=cpus)


def _shortened(num_workers: int, batch_s: float, limit_s: float) -> PassPlan:
    plans = [_plan(num_workers, warm, steady) for warm, steady in _SHORTER]
    return next((plan for plan in plans if plan.total * batch_s <= limit_s), plans[-1])


def _within(num_workers: int, plan: PassPlan, available: int) -> PassPlan:
    """Return the longest plan that reads no batch twice: whole waves, or all there is.

    All there is may cut a wave, so that the epoch rate is what to look at.
    """
    plans = [plan, *(_plan(num_workers, warm, steady) for warm, steady in _SHORTER)]
    warm = min(max(num_workers, 1), available - 1)
    all_there_is = PassPlan(
        warm_batches=warm, steady_batches=available - warm, tail_batches=0
    )
    return next((item for item in plans if item.total <= available), all_there_is)


def _epoch_batches(
    config: LoaderConfig, facts: DatasetFacts, scope: Scope
) -> int | None:
    """Return the batches of a real epoch; None where no end of it is known."""
    length = scope.epoch_examples
    if scope.of is None or length is None:
        return None
    if scope.stream is not None and scope.examples != length:
        return None  # it ends where it ends, whatever was said
    count = length / _examples(config, facts)
    return max(1, math.floor(count) if scope.drop_last else math.ceil(count))


def _warm_within(config: LoaderConfig, plan: PassPlan, batches: int) -> int:
    """Return the batches of an epoch that warm up: so few that a window is left.

    Where the time that a warm-up should last is longer than the epoch, two waves do;
    without a window, how fast batches come once workers are there would not be told.
    """
    wave = max(config.num_workers, 1)
    if plan.warm_batches + wave + config.num_workers <= batches:
        return plan.warm_batches
    return min(plan.warm_batches, wave_plan(config.num_workers).warm_batches)


def _epochs(
    config: LoaderConfig,
    batches: int,
    batch_s: float,
    plan: PassPlan,
    limit_s: float,
    known: Reading | None,
) -> int:
    """Return how many epochs make as long a pass as the plan would be."""
    if known is not None and known.epoch_ends_s:
        epoch_s = known.total_s / len(known.epoch_ends_s)
    else:
        starting = 0 if config.persistent_workers else config.num_workers
        epoch_s = batches * batch_s + starting * START_S
    epoch_s = max(epoch_s, 1e-6)
    wanted = max(round(plan.total / batches), math.ceil(LEAST_WINDOW_S / epoch_s))
    return max(1, min(wanted, int(limit_s / epoch_s), MOST_EPOCHS))
