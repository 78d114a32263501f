"""Ledgers survive the disk, and an incomplete one is noticed."""

import re
from pathlib import Path

import numpy as np
import pytest

from autoloader.audit.ledger import (
    ArrivalLedger,
    LedgerWriter,
    ReferenceLedger,
    ScopeList,
)
from autoloader.errors import ProtocolError

BIG = 2**64 - 1


def written(folder: Path) -> ArrivalLedger:
    """Return a ledger of two batches that went through the disk."""
    writer = LedgerWriter()
    writer.add_batch(
        epoch=0, batch=1, worker=0, examples=2, converted=(0, 3), intact=True
    )
    writer.add_row(slot=0, fixed=BIG, label=1, signature="[]", altered=2**62)
    writer.add_row(slot=-1, fixed=2, label=BIG, signature="[1]")
    writer.add_batch(
        epoch=1, batch=0, worker=-1, examples=1, converted=None, intact=False
    )
    writer.add_row(slot=0, fixed=3, label=0, signature="[]")
    writer.write(folder)
    return ArrivalLedger.read(folder)


def test_an_arrival_ledger_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Digests of 64 bits, places below zero, and signatures kept once each."""
    ledger = written(tmp_path)

    first, second = ledger.batches
    assert (first.epoch, first.batch, first.worker, first.examples) == (0, 1, 0, 2)
    assert (first.rows, first.converted, first.intact) == (2, (0, 3), True)
    assert (second.rows, second.converted, second.intact) == (1, None, False)
    assert ledger.slot.tolist() == [0, -1, 0]
    assert ledger.fixed.tolist() == [BIG, 2, 3]
    assert ledger.label.tolist() == [1, BIG, 0]
    assert [ledger.signatures[place] for place in ledger.signature] == [
        "[]",
        "[1]",
        "[]",
    ]
    assert len(ledger.signatures) == 2
    assert ledger.altered.tolist() == [2**62, 0, 0]


@pytest.mark.parametrize(
    ("converted", "kept"), [(False, ()), ((), ()), (True, None), (None, None)]
)
def test_what_is_only_known_to_be_converted_counts_as_not_compared(
    tmp_path: Path, converted: bool | tuple[int, ...] | None, kept: object
) -> None:
    """Without the fields, no row can be judged."""
    writer = LedgerWriter()
    writer.add_batch(
        epoch=0, batch=0, worker=0, examples=0, converted=converted, intact=True
    )
    writer.write(tmp_path)

    (batch,) = ArrivalLedger.read(tmp_path).batches

    assert batch.converted == kept


@pytest.mark.parametrize("name", ["slot", "fixed", "label", "signature", "altered"])
def test_arrays_that_do_not_belong_together_are_refused(
    tmp_path: Path, name: str
) -> None:
    """A trial that was killed while it wrote has no verdict."""
    written(tmp_path)
    np.save(tmp_path / f"arrived_{name}.npy", np.zeros(2, np.uint64))

    sentence = f"the arrival ledger in {tmp_path} is incomplete"
    with pytest.raises(ProtocolError, match=f"^{re.escape(sentence)}$"):
        ArrivalLedger.read(tmp_path)


def test_a_reference_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Arrays and signatures of every distinct id."""
    before = ReferenceLedger(
        np.array([1, BIG], np.uint64),
        np.array([0, 7], np.uint64),
        np.array([0, 0], np.int64),
        ['[["0", "tensor", "float32", [3]]]'],
    )

    before.write(tmp_path)
    after = ReferenceLedger.read(tmp_path)

    assert after.fixed.tolist() == [1, BIG]
    assert after.label.tolist() == [0, 7]
    assert after.signature.tolist() == [0, 0]
    assert after.signatures == before.signatures


def test_a_list_keeps_order_repeats_and_kinds_of_ids(tmp_path: Path) -> None:
    """Numbers and strings, some of them drawn twice."""
    listed = ScopeList.of([5, "key", 5, 0, "5"])

    listed.write(tmp_path)
    again = ScopeList.read(tmp_path)

    assert again == listed
    assert again.ids == [5, "key", 0, "5"]
    assert again.places == [0, 1, 0, 2, 3]
    assert again.indices([4, 0, 2]) == ["5", 5, 5]
