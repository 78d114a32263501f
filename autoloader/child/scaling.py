"""How much slower plain computing gets when as many processes compute as a loader has.

CPUs that are halves of a core, and clocks that fall under load, slow everything. What
slows an example down by more than this waits for memory (`measure.limits`).
"""

from __future__ import annotations

import os
import time
from statistics import median
from typing import Any

import xxhash
from torch.utils.data import DataLoader, Dataset

ROUNDS = 6
"""Readings of each process."""

LEAST_S = 0.005
"""Seconds of a reading: many times a clock's resolution, and less than a time slice."""

_BLOCK = bytes(8192)  # smaller than any first-level cache


class Computing(Dataset[float]):
    """Computes for a fixed number of steps, and gives the CPU seconds it took.

    Args:
        steps: hashes of a block that stays in the nearest cache.
        length: readings.
    """

    def __init__(self, steps: int, length: int) -> None:
        self._steps = steps
        self._length = length

    def __len__(self) -> int:
        """Return the number of readings."""
        return self._length

    def __getitem__(self, index: int) -> float:
        """Return the CPU seconds of the steps; which reading it is does not matter."""
        del index
        return compute_s(self._steps)


def compute_s(steps: int) -> float:
    """Return the CPU seconds that some steps take in this process."""
    begun = time.process_time()
    for _ in range(steps):
        xxhash.xxh3_64_intdigest(_BLOCK)
    return time.process_time() - begun


def compute_growth(processes: int, start_method: str | None = None) -> float | None:
    """Return by which factor computing slows when several processes compute at once.

    No more of them than there are CPUs. None where that leaves one: it disturbs nobody.
    1.0 says that CPUs do not disturb each other.

    Args:
        processes: that a loader has: its workers and the training process.
        start_method: fork, forkserver or spawn; None: Python's default.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    at_once = min(processes, cpus)
    if at_once < 2:
        return None
    steps = 64
    while compute_s(steps) < LEAST_S:
        steps *= 2
    alone_s = median(compute_s(steps) for _ in range(ROUNDS))
    return max(1.0, _together_s(at_once, steps, start_method) / alone_s)


def _together_s(workers: int, steps: int, start_method: str | None) -> float:
    """Return the median CPU seconds of a reading with so many workers at once.

    A first epoch starts them, so that in the second one they all compute together.
    """
    settings: dict[str, Any] = {
        "batch_size": None,
        "num_workers": workers,
        "prefetch_factor": ROUNDS,
        "persistent_workers": True,
        "multiprocessing_context": start_method,
    }
    loader = DataLoader(Computing(steps, workers * ROUNDS), **settings)
    for _ in loader:
        pass
    return median(float(value) for value in loader)
