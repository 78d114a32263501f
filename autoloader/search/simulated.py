"""What a simulated dataset and machine cost: the parts that a loader's rate comes from.

Values only; they are set against each other by discrete events in `search.events`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds that an example takes of something, and how they scatter."""

    mean_s: float
    """Mean over the examples."""
    shape: Literal["constant", "lognormal", "pareto"] = "constant"
    tail: float = 0.0
    """Of `lognormal` the deviation of the logarithm; of `pareto` the exponent, which
    must be above 2 for the scatter to be finite."""

    def __post_init__(self) -> None:
        """Check that mean and scatter are finite."""
        if not 0 <= self.mean_s < math.inf:
            msg = f"mean_s must be at least 0, got {self.mean_s:g}"
            raise ValueError(msg)
        if self.shape == "pareto" and not self.tail > 2:
            msg = f"tail of a pareto cost must be above 2, got {self.tail:g}"
            raise ValueError(msg)

    @property
    def scatter(self) -> float:
        """Deviation of an example's cost, as a share of the mean."""
        match self.shape:
            case "constant":
                return 0.0
            case "lognormal":
                return math.sqrt(math.expm1(self.tail**2))
            case "pareto":
                return 1 / math.sqrt(self.tail * (self.tail - 2))

    def draw(
        self, rng: np.random.Generator, shape: tuple[int, int]
    ) -> NDArray[np.float64]:
        """Return costs of independent examples, in seconds."""
        match self.shape:
            case "constant":
                return np.full(shape, self.mean_s)
            case "lognormal":
                middle = math.log(self.mean_s) - self.tail**2 / 2
                return rng.lognormal(middle, self.tail, shape)
            case "pareto":
                least_s = self.mean_s * (self.tail - 1) / self.tail
                return least_s * (1 + rng.pareto(self.tail, shape))


NOTHING = Cost(mean_s=0.0)
"""What costs no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLoader:
    """What a dataset costs, and the machine that it is read on."""

    cores: float
    """CPUs that the loader may use; what runs shares them evenly."""
    example_cpu: Cost
    """CPU seconds of one example."""
    example_wait: Cost = NOTHING
    """Seconds that it waits, for a network, say: any number of workers may at once."""
    store_s: float = 0.0
    """Seconds for which it has the store to itself: 1 / store_s is the ceiling."""
    store_crowding: float = 0.0
    """By how much each further worker that stands at the store slows it down."""
    switching: float = 0.0
    """How much slower all run where twice as many run as there are cores, as a share;
    in proportion below and above."""
    example_bytes: int = 600_000
    """Bytes of an example in a batch."""
    collate_bytes_per_s: float = 4e9
    """Bytes that a core collates a second."""
    batch_s: float = 0.0005
    """CPU seconds of a batch beside its examples."""
    handover_s: float = 0.0003
    """CPU seconds for which the main process takes over a worker's batch."""
    handover_bytes_per_s: float = math.inf
    """Bytes that it takes over a second."""
    pin_bytes_per_s: float = 3e9
    """Bytes that are copied to page-locked memory a second."""
    consume_s: float = 0.0
    """Seconds for which the main process is busy with an example, moving it, say."""
    consume_pinned: float = 1.0
    """Part of `consume_s` that is left where memory is pinned."""
    fork_s: float = 0.01
    """CPU seconds for which the main process starts a worker; one after another."""
    start_s: float = 0.03
    """CPU seconds that a worker takes before its first batch."""
    end_s: float = 0.01
    """Seconds in which a worker ends, one after another."""

    def example_s(self) -> float:
        """Return the seconds of one example in one process."""
        slow = max(1.0, 1 / self.cores)
        waiting_s = self.example_wait.mean_s + self.store_s
        return waiting_s + self.example_cpu.mean_s * slow

    def making_s(self, examples: int) -> float:
        """Return the CPU seconds of a batch beside its examples."""
        return self.batch_s + examples * self.example_bytes / self.collate_bytes_per_s

    def taking_s(self, examples: int, *, pinned: bool) -> float:
        """Return the CPU seconds for which a worker's batch is taken over."""
        size_bytes = examples * self.example_bytes
        pin_s = size_bytes / self.pin_bytes_per_s if pinned else 0.0
        return self.handover_s + size_bytes / self.handover_bytes_per_s + pin_s

    def batch_scatter(self, examples: int) -> float:
        """Return how much a batch differs from pass to pass, as a share of its mean.

        That is by what it waits for: its examples cost the same in each.
        """
        wait = self.example_wait
        mean_s = examples * (self.example_cpu.mean_s + wait.mean_s + self.store_s)
        mean_s += self.making_s(examples)
        return math.sqrt(examples) * wait.mean_s * wait.scatter / mean_s

    def unevenness(self, examples: int) -> float:
        """Return how much batches of a pass differ, as a share of their mean."""
        parts = (self.example_cpu, self.example_wait)
        spread_s = math.hypot(*(part.mean_s * part.scatter for part in parts))
        mean_s = sum(part.mean_s for part in parts) + self.store_s
        whole_s = examples * mean_s + self.making_s(examples)
        return math.sqrt(examples) * spread_s / whole_s
