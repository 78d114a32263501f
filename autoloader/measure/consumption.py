"""What a training consumes, worked out of its waits and its steps.

Pure: sums in, rates out. Who takes the moments is `autoloader.watching`.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoloader.measure.stepping import WAIT_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """What a training loop did with its time, the first batches left out."""

    epochs: int
    """Epochs that were begun."""
    batches: int
    """Batches that were waited for and worked on."""
    examples: int | None
    """Examples in them; None: batches say nothing of how many they bring."""
    wait_s: float
    """Seconds in which the loop waited for them."""
    compute_s: float
    """Seconds from each to when the next one was asked for."""
    is_estimated: bool = False
    """Whether each batch was taken to bring `batch_size` examples."""
    ranks: int = 1
    """Training processes on this machine, of which this is one."""

    @property
    def wait_share(self) -> float:
        """Part of the time that the loop waited, 0-1."""
        whole_s = self.wait_s + self.compute_s
        return self.wait_s / whole_s if whole_s else 0.0

    @property
    def batches_per_s(self) -> float:
        """Batches a second that the loop would take if it never waited."""
        return self.batches / self.compute_s if self.compute_s else 0.0

    @property
    def examples_per_s(self) -> float | None:
        """Examples a second that the loop would take if it never waited."""
        if self.examples is None or not self.compute_s:
            return None
        return self.examples / self.compute_s

    @property
    def target_examples_per_s(self) -> float | None:
        """What keeps all ranks fed: each waits a twentieth of its time then."""
        rate = self.examples_per_s
        return None if rate is None else rate * (1 - WAIT_SHARE) * self.ranks
