"""What was read and what arrived, as digests in arrays on disk.

Two kinds: the reference has one row for each distinct id; an arrival ledger has one row
for each example that reached the training process. 24 and 32 bytes a row; signatures
are kept once each. Arrays are plain `.npy` without pickle, tables JSON.
"""

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.alignment import NO_SLOT
from autoloader.errors import ProtocolError

__all__ = ["NO_SLOT", "ArrivalLedger", "LedgerWriter", "ReferenceLedger", "ScopeList"]

Id = int | str
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScopeList:
    """The scope's index list: places in a table of distinct ids."""

    ids: list[Any]
    """Distinct indices, as the sampler yields them, in order of first use."""
    places: list[int]
    """The list itself: for each entry the place of its id in `ids`."""
    cuts: list[int] | None = None
    """Lengths of the batches that the user's own batch_sampler made of it; None where
    the batch size is free."""

    @classmethod
    def of(cls, indices: Sequence[Any], cuts: list[int] | None = None) -> Self:
        """Return the list that a sampler yielded."""
        table: dict[Any, int] = {}
        places = [table.setdefault(index, len(table)) for index in indices]
        return cls(list(table), places, cuts)

    def batches(self, wanted: int) -> list[list[int]]:
        """Return entries batch by batch: the first ones, and the last one of all.

        Args:
            wanted: about how many entries; all of them where there are not more.

        Raises:
            ValueError: the list has no batches of its own.
        """
        if self.cuts is None:
            msg = "the batch size is free, so the list has no batches of its own"
            raise ValueError(msg)
        ends = list(accumulate(self.cuts))
        whole = [
            list(range(end - size, end))
            for end, size in zip(ends, self.cuts, strict=True)
        ]
        if wanted >= len(self.places):
            return whole
        kept = [whole[0]]
        for batch in whole[1:-1]:
            if sum(map(len, kept)) + len(batch) + self.cuts[-1] > wanted:
                break
            kept.append(batch)
        return [*kept, whole[-1]] if len(whole) > 1 else kept

    def write(self, folder: Path) -> None:
        """Write the list; indices are JSON scalars (numbers and strings)."""
        text = json.dumps({"ids": self.ids, "places": self.places, "cuts": self.cuts})
        (folder / "scope.json").write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        data = json.loads((folder / "scope.json").read_text(encoding="utf-8"))
        return cls(data["ids"], data["places"], data["cuts"])

    def indices(self, entries: Sequence[int]) -> list[Any]:
        """Return the indices at the given entries of the list."""
        return [self.ids[self.places[entry]] for entry in entries]


@dataclass(frozen=True, slots=True)
class ReferenceLedger:
    """Digests of every distinct id, read in one process."""

    fixed: U64
    label: U64
    signature: I64
    """Place in `signatures`."""
    signatures: list[str]

    def write(self, folder: Path) -> None:
        """Write the ledger into a folder."""
        np.save(folder / "fixed.npy", self.fixed, allow_pickle=False)
        np.save(folder / "label.npy", self.label, allow_pickle=False)
        np.save(folder / "signature.npy", self.signature, allow_pickle=False)
        text = json.dumps(self.signatures)
        (folder / "signatures.json").write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        fixed, label, signature = (
            np.load(folder / f"{name}.npy", allow_pickle=False)
            for name in ("fixed", "label", "signature")
        )
        text = (folder / "signatures.json").read_text(encoding="utf-8")
        return cls(fixed, label, signature, json.loads(text))


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
        self._batches: list[dict[str, Any]] = []
        self._slot = array("i")
        self._fixed = array("Q")
        self._label = array("Q")
        self._signature = array("i")
        self._altered = array("Q")

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
        """Begin a batch; `add_row` then adds to it.

        Args:
            epoch: from 0.
            batch: number of its index list within the epoch.
            worker: the worker that made it; -1: the training process.
            examples: how many collate_fn was given.
            converted: as `Alignment.converted`; True where only that is known.
            intact: whether it arrived as collate_fn returned it.
        """
        fields = converted if converted or converted is None else ()
        self._batches.append(
            {
                "epoch": epoch,
                "batch": batch,
                "worker": worker,
                "examples": examples,
                "rows": 0,
                "converted": None if fields is None or fields is True else list(fields),
                "intact": intact,
            }
        )

    def add_row(
        self, *, slot: int, fixed: int, label: int, signature: str, altered: int = 0
    ) -> None:
        """Add a row to the batch begun last; `altered` as in `Alignment`."""
        self._batches[-1]["rows"] += 1
        self._slot.append(slot)
        self._fixed.append(fixed)
        self._label.append(label)
        self._signature.append(self._table.place(signature))
        self._altered.append(altered)

    def write(self, folder: Path) -> None:
        """Write the ledger into a folder."""
        for name, values, dtype in (
            ("slot", self._slot, np.int32),
            ("fixed", self._fixed, np.uint64),
            ("label", self._label, np.uint64),
            ("signature", self._signature, np.int32),
            ("altered", self._altered, np.uint64),
        ):
            np.save(
                folder / f"arrived_{name}.npy",
                np.array(values, dtype),
                allow_pickle=False,
            )
        tables = {"batches": self._batches, "signatures": self._table.signatures}
        (folder / "arrived.json").write_text(json.dumps(tables), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedBatch:
    """One batch that reached the training process."""

    epoch: int
    batch: int
    """Number of its index list within the epoch."""
    worker: int
    """Worker that made it; -1: the training process."""
    examples: int
    """Examples that collate_fn was given."""
    rows: int
    """Rows that arrived."""
    converted: tuple[int, ...] | None
    """Fields with values of collate_fn's own; None: not compared row by row."""
    intact: bool
    """Whether the batch arrived as collate_fn returned it."""


@dataclass(frozen=True, slots=True)
class ArrivalLedger:
    """Everything that reached the training process."""

    batches: list[ArrivedBatch]
    slot: NDArray[np.int32]
    fixed: U64
    label: U64
    signature: NDArray[np.int32]
    """Place in `signatures`."""
    signatures: list[str]
    altered: U64
    """For each row a mask of the fields that differ from its example."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what a trial's `LedgerWriter` wrote.

        Raises:
            ProtocolError: the arrays do not belong together.
        """
        tables = json.loads((folder / "arrived.json").read_text(encoding="utf-8"))
        batches = [
            ArrivedBatch(**{**item, "converted": _fields(item["converted"])})
            for item in tables["batches"]
        ]
        arrays = [
            np.load(folder / f"arrived_{name}.npy", allow_pickle=False)
            for name in ("slot", "fixed", "label", "signature", "altered")
        ]
        rows = sum(batch.rows for batch in batches)
        if any(len(array) != rows for array in arrays):
            msg = f"the arrival ledger in {folder} is incomplete"
            raise ProtocolError(msg)
        slot, fixed, label, signature, altered = arrays
        return cls(
            batches, slot, fixed, label, signature, tables["signatures"], altered
        )


def _fields(found: list[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
