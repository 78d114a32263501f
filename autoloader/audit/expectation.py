"""What a gate pass over a list was asked to deliver.

What is then found in it is `audit.verdict`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a gate pass was asked to deliver."""

    ids: Sequence[Any]
    """Distinct ids of the scope."""
    places: Sequence[int]
    """Entries of the first epoch: places in `ids`, in the order of the sampler."""
    epochs: int
    """Epochs, each over the same entries; at least 1."""
    batch_size: int
    """Examples of a whole batch; at least 1."""
    drop_last: bool
    """Whether an incomplete last batch is left out."""
    of: int
    """Examples of a whole epoch."""
    num_workers: int
    """Workers that were asked for."""
    moved_offsets: tuple[str, ...] = ()
    """Files whose offset moved in the training process while workers read."""
    collated_otherwise: tuple[int, ...] = ()
    """Lists of the first epoch that collate_fn turns into another batch in one process
    than in a worker."""
    cuts: tuple[int, ...] | None = None
    """Lengths of the index lists; None: `batch_size` each, and what is left."""
    may_lack: frozenset[int | str] = frozenset()
    """Ids of incomplete examples that a loader may leave out."""
    orders: tuple[NDArray[np.int64], ...] = ()
    """For each epoch the entries of its lists, as positions in `places`; empty: all
    epochs read them in the order of `places`."""

    def __post_init__(self) -> None:
        """Check that there is something to expect: nothing always arrives."""
        if not self.places or self.epochs < 1 or self.batch_size < 1:
            msg = (
                "an expectation needs at least one entry, epoch and example a batch, "
                f"got {len(self.places)}, {self.epochs} and {self.batch_size}"
            )
            raise ValueError(msg)
        if self.orders and len(self.orders) != self.epochs:
            msg = (
                f"an expectation of {self.epochs} epochs needs an order for each of "
                f"them, got {len(self.orders)}"
            )
            raise ValueError(msg)

    def lengths(self) -> NDArray[np.int64]:
        """Return the length of each index list of an epoch."""
        if self.cuts is not None:
            return np.array(self.cuts, np.int64)
        whole, rest = divmod(len(self.places), self.batch_size)
        has_rest = rest > 0 and not self.drop_last
        return np.array([self.batch_size] * whole + [rest] * has_rest, np.int64)

    def listed(self) -> NDArray[np.int64]:
        """Return the places that the lists read: (epochs, entries of an epoch)."""
        places = np.asarray(self.places, np.int64)[: int(self.lengths().sum())]
        if not self.orders:
            return np.broadcast_to(places, (self.epochs, len(places)))
        return np.stack([places[order] for order in self.orders])

    def lists(self, epoch: int = 0) -> list[Sequence[int]]:
        """Return the index lists of an epoch, as the batch sampler cuts them."""
        places: Sequence[int] = self.places
        if self.orders:
            places = self.listed()[epoch].tolist()
        ends = np.cumsum(lengths := self.lengths()).tolist()
        pairs = zip(ends, lengths.tolist(), strict=True)
        return [places[end - length : end] for end, length in pairs]
