"""What was read and what arrived, as digests in arrays on disk.

Two kinds: the reference has one row for each distinct id; an arrival ledger has one row
for each example that reached the training process. 24 and 32 bytes a row, 8 more where
the user named an id; signatures are kept once each. Arrays are plain `.npy` without
pickle, tables JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.alignment import NO_SLOT
from autoloader.audit.batches import RECORD, ArrivedBatch, Batches, Converted
from autoloader.audit.scope_list import ScopeList
from autoloader.audit.writing import write_array, write_table
from autoloader.errors import ProtocolError

__all__ = [
    "NO_SLOT",
    "ArrivalLedger",
    "ArrivedBatch",
    "LedgerWriter",
    "ReferenceLedger",
    "ScopeList",
    "SignatureTable",
]

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Places = I64 | NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReferenceLedger:
    """Digests of every distinct id, read in one process."""

    fixed: U64
    label: U64
    signature: I64
    """Place in `signatures`."""
    signatures: list[str]
    id: U64 | None = None
    """Digest of the id field, where the user named one; None: none was named."""

    def write(self, folder: Path) -> None:
        """Write the ledger into a folder.

        Raises:
            StoredFileError: the disk refuses.
        """
        (folder / "id.npy").unlink(missing_ok=True)
        if self.id is not None:
            write_array(folder / "id.npy", self.id)
        write_array(folder / "fixed.npy", self.fixed)
        write_array(folder / "label.npy", self.label)
        write_array(folder / "signature.npy", self.signature)
        write_table(folder / "signatures.json", self.signatures)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        fixed, label, signature = (
            np.load(folder / f"{name}.npy", allow_pickle=False)
            for name in ("fixed", "label", "signature")
        )
        text = (folder / "signatures.json").read_text(encoding="utf-8")
        ids = _read_ids(folder / "id.npy")
        return cls(fixed, label, signature, json.loads(text), ids)


class SignatureTable:
    """Give each distinct signature a place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, signature: str) -> int:
        """Return the place of a signature, the same for equal ones."""
        return self._places.setdefault(signature, len(self._places))

    @property
    def signatures(self) -> list[str]:
        """All signatures in order of their places."""
        return list(self._places)


class LedgerWriter:
    """Collect arrivals batch by batch in the trial, then write them at once."""

    def __init__(self) -> None:
        self._table = SignatureTable()
        self._converted: dict[Converted, int] = {}
        self._batches: list[bytes] = []
        self._open: list[Any] | None = None
        self._rows = {name: bytearray() for name in _ROWS}
        self._ids = bytearray()

    def add_batch(
        self,
        *,
        epoch: int,
        batch: int,
        worker: int,
        examples: int,
        converted: Sequence[int] | bool | None,
        intact: bool,
    ) -> None:
        """Begin a batch; `add_rows` then adds to it.

        Args:
            epoch: from 0.
            batch: number of its index list within the epoch.
            worker: the worker that made it; -1: the training process.
            examples: how many collate_fn was given.
            converted: as `Alignment.converted`; True where only that is known.
            intact: whether it arrived as collate_fn returned it.
        """
        self._close()
        fields: Converted = None
        if converted is not None and not isinstance(converted, bool):
            fields = tuple(converted)
        elif converted is False:
            fields = ()
        place = self._converted.setdefault(fields, len(self._converted))
        self._open = [epoch, batch, worker, examples, 0, place, intact]

    def add_rows(
        self,
        *,
        slots: Sequence[int] | I64,
        fixed: Sequence[int] | U64,
        label: Sequence[int] | U64,
        signatures: Sequence[str],
        signature: Sequence[int] | Places,
        altered: Sequence[int] = (),
        ids: Sequence[int] | U64 = (),
    ) -> None:
        """Add rows to the batch begun last.

        Args:
            slots: as in `Alignment`, one a row.
            fixed: digests, one a row.
            label: digests, one a row.
            signatures: those of the batch, once each.
            signature: place in `signatures`, one a row.
            altered: as in `Alignment`; empty: nothing is.
            ids: digests of the id field, one a row; empty: there are none.
        """
        if self._open is None:
            msg = "rows belong to a batch, and none was begun"
            raise ValueError(msg)
        count = len(slots)
        self._open[4] += count
        self._add_ids(ids)
        found = {
            "slot": slots,
            "fixed": fixed,
            "label": label,
            "signature": self._kinds(signatures, signature, count),
            "altered": altered if len(altered) else np.zeros(count, np.uint64),
        }
        for name, values in found.items():
            self._rows[name] += np.asarray(values, _ROWS[name]).tobytes()

    def add_row(
        self,
        *,
        slot: int,
        fixed: int,
        label: int,
        signature: str,
        altered: int = 0,
        id_digest: int = 0,
    ) -> None:
        """Add a row to the batch begun last.

        Args:
            slot: as in `Alignment`.
            fixed: digest.
            label: digest.
            signature: what it is made of.
            altered: as in `Alignment`.
            id_digest: of the id field; 0: there is none.
        """
        self.add_rows(
            slots=[slot],
            fixed=[fixed],
            label=[label],
            signatures=[signature],
            signature=[0],
            altered=[altered],
            ids=[id_digest] if id_digest else (),
        )

    def write(self, folder: Path) -> None:
        """Write the ledger into a folder.

        Raises:
            StoredFileError: the disk refuses.
        """
        self._close()
        records = np.frombuffer(b"".join(self._batches), RECORD)
        write_array(folder / "arrived_batches.npy", records)
        for name, dtype in _ROWS.items():
            array: NDArray[Any] = np.frombuffer(self._rows[name], dtype)
            write_array(folder / f"arrived_{name}.npy", array)
        if self._ids:
            self._fill_ids()
            ids = np.frombuffer(self._ids, np.uint64)
            write_array(folder / "arrived_id.npy", ids)
        tables = {
            "converted": list(self._converted),
            "signatures": self._table.signatures,
        }
        write_table(folder / "arrived.json", tables)

    def _kinds(
        self, signatures: Sequence[str], signature: Sequence[int] | Places, count: int
    ) -> NDArray[np.int32]:
        """Return the place of each row's signature in the table."""
        if len(signatures) == 1:
            return np.full(count, self._table.place(signatures[0]), np.int32)
        places = [self._table.place(text) for text in signatures]
        return np.array(places, np.int32)[np.asarray(signature, np.int64)]

    def _add_ids(self, ids: Sequence[int] | U64) -> None:
        if len(ids):
            self._fill_ids()
            self._ids += np.asarray(ids, np.uint64).tobytes()

    def _fill_ids(self) -> None:
        """Give the rows that came without an id a 0."""
        self._ids += bytes(len(self._rows["fixed"]) - len(self._ids))

    def _close(self) -> None:
        """Keep the batch begun last."""
        if self._open is not None:
            self._batches.append(np.array([tuple(self._open)], RECORD).tobytes())
        self._open = None


_ROWS: dict[str, type[np.generic]] = {
    "slot": np.int32,
    "fixed": np.uint64,
    "label": np.uint64,
    "signature": np.int32,
    "altered": np.uint64,
}
"""Columns of an arrival ledger, one value a row."""


@dataclass(frozen=True, slots=True)
class ArrivalLedger:
    """Everything that reached the training process."""

    batches: Sequence[ArrivedBatch]
    slot: NDArray[np.int32]
    fixed: U64
    label: U64
    signature: NDArray[np.int32]
    """Place in `signatures`."""
    signatures: list[str]
    altered: U64
    """For each row a mask of the fields that differ from its example."""
    id: U64 | None = None
    """Digest of the id field, 0 where a row has none; None: no row has one."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what a trial's `LedgerWriter` wrote.

        Raises:
            ProtocolError: the arrays do not belong together.
        """
        tables = json.loads((folder / "arrived.json").read_text(encoding="utf-8"))
        records = np.load(folder / "arrived_batches.npy", allow_pickle=False)
        converted = [_fields(item) for item in tables["converted"]]
        batches = Batches(records, converted)
        arrays = [
            np.load(folder / f"arrived_{name}.npy", allow_pickle=False)
            for name in ("slot", "fixed", "label", "signature", "altered")
        ]
        ids = _read_ids(folder / "arrived_id.npy")
        rows = int(batches.starts()[-1])
        if any(len(array) != rows for array in (*arrays, ids) if array is not None):
            msg = f"the arrival ledger in {folder} is incomplete"
            raise ProtocolError(msg)
        slot, fixed, label, signature, altered = arrays
        signatures = tables["signatures"]
        return cls(batches, slot, fixed, label, signature, signatures, altered, ids)


def _read_ids(path: Path) -> U64 | None:
    """Return the digests of ids; None where none were written."""
    if not path.exists():
        return None
    found: U64 = np.load(path, allow_pickle=False)
    return found


def _fields(found: list[int] | None) -> Converted:
    return None if found is None else tuple(found)
