"""Tell what collate_fn converts from what was spoilt on the way.

Pure. A collate_fn may change any field; what it does regularly, in most batches of each
epoch, is its work. A field that it otherwise leaves alone must be so in every row.
"""

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.alignment import MASK_BITS, NO_SLOT, mask_of
from autoloader.audit.ledger import ArrivalLedger

LEAST_BATCHES = 4
"""Batches of an epoch from which "most batches" means something."""


def spoilt_rows(arrived: ArrivalLedger) -> NDArray[np.bool_]:
    """Return for each row whether it differs from its example as no conversion does.

    Three kinds: values that belong to other examples of the same batches (rows of a
    field were exchanged), and changes that are rare, or stay away in some epoch.
    """
    spoilt = np.zeros(len(arrived.slot), np.bool_)
    if not arrived.altered.any():
        return spoilt
    new_values = 0
    for batch in arrived.batches:
        new_values |= mask_of(batch.converted or ())
    rows = _Rows(arrived)
    for bit in (1 << place for place in range(MASK_BITS)):
        altered = (arrived.altered & np.uint64(bit)) != 0
        if altered.any() and not (new_values & bit and rows.is_regular(altered)):
            spoilt |= altered
    return spoilt


class _Rows:
    """Epoch and batch of each row, and which rows were compared."""

    def __init__(self, arrived: ArrivalLedger) -> None:
        counts = [batch.rows for batch in arrived.batches]
        compared = [batch.converted is not None for batch in arrived.batches]
        epochs = [batch.epoch for batch in arrived.batches]
        self._batch = np.repeat(np.arange(len(counts)), counts)
        self._epoch = np.repeat(epochs, counts)
        self._compared = np.repeat(compared, counts) & (arrived.slot != NO_SLOT)

    def is_regular(self, altered: NDArray[np.bool_]) -> bool:
        """Whether most rows, or most of several batches, of every epoch have it."""
        for epoch in np.unique(self._epoch[self._compared]):
            here = self._compared & (self._epoch == epoch)
            hit = altered & here
            batches = len(np.unique(self._batch[here]))
            with_it = len(np.unique(self._batch[hit]))
            most_rows = 2 * hit.sum() >= here.sum()
            most_batches = batches >= LEAST_BATCHES and 2 * with_it > batches
            if not most_rows and not most_batches:
                return False
        return True
