"""Put what arrived in several ranks into one ledger, as if their workers were one's.

Pure. Of a stream nobody but the dataset knows what a rank is to read: only what all of
them delivered can be held against the reference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from autoloader.audit.batches import Batches
from autoloader.audit.ledger import ArrivalLedger, SignatureTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from autoloader.audit.batches import ArrivedBatch


def joined(ledgers: Sequence[ArrivalLedger], *, num_workers: int) -> ArrivalLedger:
    """Return one ledger of what all ranks delivered, rank by rank.

    Worker k of rank r is worker r x `num_workers` + k; without workers, a rank is one.

    Args:
        ledgers: of the ranks, in their order.
        num_workers: workers of each rank.
    """
    table = SignatureTable()
    kinds: list[NDArray[np.int32]] = []
    batches: list[ArrivedBatch] = []
    for rank, ledger in enumerate(ledgers):
        places = np.array([table.place(text) for text in ledger.signatures], np.int32)
        kinds.append(places[ledger.signature] if len(places) else ledger.signature)
        batches += [
            replace(
                batch,
                batch=batch.batch * len(ledgers) + rank,
                worker=worker_of(rank, batch.worker, num_workers),
            )
            for batch in ledger.batches
        ]
    ids = [ledger.id for ledger in ledgers if ledger.id is not None]
    return ArrivalLedger(
        batches=Batches.of(batches),
        slot=np.concatenate([ledger.slot for ledger in ledgers]),
        fixed=np.concatenate([ledger.fixed for ledger in ledgers]),
        label=np.concatenate([ledger.label for ledger in ledgers]),
        signature=np.concatenate(kinds),
        signatures=table.signatures,
        altered=np.concatenate([ledger.altered for ledger in ledgers]),
        id=np.concatenate(ids) if len(ids) == len(ledgers) else None,
    )


def worker_of(rank: int, worker: int, num_workers: int) -> int:
    """Return the number of a rank's worker among those of all ranks."""
    return rank if worker < 0 else rank * num_workers + worker
