"""Epochs of a pass apart, and their verdicts together."""

from dataclasses import replace

import numpy as np

from autoloader.audit.epoch_split import are_replayed, merged, of_epoch
from autoloader.audit.ledger import ArrivalLedger, ArrivedBatch
from autoloader.values.outcome import Finding, Verdict


def ledger(*epochs: dict[int, list[int]]) -> ArrivalLedger:
    """Return what arrived: for each epoch the digests of each worker, in one batch."""
    batches, digests = [], []
    for epoch, by_worker in enumerate(epochs):
        for number, (worker, delivered) in enumerate(by_worker.items()):
            size = len(delivered)
            batches.append(
                ArrivedBatch(
                    epoch=epoch,
                    batch=number,
                    worker=worker,
                    examples=size,
                    rows=size,
                    converted=(),
                    intact=True,
                )
            )
            digests += delivered
    count = len(digests)
    return ArrivalLedger(
        batches=batches,
        slot=np.arange(count, dtype=np.int32),
        fixed=np.array(digests, np.uint64),
        label=np.zeros(count, np.uint64),
        signature=np.zeros(count, np.int32),
        signatures=["[]"],
        altered=np.zeros(count, np.uint64),
    )


def verdict(*findings: Finding, cautions: tuple[Finding, ...] = ()) -> Verdict:
    """Return a verdict on one epoch."""
    return Verdict(
        passed=not findings,
        examples=10,
        of=10,
        epochs=1,
        compared="rows",
        findings=findings,
        cautions=cautions,
    )


LOST = Finding(code="missing_ids", count=2, ids=(1, 2), epoch=0, message="2 lost")
IDLE = Finding(code="idle_workers", count=1, message="1 idle")


def test_an_epoch_stands_alone() -> None:
    """Its rows, its batches, as if there were no other."""
    both = ledger({0: [1, 2], 1: [3]}, {0: [4], 1: [5, 6]})

    second = of_epoch(both, 1)

    assert second.fixed.tolist() == [4, 5, 6]
    assert second.slot.tolist() == [3, 4, 5]
    assert [(item.epoch, item.worker, item.rows) for item in second.batches] == [
        (0, 0, 1),
        (0, 1, 2),
    ]


def test_a_replayed_epoch_is_the_same_for_every_worker() -> None:
    """In the worker's own order, whoever was served first."""
    same = ledger({0: [1, 2], 1: [3]}, {1: [3], 0: [1, 2]})
    other_order = ledger({0: [1, 2], 1: [3]}, {0: [2, 1], 1: [3]})
    other_worker = ledger({0: [1, 2], 1: [3]}, {0: [3], 1: [1, 2]})

    assert are_replayed(same)
    assert not are_replayed(other_order)
    assert not are_replayed(other_worker)
    assert not are_replayed(ledger())


def test_verdicts_of_epochs_become_one() -> None:
    """A finding keeps the epoch that shows it most."""
    later = replace(LOST, count=5)

    found = merged([verdict(LOST), verdict(later, cautions=(IDLE,))])

    assert not found.passed
    assert found.epochs == 2
    assert found.findings == (replace(later, epoch=1),)
    assert found.cautions == (IDLE,)


def test_a_caution_that_another_epoch_finds_wrong_is_a_finding_only() -> None:
    """What refuses is not noted beside it."""
    found = merged([verdict(IDLE), verdict(cautions=(IDLE,))])

    assert (found.findings, found.cautions) == ((IDLE,), ())


def test_epochs_that_pass_pass_together() -> None:
    """With the fewest examples that one of them had."""
    found = merged([verdict(), replace(verdict(), examples=7, compared="examples")])

    assert found.passed
    assert (found.examples, found.epochs, found.compared) == (7, 2, "examples")
