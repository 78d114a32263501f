"""What arrived in several ranks, as if their workers were those of one."""

from pathlib import Path

import numpy as np

from autoloader.audit.ledger import ArrivalLedger, LedgerWriter
from autoloader.audit.rank_ledgers import joined, worker_of


def ledger(folder: Path, worker: int, first: int, signature: str) -> ArrivalLedger:
    """Return what a rank delivered: two examples in each of two batches."""
    writer = LedgerWriter()
    for batch in range(2):
        writer.add_batch(
            epoch=0,
            batch=batch,
            worker=worker,
            examples=2,
            converted=False,
            intact=True,
        )
        for slot in range(2):
            number = first + 2 * batch + slot
            writer.add_row(
                slot=slot, fixed=number, label=number, signature=signature, id_digest=1
            )
    folder.mkdir()
    writer.write(folder)
    return ArrivalLedger.read(folder)


def test_workers_of_all_ranks_are_numbered_in_turn(tmp_path: Path) -> None:
    """Worker 1 of rank 1 is worker 3 where each has two; signatures stay theirs."""
    ledgers = [
        ledger(tmp_path / "0", 0, 10, "A"),
        ledger(tmp_path / "1", 1, 20, "B"),
    ]

    found = joined(ledgers, num_workers=2)

    assert [batch.worker for batch in found.batches] == [0, 0, 3, 3]
    assert [batch.batch for batch in found.batches] == [0, 2, 1, 3]
    assert found.fixed.tolist() == [10, 11, 12, 13, 20, 21, 22, 23]
    named = [found.signatures[place] for place in found.signature]
    assert named == ["A"] * 4 + ["B"] * 4
    assert found.id is not None
    assert found.id.tolist() == [1] * 8
    assert found.batches[0].converted == ()
    assert np.array_equal(found.slot, [0, 1] * 4)


def test_a_rank_without_workers_is_one() -> None:
    """Its batches come from its training process."""
    assert worker_of(2, -1, 1) == 2
    assert worker_of(2, 1, 4) == 9
