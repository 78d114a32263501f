"""Ledgers survive the disk, and an incomplete one is noticed."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoloader.audit.batches import ArrivedBatch, Batches
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


def test_rows_can_be_added_together(tmp_path: Path) -> None:
    """As they would be one by one."""
    writer = LedgerWriter()
    batch: dict[str, Any] = {"worker": 0, "converted": (), "intact": True}
    writer.add_batch(epoch=0, batch=0, examples=3, **batch)
    writer.add_rows(
        slots=[2, 0],
        fixed=np.array([BIG, 1], np.uint64),
        label=[7, BIG],
        signatures=["[0]", "[1]"],
        signature=[1, 0],
        altered=[0, 2],
    )
    writer.add_row(slot=1, fixed=5, label=6, signature="[1]")
    writer.add_batch(epoch=0, batch=1, examples=1, **batch)
    writer.add_rows(
        slots=range(1), fixed=[8], label=[9], signatures=["[2]"], signature=[0]
    )

    writer.write(tmp_path)
    ledger = ArrivalLedger.read(tmp_path)

    assert [item.rows for item in ledger.batches] == [3, 1]
    assert ledger.slot.tolist() == [2, 0, 1, 0]
    assert ledger.fixed.tolist() == [BIG, 1, 5, 8]
    assert ledger.label.tolist() == [7, BIG, 6, 9]
    found = [ledger.signatures[place] for place in ledger.signature]
    assert found == ["[1]", "[0]", "[1]", "[2]"]
    assert ledger.altered.tolist() == [0, 2, 0, 0]


def test_ids_come_back_where_some_rows_have_one(tmp_path: Path) -> None:
    """A row without one has 0."""
    writer = LedgerWriter()
    batch: dict[str, Any] = {"worker": 0, "converted": (), "intact": True}
    writer.add_batch(epoch=0, batch=0, examples=1, **batch)
    writer.add_row(slot=0, fixed=1, label=1, signature="[]")
    writer.add_batch(epoch=0, batch=1, examples=3, **batch)
    rows: dict[str, Any] = {"signatures": ["[]"], "signature": [0, 0]}
    writer.add_rows(slots=[0, 1], fixed=[2, 3], label=[0, 0], ids=[BIG, 7], **rows)
    writer.add_row(slot=2, fixed=4, label=1, signature="[]", id_digest=9)
    writer.add_row(slot=3, fixed=5, label=1, signature="[]")
    writer.write(tmp_path)

    found = ArrivalLedger.read(tmp_path).id

    assert found is not None
    assert found.tolist() == [0, BIG, 7, 9, 0]
    np.save(tmp_path / "arrived_id.npy", found[:-1])
    with pytest.raises(ProtocolError, match=r"is incomplete$"):
        ArrivalLedger.read(tmp_path)


def test_no_file_is_written_where_there_are_no_ids(tmp_path: Path) -> None:
    """Arrivals and reference: the file of another one is not left either."""
    assert written(tmp_path).id is None
    assert not (tmp_path / "arrived_id.npy").exists()

    digests = np.array([1, BIG], np.uint64)
    plain = ReferenceLedger(digests, digests, np.array([0, 0], np.int64), ["[]"])
    replace(plain, id=digests).write(tmp_path)
    named = ReferenceLedger.read(tmp_path)
    plain.write(tmp_path)

    assert named.id is not None
    assert named.id.tolist() == [1, BIG]
    assert ReferenceLedger.read(tmp_path).id is None
    assert not (tmp_path / "id.npy").exists()


def test_rows_without_a_batch_are_refused() -> None:
    """They would be counted to none."""
    sentence = "rows belong to a batch, and none was begun"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        LedgerWriter().add_row(slot=0, fixed=1, label=1, signature="[]")


def test_an_empty_ledger_comes_back_empty(tmp_path: Path) -> None:
    """A loader that yields nothing."""
    LedgerWriter().write(tmp_path)

    ledger = ArrivalLedger.read(tmp_path)

    assert (list(ledger.batches), len(ledger.fixed)) == ([], 0)


def test_all_files_of_arrivals_are_named_so(tmp_path: Path) -> None:
    """They are removed by their name once they are judged."""
    written(tmp_path)

    assert all(file.name.startswith("arrived") for file in tmp_path.iterdir())


def test_ten_thousand_examples_take_33_bytes_each(tmp_path: Path) -> None:
    """In batches of 64, on the disk."""
    writer = LedgerWriter()
    for number in range(10_000 // 64):
        writer.add_batch(
            epoch=0, batch=number, worker=0, examples=64, converted=(), intact=True
        )
        writer.add_rows(
            slots=range(64),
            fixed=np.arange(64, dtype=np.uint64),
            label=np.arange(64, dtype=np.uint64),
            signatures=["[]"],
            signature=np.zeros(64, np.int64),
        )
    writer.write(tmp_path)

    size = sum(file.stat().st_size for file in tmp_path.iterdir())

    assert size < 33 * 10_000


BATCHES = [
    ArrivedBatch(
        epoch=0, batch=2, worker=1, examples=4, rows=3, converted=(), intact=True
    ),
    ArrivedBatch(
        epoch=1, batch=2**40, worker=-1, examples=1, rows=0, converted=None, intact=True
    ),
    ArrivedBatch(
        epoch=1, batch=0, worker=0, examples=2, rows=2, converted=(1,), intact=False
    ),
]


def test_batches_in_an_array_are_what_they_were() -> None:
    """One by one, and field by field."""
    batches = Batches.of(BATCHES)

    assert list(batches) == BATCHES
    assert batches[-1] == BATCHES[-1]
    assert list(batches[1:]) == BATCHES[1:]
    assert Batches.of(batches) is batches
    assert batches.column("batch").tolist() == [2, 2**40, 0]
    assert batches.column("intact").tolist() == [True, True, False]
    assert batches.starts().tolist() == [0, 3, 3, 5]
    assert batches.workers() == {-1, 0, 1}
    assert batches.conversions() == {(), None, (1,)}
    assert batches[:1].conversions() == {()}
    assert batches.are_compared().tolist() == [True, False, True]


def test_no_batches_are_told_of_none() -> None:
    """A pass that brought nothing."""
    batches = Batches.of([])

    assert (len(batches), list(batches)) == (0, [])
    assert batches.starts().tolist() == [0]
    assert (batches.workers(), batches.conversions()) == (set(), set())
    assert batches.are_compared().tolist() == []
