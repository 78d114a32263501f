"""What a loader gives whose dataset costs nothing, and what its batches cost to make.

Raw readings of one pass (`child.ceiling`); what follows from them is
`measure.stage_costs`'.
"""

from dataclasses import dataclass

from autoloader.values.decode import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingReading(Stored):
    """One pass over examples that were read before: only collate and hand-over cost."""

    num_workers: int
    """Workers that served it."""
    batch_examples: float
    """Examples of a batch."""
    batch_bytes: int
    """Bytes of a batch's tensors, arrays and strings."""
    collate_s: tuple[float, ...]
    """Seconds of each collate in one process; with one thread, as workers have, unless
    there are none."""
    collate_cpu_s: tuple[float, ...]
    """CPU seconds of each of them."""
    copy_cpu_s: tuple[float, ...] = ()
    """CPU seconds of plain copies of the batch, which no collate_fn can do without."""
    arrivals_s: tuple[float, ...]
    """Arrival of each batch, in seconds since `iter(loader)`."""
    window_batches: int
    """Last batches, over which the CPU seconds below were counted."""
    main_cpu_s: float
    """CPU seconds of the training process in that window."""
    workers_cpu_s: float
    """CPU seconds of all workers in it; 0 without workers."""
    compute_growth: float | None = None
    """Factor by which plain computing slows when all these processes compute; None: not
    probed."""

    def __post_init__(self) -> None:
        """Check that there is a window, and a batch before it."""
        if not 0 < self.window_batches < len(self.arrivals_s):
            msg = (
                f"window_batches must be above 0 and below {len(self.arrivals_s)}, "
                f"the batches that arrived, got {self.window_batches}"
            )
            raise ValueError(msg)
        if not self.collate_s or len(self.collate_s) != len(self.collate_cpu_s):
            msg = (
                "collate_s and collate_cpu_s must be as long, and not empty, got "
                f"{len(self.collate_s)} and {len(self.collate_cpu_s)}"
            )
            raise ValueError(msg)
        if not self.batch_examples > 0:
            msg = f"batch_examples must be above 0, got {self.batch_examples:g}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFunction(Stored):
    """A function that carries part of the time of reading an example."""

    name: str
    """`module.function` of the code, without paths."""
    share: float
    """Part (0-1) of the profiled time that is spent in it, what it calls left out."""
    calls_per_example: float
    """How often an example calls it."""
