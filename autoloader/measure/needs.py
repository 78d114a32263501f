"""Work out what a target takes: cores, workers, storage bandwidth, memory and shm.

Pure: what an example and a worker took in a study in, what so many examples a second
take. Every prediction is a product of measured amounts; what it takes for granted is
said beside it (`Needs.assumptions`), and what was not measured stays None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoloader.errors import UsageError
from autoloader.units import format_rate
from autoloader.values.decode import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsBasis(Stored):
    """What an example, a worker and a batch took; section `needs` of a file."""

    cpu_s_per_example: float
    """CPU seconds of an example in all stages, workers and training process."""
    wall_s_per_example: float
    """Seconds for which an example keeps a worker, waiting included."""
    bytes_per_example: float
    """Bytes of an example's tensors, arrays and strings."""
    measured_workers: int = 0
    """Workers that `cpu_s_per_example` was read with; 0: in one process."""
    read_bytes_per_example: float | None = None
    """Bytes of files that an example reads, from storage or page cache; None: untold,
    as of what comes over sockets."""
    batch_examples: float = 1.0
    """Examples of a batch."""
    batch_bytes: float | None = None
    """Bytes of a batch that waits in a queue."""
    shared_batch_bytes: float | None = None
    """Part of them that lies in shared memory."""
    prefetch_factor: int = 2
    """Batches that each worker prepares ahead."""
    base_memory_bytes: float | None = None
    """Memory of one rank without workers: training process, dataset, batch in use."""
    memory_per_worker_bytes: float | None = None
    """Memory of each worker, the queue left out."""
    rank_ceiling_examples_per_s: float | None = None
    """Rate that one training process does not exceed, where examples are free."""

    def __post_init__(self) -> None:
        """Check that what is divided by, or multiplied, is a cost."""
        for name in ("cpu_s_per_example", "wall_s_per_example", "bytes_per_example"):
            value = getattr(self, name)
            if not value >= 0:
                msg = f"{name} must be at least 0, got {value:g}"
                raise ValueError(msg)
        if self.prefetch_factor < 1:
            msg = f"prefetch_factor must be at least 1, got {self.prefetch_factor}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is to be delivered."""

    examples_per_s: float
    """Of the whole node."""
    ranks: int = 1
    """Training processes that share it evenly."""

    def __post_init__(self) -> None:
        """Check that something is wanted, by somebody."""
        if not 0 < self.examples_per_s < math.inf:
            msg = f"examples_per_s must be above 0, got {self.examples_per_s:g}"
            raise UsageError(msg)
        if self.ranks < 1:
            msg = f"ranks must be at least 1, got {self.ranks}"
            raise UsageError(msg)

    @property
    def of_a_rank(self) -> float:
        """Examples a second that each rank takes."""
        return self.examples_per_s / self.ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs(Stored):
    """What a demand takes of a node; None: not measured."""

    examples_per_s: float
    """Of the whole node."""
    ranks: int
    cores: float
    """CPUs that are busy all the time: loader and hand-over, without the training."""
    workers_per_rank: int
    """Fewest workers whose time is enough; 0: the training process reads by itself."""
    in_flight_per_rank: int
    """Batches that wait or are being made."""
    read_bytes_per_s: float | None
    """Of files, from storage where no page cache holds them."""
    delivered_bytes_per_s: float
    """Bytes of examples that reach the training processes."""
    memory_bytes: float | None
    """Of all ranks, queues included, page cache and model left out."""
    shm_bytes: float | None
    """Room in `/dev/shm` for all ranks."""
    least_ranks: int | None
    """Fewest training processes that can take over so much; None: not measured."""
    assumptions: tuple[str, ...]
    """What the numbers take for granted, one sentence each."""

    @property
    def is_within_a_rank(self) -> bool:
        """Whether one training process can take over its part, as far as is known."""
        return self.least_ranks is None or self.least_ranks <= self.ranks


def needs_of(basis: NeedsBasis, demand: Demand) -> Needs:
    """Return what a demand takes.

    Args:
        basis: what was measured.
        demand: what is to be delivered.
    """
    workers = workers_for(basis, demand.of_a_rank)
    in_flight = workers * basis.prefetch_factor
    rate, ranks = demand.examples_per_s, demand.ranks
    ceiling = basis.rank_ceiling_examples_per_s
    return Needs(
        examples_per_s=rate,
        ranks=ranks,
        cores=rate * basis.cpu_s_per_example,
        workers_per_rank=workers,
        in_flight_per_rank=in_flight,
        read_bytes_per_s=_times(rate, basis.read_bytes_per_example),
        delivered_bytes_per_s=rate * basis.bytes_per_example,
        memory_bytes=_times(ranks, memory_of_rank(basis, workers)),
        shm_bytes=_times(
            ranks * (in_flight + 1) if in_flight else 0.0, basis.shared_batch_bytes
        ),
        least_ranks=math.ceil(rate / ceiling) if ceiling else None,
        assumptions=_assumptions(basis, demand, workers),
    )


def workers_for(basis: NeedsBasis, rank_examples_per_s: float) -> int:
    """Return the fewest workers whose time is enough for a rate of one rank.

    None are needed where the training process has the time itself, whatever it trains.
    """
    at_once = rank_examples_per_s * basis.wall_s_per_example
    return 0 if at_once <= 0.0 else math.ceil(round(at_once, 6))


def memory_of_rank(
    basis: NeedsBasis, workers: int, prefetch_factor: int | None = None
) -> float | None:
    """Return the memory of one rank, its queue full; None: not measured.

    Args:
        basis: what was measured.
        workers: of the rank.
        prefetch_factor: batches that each prepares ahead; None: as measured.
    """
    base, each = basis.base_memory_bytes, basis.memory_per_worker_bytes
    if base is None or (workers and (each is None or basis.batch_bytes is None)):
        return None
    ahead = basis.prefetch_factor if prefetch_factor is None else prefetch_factor
    queued = workers * ahead * (basis.batch_bytes or 0.0)
    return base + workers * (each or 0.0) + queued


def memory_line(
    weighed: dict[tuple[int, int], float], batch_bytes: float
) -> tuple[float | None, float | None]:
    """Return memory without workers, and of each worker, of a few weighings.

    The queue is taken off each, and a line is laid through what is left.

    Args:
        weighed: bytes with a full queue, by workers and batches in flight.
        batch_bytes: of a batch in the queue.

    Returns:
        Base and slope; None where one number of workers tells neither, or no base
        where nothing without workers was weighed is still told by the line.
    """
    points = [
        (workers, size - in_flight * batch_bytes)
        for (workers, in_flight), size in weighed.items()
    ]
    counts = {workers for workers, _ in points}
    if not points:
        return None, None
    if len(counts) == 1:
        only = counts.pop()
        mean = sum(size for _, size in points) / len(points)
        return (mean, None) if only == 0 else (None, None)
    middle = sum(workers for workers, _ in points) / len(points)
    height = sum(size for _, size in points) / len(points)
    spread = sum((workers - middle) ** 2 for workers, _ in points)
    slope = sum((workers - middle) * (size - height) for workers, size in points)
    each = max(0.0, slope / spread)
    return max(0.0, height - each * middle), each


def _assumptions(basis: NeedsBasis, demand: Demand, workers: int) -> tuple[str, ...]:
    """Return what the numbers take for granted."""
    where = (
        f"with {basis.measured_workers} workers"
        if basis.measured_workers
        else "in one process"
    )
    said = [
        f"an example takes the CPU time that it took here {where}; another CPU, and "
        "cores that share one (hyper-threads), take more or less",
        "cores are busy all the time; the training's own CPU time, system and other "
        "programs come on top",
        "examples cost the same at any rate: storage that slows down with more readers "
        "needs more workers",
    ]
    if basis.read_bytes_per_example is not None:
        said.append(
            "bytes are what read calls returned: with a warm page cache storage gives "
            "less, with mapped files more"
        )
    if demand.ranks > 1:
        said.append(
            f"each of {demand.ranks} ranks takes {format_rate(demand.of_a_rank)} "
            "examples/s, and has a dataset of its own in memory"
        )
    if workers:
        said.append(
            f"batches of {basis.batch_examples:g} examples, "
            f"{basis.prefetch_factor} prepared ahead by each worker"
        )
    return tuple(said)


def _times(factor: float, amount: float | None) -> float | None:
    return None if amount is None else factor * amount
