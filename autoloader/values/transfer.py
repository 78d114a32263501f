"""Batches on their way to the accelerator: raw readings, and what pinning did to them.

Seconds and shares are worked out of them in `measure.transfer`.
"""

from dataclasses import dataclass
from typing import Literal

from autoloader.values.config import LoaderConfig
from autoloader.values.decode import Stored
from autoloader.values.step import StepReading


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReading(Stored):
    """One pass whose batches were copied to the accelerator, on a stream of its own."""

    loop: StepReading
    """The loop that asked for batches and sent them; its step is to send one: to ask
    for the copy, and to wait until no more than two are under way."""
    transfer_s: tuple[float, ...] | None
    """Seconds that each copy took, by the device's own clock; None: it does not tell,
    or nothing was copied."""
    untimed: str | None
    """Why it does not tell; None: it does."""
    batch_bytes: int
    """Bytes of the tensors of a batch; of the first one."""
    device: str
    """Type in PyTorch's words; `cpu` where there is no accelerator: nothing moved."""
    name: str | None
    """Name of the device; None: not told."""
    tensors: int
    """Tensors of the first batches that were looked at."""
    pinned: int
    """Those of them that arrived in page-locked memory."""
    pinned_bytes: int | None
    """Most page-locked memory, in blocks of powers of two; None: not told."""
    accelerator_bytes: int | None
    """Most memory on the device that PyTorch held; None: there is none."""

    def __post_init__(self) -> None:
        """Check that each copy belongs to a batch."""
        told = self.transfer_s
        if told is not None and len(told) != len(self.loop.came_s):
            msg = "each batch of a transfer reading is copied once"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinReadings(Stored):
    """A config's loop with batches pinned and as they are, in turns."""

    config: LoaderConfig
    """As it was read unpinned."""
    by: Literal["transfer", "step"]
    """What the loop did with a batch: moved it, or ran the training step on it."""
    plain_rates: tuple[float | None, ...]
    """Examples a second of each round without pinning; None: the pass failed."""
    pinned_rates: tuple[float | None, ...]
    """The same with it."""
    plain: TransferReading | None
    """One pass that moved unpinned batches; None: it failed."""
    pinned: TransferReading | None
    """One pass that moved pinned ones; None: it failed."""
    failed: str | None = None
    """Why it could not be told, in one sentence; None: it could."""
