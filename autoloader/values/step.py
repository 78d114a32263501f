"""The training step's loop: when each batch came, and when its step was done.

Raw readings only; shares, rates and overlap are worked out of them in
`measure.stepping`.
"""

from dataclasses import dataclass

from autoloader.values.decode import Stored
from autoloader.values.device import DeviceSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReading(Stored):
    """A training loop against the clock, in seconds since `iter(loader)`.

    The loop waits from the end of a step to the next batch, and computes from there to
    the end of that batch's step: both together are the whole time.
    """

    num_workers: int | None
    """Workers that fed it; None: batches that were ready, no loader ran."""
    came_s: tuple[float, ...]
    """When each batch was there."""
    done_s: tuple[float, ...]
    """When the step on it was done."""
    counts: tuple[int, ...]
    """Examples of each batch."""
    warm_batches: int
    """Leading batches that the steady part leaves out: workers start."""
    steady_batches: int
    """Batches of the steady part: whole waves."""
    total_s: float
    """To the end of the loop, workers shut down."""
    epoch_examples: int | None
    """Length of the user's real epoch; None: not known, or no loader ran."""
    has_device: bool
    """Whether there is an accelerator; it was done before each next batch then."""
    utilisation: float | None = None
    """Part of the time (0-1) that the accelerator worked, as its driver tells; of the
    busiest where it is not known which one it was. None: none, or it does not tell."""
    foreign_cpu: float = 0.0
    """CPU seconds a second that other programs took meanwhile."""
    stolen_cpu: float = 0.0
    """CPU seconds a second that the hypervisor took meanwhile."""
    own_cpu: float = 0.0
    """CPU seconds a second that trial and workers took."""
    throttled_cpu: float = 0.0
    """CPU seconds a second for which a CPU quota held them back."""
    storage_bytes: int | None = None
    """Bytes from storage; None where the system does not tell."""
    read_bytes: int | None = None
    """Bytes that read calls returned to trial and workers; None: not told."""
    accelerator_bytes: int | None = None
    """Most memory on the accelerator that PyTorch held; None: there is none."""
    device: DeviceSeen | None = None
    """What the driver told of the accelerator meanwhile; None: nothing."""

    def __post_init__(self) -> None:
        """Check that each batch has its moments."""
        if not len(self.came_s) == len(self.done_s) == len(self.counts):
            msg = "each batch of a step reading comes once and is done once"
            raise ValueError(msg)
