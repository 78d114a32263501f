"""What is believed of every config's rate, after some were read.

A Gaussian process on log rates around the cost model: neighbours in workers do alike,
and each other knob has an effect that changes slowly with the workers. What the cost
model does not know, and how much readings scatter, is weighed by how well it explains
the readings (marginal likelihood). `draw` returns rates of all configs at once as they
may be: each draw is one possible truth, and whatever is asked (which config is best,
which is the simplest that is enough) is asked of each and counted.

Method: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, sections
2.2 and 5.4; draws by Matheron's rule (Wilson et al., 2020).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autoloader.search.cost_model import unknowns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from autoloader.search.cost_model import CostModel
    from autoloader.values.config import LoaderConfig

    Floats = NDArray[np.float64]

    _Seen = tuple[tuple[int, tuple[float, ...]], ...]

DRAWS = 256
"""Possible truths that a question is asked of."""

SCATTERS = (0.02, 0.05, 0.1, 0.2)
"""Deviations of the log of one reading that are considered."""

SCATTER_ODDS = (0.25, 0.35, 0.3, 0.1)
"""How likely each is, before any reading."""

SCALES = (0.5, 1.0, 2.0)
"""Factors of the deviations below that are considered."""

SCALE_ODDS = (0.35, 0.45, 0.2)
"""How likely each is, before any reading."""

WORKERS_SD, WORKERS_REACH = 0.12, 1.2
"""Deviation of the log rate from the cost model by workers, and over how many doublings
of them it changes."""

NO_WORKERS_SD = 0.3
"""The same for the step from no worker to one: batches are handed over from there."""

KNOB_SD = {
    "persistent_workers": 0.12,
    "pin_memory": 0.15,
    "prefetch_factor": 0.05,
    "batch_size": 0.1,
}
"""Deviations of the log rate by each other knob."""

BATCH_REACH = 2.0
"""Doublings of the batch size over which its effect changes."""

TOGETHER = 0.6
"""How much of a knob's effect is of its own at each number of workers."""

TOGETHER_REACH = 1.5
"""Over how many doublings of workers that changes."""

ROUGHNESS = 0.01
"""Deviation of each config that nothing explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hypothesis:
    """One scatter and one scale, with what each value of the unknowns is worth."""

    scatter: float
    scale: float
    odds: Floats
    """Log weight of each value of the unknowns, (H,)."""
    factor: Floats
    """Lower Cholesky factor of the readings' covariance, (n, n)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeats:
    """How further readings of the same configs scatter around their means."""

    count: int
    """Readings beyond the first of each config."""
    squares: float
    """Sum of squared deviations of logs from their config's mean."""

    def log_likelihood(self, scatter: float) -> float:
        """Return how well a scatter explains them, up to a constant."""
        return -self.squares / (2 * scatter**2) - self.count * math.log(scatter)


class Belief:
    """Rates of all configs of a space, as far as they are known.

    Args:
        configs: N settings, in any order.
        model: cost model, the mean of the process.
        seed: of the draws: the same readings give the same draws.
    """

    def __init__(
        self, configs: Sequence[LoaderConfig], model: CostModel, *, seed: int = 0
    ) -> None:
        self.configs = tuple(configs)
        values, self._odds = unknowns()
        self._means = model.log_rates(self.configs, values)
        self._kernel = _Kernel(self.configs)
        self._seed = seed % 2**64
        rng = np.random.default_rng([self._seed, 0])
        self._residuals = self._kernel.draw(rng, DRAWS)
        self._places = {config: place for place, config in enumerate(self.configs)}
        self._last: tuple[_Seen, Floats] | None = None  # what was asked, the answer

    def __contains__(self, config: object) -> bool:
        """Whether a config is one of those that rates are drawn of."""
        return config in self._places

    def draw(self, readings: Mapping[LoaderConfig, Sequence[float]]) -> Floats:
        """Return `DRAWS` possible truths of the log rates of all configs.

        The last answer is kept: between two readings a race asks several times.

        Args:
            readings: rates of configs of the space, examples a second, above 0.

        Returns:
            (DRAWS, N), of which each row is as likely as the others; read-only.
        """
        asked = tuple(
            (self._places[key], tuple(rates))
            for key, rates in readings.items()
            if rates
        )
        if self._last is None or self._last[0] != asked:
            draws = self._given(asked)
            draws.setflags(write=False)
            self._last = (asked, draws)
        return self._last[1]

    def _given(self, seen: _Seen) -> Floats:
        """Return the possible truths after some readings."""
        places = np.array([place for place, _ in seen], dtype=int)
        counts = np.array([len(rates) for _, rates in seen], dtype=float)
        read = np.array([np.log(rates).mean() for _, rates in seen])
        within = sum(
            float(((np.log(r) - np.log(r).mean()) ** 2).sum()) for _, r in seen
        )
        repeats = _Repeats(count=int(counts.sum()) - len(seen), squares=within)
        hypotheses = self._weighed(places, counts, read, repeats)
        return self._drawn(hypotheses, places, counts, read)

    def _weighed(
        self,
        places: NDArray[np.int_],
        counts: Floats,
        read: Floats,
        repeats: _Repeats,
    ) -> list[_Hypothesis]:
        """Return every scatter and scale, with the odds of the unknowns under it."""
        found = []
        off = read - self._means[:, places]
        between = self._kernel.between(places, places)
        grid = itertools.product(
            zip(SCATTERS, SCATTER_ODDS, strict=True),
            zip(SCALES, SCALE_ODDS, strict=True),
        )
        for (scatter, scatter_odds), (scale, scale_odds) in grid:
            covariance = scale**2 * between + np.diag(scatter**2 / counts)
            factor = np.linalg.cholesky(covariance).astype(np.float64)
            whitened = np.linalg.solve(factor, off.T)
            likelihood = (
                -0.5 * (whitened**2).sum(axis=0) - np.log(factor.diagonal()).sum()
            )
            prior = math.log(scatter_odds * scale_odds)
            odds = self._odds + likelihood + repeats.log_likelihood(scatter) + prior
            found.append(
                _Hypothesis(scatter=scatter, scale=scale, odds=odds, factor=factor)
            )
        return found

    def _drawn(
        self,
        hypotheses: list[_Hypothesis],
        places: NDArray[np.int_],
        counts: Floats,
        read: Floats,
    ) -> Floats:
        rng = np.random.default_rng([self._seed, 1])  # the same for the same readings
        odds = np.concatenate([item.odds for item in hypotheses])
        weights = np.exp(odds - odds.max())
        chosen = rng.choice(len(odds), size=DRAWS, p=weights / weights.sum())
        which, unknown = np.divmod(chosen, len(self._odds))
        draws = self._means[unknown]
        across = self._kernel.between(np.arange(len(self.configs)), places)
        for number, item in enumerate(hypotheses):
            rows = np.flatnonzero(which == number)
            if not rows.size:
                continue
            residuals = item.scale * self._residuals[rows]
            noise = rng.normal(size=(rows.size, places.size))
            seen = draws[rows][:, places] + residuals[:, places]
            surprise = read - seen - noise * item.scatter / np.sqrt(counts)
            solved = np.linalg.solve(
                item.factor.T, np.linalg.solve(item.factor, surprise.T)
            )
            draws[rows] += residuals + (item.scale**2 * across @ solved).T
        return draws


class _Kernel:
    """Covariance of the log rates of configs, around the cost model."""

    def __init__(self, configs: Sequence[LoaderConfig]) -> None:
        self._workers, self._worker = np.unique(
            [config.num_workers for config in configs], return_inverse=True
        )
        kinds = sorted({_others(config) for config in configs})
        self._kind = np.array([kinds.index(_others(config)) for config in configs])
        self._by_workers = _workers_kernel(self._workers)
        self._by_others = _others_kernel(kinds)
        self._near = _matern(_doublings(self._workers), TOGETHER_REACH)

    def between(
        self, some: NDArray[np.int_], others: NDArray[np.int_]
    ) -> NDArray[np.float64]:
        """Return the covariance of configs, by their places."""
        ways = np.ix_(self._worker[some], self._worker[others])
        kinds = np.ix_(self._kind[some], self._kind[others])
        knobs = self._by_others[kinds]
        own = (some[:, None] == others[None, :]) * ROUGHNESS**2
        together = TOGETHER * self._near[ways] + (1 - TOGETHER)
        found: Floats = self._by_workers[ways] + knobs * together + own
        return found

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Return draws of the process, (count, N), before any reading."""
        ways, kinds = _root(self._by_workers), _root(self._by_others)
        near = _root(self._near)
        by_workers = rng.normal(size=(count, len(self._workers))) @ ways.T
        shape = (count, len(kinds))
        by_others = rng.normal(size=shape) @ kinds.T
        both = near @ rng.normal(size=(count, len(self._workers), len(kinds)))
        both = both @ kinds.T
        found: Floats = (
            by_workers[:, self._worker]
            + math.sqrt(1 - TOGETHER) * by_others[:, self._kind]
            + math.sqrt(TOGETHER) * both[:, self._worker, self._kind]
            + ROUGHNESS * rng.normal(size=(count, len(self._worker)))
        )
        return found


def _others(config: LoaderConfig) -> tuple[bool, bool, int, int]:
    """Return all knobs but the workers."""
    return (
        config.persistent_workers,
        config.pin_memory,
        config.prefetch_factor or 0,
        config.batch_size or 0,
    )


def _workers_kernel(workers: NDArray[np.int_]) -> Floats:
    some = workers > 0
    smooth = WORKERS_SD**2 * _matern(_doublings(workers), WORKERS_REACH)
    none = NO_WORKERS_SD**2 * np.outer(~some, ~some)
    found: Floats = np.where(np.outer(some, some), smooth, 0.0) + none
    return found


def _others_kernel(kinds: Sequence[tuple[bool, bool, int, int]]) -> Floats:
    kept, pinned, prefetch, batch = np.array(kinds, dtype=float).T
    sizes = _matern(np.log2(np.maximum(batch, 1.0)), BATCH_REACH)
    found: Floats = (
        KNOB_SD["persistent_workers"] ** 2 * _alike(kept)
        + KNOB_SD["pin_memory"] ** 2 * _alike(pinned)
        + KNOB_SD["prefetch_factor"] ** 2 * _alike(prefetch)
        + KNOB_SD["batch_size"] ** 2 * sizes
    )
    return found


def _alike(values: Floats) -> Floats:
    found: Floats = (values[:, None] == values[None, :]).astype(float)
    return found


def _matern(places: Floats, reach: float) -> Floats:
    """Return correlations that fall with distance: Matern's, once differentiable."""
    far = math.sqrt(3) * np.abs(places[:, None] - places[None, :]) / reach
    found: Floats = (1 + far) * np.exp(-far)
    return found


def _doublings(workers: NDArray[np.int_]) -> Floats:
    found: Floats = np.log2(np.maximum(workers, 0.5))
    return found


def _root(covariance: Floats) -> Floats:
    found: Floats = np.linalg.cholesky(
        covariance + 1e-10 * np.eye(len(covariance)) * max(1.0, covariance.max())
    )
    return found
