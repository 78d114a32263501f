"""Draw what each batch of a simulated pass costs whoever makes it.

What an example costs stands in `search.simulated`; when batches arrive is worked out by
`search.events`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autoloader.search.simulated import Cost, SimulatedLoader

_ROUND_UP = 256  # batches whose costs are drawn at once: few lengths, many hits


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """How the costs of examples are drawn."""

    seed: int = 0
    """Of the examples' costs: batch k of a size costs the same CPU time in each pass,
    for all passes of a study read the same list."""
    turn: int = 0
    """Which pass it is: for what it waits, that is drawn anew."""
    period: int | None = None
    """Batches after which the drawn costs come again, scaled to have the mean that they
    should; None: none comes again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What each batch of a pass costs whoever makes it."""

    counts: tuple[int, ...]
    """Examples of each batch."""
    cpu_s: list[float]
    """CPU seconds of it."""
    wait_s: list[float]
    """Seconds of waiting at no one's expense."""


def work_of(
    loader: SimulatedLoader,
    size: int,
    counts: tuple[int, ...],
    draws: Draws,
) -> Work:
    """Return what each batch costs.

    Args:
        loader: what examples cost.
        size: examples of a whole batch.
        counts: examples of each batch.
        draws: how the costs are drawn.
    """
    needed = draws.period or len(counts)
    drawn = -(-needed // _ROUND_UP) * _ROUND_UP
    turns = np.arange(len(counts)) % max(needed, 1)
    shares = np.asarray(counts) / size
    making_s = np.asarray([loader.making_s(count) for count in counts])
    costs = []
    streams = (
        (loader.example_cpu, (draws.seed,)),
        (loader.example_wait, (draws.seed, draws.turn)),
    )
    for cost, stream in streams:
        sums = _sums(cost, size, drawn, stream)[:needed]
        if draws.period and cost.mean_s:
            sums = sums * (size * cost.mean_s / float(sums.mean()))
        costs.append(sums[turns] * shares)
    cpu_s, wait_s = costs[0] + making_s, costs[1]
    return Work(counts=counts, cpu_s=cpu_s.tolist(), wait_s=wait_s.tolist())


@lru_cache(maxsize=64)
def _sums(
    cost: Cost, size: int, batches: int, stream: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the cost of each of so many batches; a longer list begins alike."""
    rng = np.random.default_rng([size, *stream])
    sums: NDArray[np.float64] = cost.draw(rng, (batches, size)).sum(axis=1)
    return sums
