"""Tell what collate_fn converts from what was spoilt on the way.

Pure. A collate_fn may change any field; what it does regularly, in most batches of each
epoch, is its work. A field that it otherwise leaves alone must be so in every row.
"""

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.alignment import MASK_BITS, NO_SLOT, mask_of
from autoloader.audit.batches import Batches
from autoloader.audit.ledger import ArrivalLedger

LEAST_BATCHES = 4
"""Batches of an epoch from which "most batches" means something."""


def spoilt_rows(arrived: ArrivalLedger) -> NDArray[np.bool_]:
    """Return for each row whether it differs from its example as no conversion does.

    Three kinds: values that belong to other examples of the same batches (rows of a
    field were exchanged), and changes that are rare, or stay away in some epoch.
    """
    spoilt = np.zeros(len(arrived.slot), np.bool_)
    used = int(np.bitwise_or.reduce(arrived.altered)) if len(spoilt) else 0
    if not used:
        return spoilt
    batches = Batches.of(arrived.batches)
    new_values = 0
    for converted in batches.conversions():
        new_values |= mask_of(converted or ())
    rows = _Rows(arrived, batches)
    for bit in (1 << place for place in range(MASK_BITS)):
        if not used & bit:
            continue
        altered = (arrived.altered & np.uint64(bit)) != 0
        if not (new_values & bit and rows.is_regular(altered)):
            spoilt |= altered
    return spoilt


class _Rows:
    """Batch of each row, epoch of each batch, and which rows were compared."""

    def __init__(self, arrived: ArrivalLedger, batches: Batches) -> None:
        counts = batches.column("rows")
        self._epoch = batches.column("epoch")
        self._batch = np.repeat(np.arange(len(counts)), counts)
        compared = np.repeat(batches.are_compared(), counts)
        self._compared = compared & (arrived.slot != NO_SLOT)
        self._here = self._by_batch(self._compared)

    def _by_batch(self, picked: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many of the picked rows each batch has."""
        return np.bincount(self._batch[picked], minlength=len(self._epoch))

    def is_regular(self, altered: NDArray[np.bool_]) -> bool:
        """Whether most rows, or most of several batches, of every epoch have it."""
        hits = self._by_batch(altered & self._compared)
        for epoch in np.unique(self._epoch[self._here > 0]):
            of_epoch = self._epoch == epoch
            here, hit = self._here[of_epoch], hits[of_epoch]
            batches, with_it = np.count_nonzero(here), np.count_nonzero(hit)
            most_rows = 2 * hit.sum() >= here.sum()
            most_batches = batches >= LEAST_BATCHES and 2 * with_it > batches
            if not most_rows and not most_batches:
                return False
        return True
