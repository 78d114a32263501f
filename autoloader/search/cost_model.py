"""The cost model: what one process's costs say of the rate of any config.

Without workers an example takes its own time. With them, examples are read side by
side until something shared is used up: the CPUs, a disk, a store. Which, and how much
of it there is, one process cannot tell; the model therefore has a few unknowns, and the
readings of the study say which of their values are likely (`search.belief`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from autoloader.measure.planning import START_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from autoloader.values.config import LoaderConfig
    from autoloader.values.machine import Machine
    from autoloader.values.scope import DatasetFacts, Scope

LEAST_S = 1e-7
"""Seconds of an example that costs nothing measurable."""

KNEE = 6.0
"""How sharply a rate bends at its ceiling: the exponent of a generalised mean."""

SERIAL = (-0.7, -0.35, 0.0, 0.35, 0.7)
"""Log factors by which workers may be slower or faster than the single process."""

CEILING = (0.03, 0.06, 0.12, 0.2, 0.3, 0.42, 0.55, 0.7, 0.85, 1.0, 1.2, 1.6, 2.5, 4.0)
"""Factors of the rate that the CPUs alone would allow: below 1 where storage, memory or
the training process end it first, or where CPUs are halves of a core."""

DECLINE = (0.0, 0.15, 0.4, 1.0)
"""Log rate that is lost with each doubling of workers beyond the ceiling."""

MOST_WAVES = 5
"""Waves of an epoch up to which it counts that the last one is not full. Longer epochs
are read in part, and foretold as if they were smooth (`measure.throughput`)."""

OFF_CEILING = 0.7
"""Log deviation of the ceiling's factor from 1, before any reading."""

OFF_SERIAL = 0.3
"""Log deviation of the serial factor, before any reading."""

DECLINES = (0.7, 0.15, 0.1, 0.05)
"""How likely each decline is, before any reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Rates that follow from the cost of an example in one process."""

    example_s: float
    """Seconds of an example."""
    example_cpu_s: float
    """CPU seconds of it, all threads."""
    cpus: float
    """CPUs that the loader may use."""
    epoch_examples: int | None
    """Examples of an epoch; None where it has no known end."""
    batch_examples: float = 1.0
    """Examples of a batch, where a config does not say it."""
    at_once: int = 1
    """Loaders that run side by side, whose rates add up."""

    @classmethod
    def of(
        cls,
        facts: DatasetFacts,
        scope: Scope,
        machine: Machine,
        ranks: int = 1,
        *,
        at_once: int = 1,
    ) -> CostModel:
        """Return the model of a dataset on a machine.

        Args:
            facts: costs of an example.
            scope: what one loader reads.
            machine: where it runs.
            ranks: training processes that share its CPUs.
            at_once: those of them whose rates count together.
        """
        return cls(
            example_s=max(facts.example_s, LEAST_S),
            example_cpu_s=max(min(facts.example_cpu_s, facts.example_s), LEAST_S),
            cpus=max(machine.effective_cpus / ranks, 0.1),
            epoch_examples=scope.epoch_examples,
            batch_examples=max(facts.batch_examples, 1.0),
            at_once=at_once,
        )

    def examples_per_s(self, config: LoaderConfig) -> float:
        """Return the predicted rate of a config, unknowns at their likeliest."""
        found = self.log_rates([config], np.zeros((1, 3)))
        return math.exp(found[0, 0])

    @property
    def ceiling_examples_per_s(self) -> float:
        """Rate at which the CPUs are used up, were nothing else shared."""
        return self.at_once * self.cpus / self.example_cpu_s

    def error(self, readings: Mapping[LoaderConfig, Sequence[float]]) -> float | None:
        """Return how far predictions were off, as a factor less 1; None: nothing read.

        The median over configs of the larger of predicted to read and read to
        predicted: 0.2 says that half of the predictions were within 20 %.
        """
        off = [
            abs(math.log(self.examples_per_s(config)) - fmean(map(math.log, rates)))
            for config, rates in readings.items()
        ]
        return math.expm1(median(off)) if off else None

    def log_rates(
        self, configs: Sequence[LoaderConfig], unknowns: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return log epoch rates.

        Args:
            configs: N settings.
            unknowns: (H, 3): log factor of the serial rate, log factor of the ceiling,
                log rate lost by doubling the workers beyond it.

        Returns:
            (H, N): logarithms of examples a second.
        """
        workers = np.array([config.num_workers for config in configs], dtype=float)
        at_once = np.maximum(workers, 1.0)
        serial, ceiling, decline = (unknowns[:, [place]] for place in range(3))
        wanted = serial * (workers > 0) + np.log(at_once / self.example_s)
        most = ceiling + math.log(self.cpus / self.example_cpu_s)
        beyond = np.maximum(wanted - most, 0.0) / math.log(2)
        wanted = wanted - self._log_waves_lost(configs, at_once)
        bent = -np.logaddexp(-KNEE * wanted, -KNEE * most) / KNEE
        rates: NDArray[np.float64] = np.where(workers > 0, bent, wanted)
        rates = rates - decline * beyond * (workers > 0)
        started = np.array(
            [0.0 if config.persistent_workers else START_S for config in configs]
        )
        if self.epoch_examples is None:
            return rates + math.log(self.at_once)
        epoch_s = self.epoch_examples / np.exp(rates)
        rates -= np.log1p(started * workers / np.maximum(epoch_s, LEAST_S))
        return rates + math.log(self.at_once)

    def _log_waves_lost(
        self, configs: Sequence[LoaderConfig], at_once: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log factor by which a last wave that is not full slows an epoch.

        Batches go to workers by turns: 64 batches take 21 workers as many waves as 16
        of them, four, and 22 workers three. Beyond a worker for each batch, more are of
        no use.

        Args:
            configs: N settings.
            at_once: (N,): processes of each that read.

        Returns:
            (N,): logarithms, 0 where nothing is lost.
        """
        if self.epoch_examples is None:
            return np.zeros(len(configs))
        sizes = np.array([item.batch_size or self.batch_examples for item in configs])
        waves = np.maximum(np.ceil(self.epoch_examples / sizes), 1.0) / at_once
        lost = np.where(waves <= MOST_WAVES, np.log(np.ceil(waves) / waves), 0.0)
        return np.asarray(lost, dtype=np.float64)


def unknowns() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the model does not know, (H, 3), and its log odds, (H,)."""
    values, odds = [], []
    places = itertools.product(SERIAL, CEILING, zip(DECLINE, DECLINES, strict=True))
    for serial, ceiling, (decline, share) in places:
        values.append((serial, math.log(ceiling), decline))
        odds.append(
            math.log(share)
            - (math.log(ceiling) / OFF_CEILING) ** 2 / 2
            - (serial / OFF_SERIAL) ** 2 / 2
        )
    return np.array(values), np.array(odds)
