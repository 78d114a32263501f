"""Ledgers made by hand: an honest pass over some examples, for tests to spoil."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autoloader.audit.ledger import (
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
    SignatureTable,
)
from autoloader.audit.verdict import Expectation, judge
from autoloader.values.outcome import Verdict

SIGNATURE = '[["0", "tensor", "float32", [3]], ["1", "int", null, []]]'


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a batch, as the ledger has it."""

    slot: int
    fixed: int
    label: int
    signature: str = SIGNATURE
    altered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch that arrived, with its rows."""

    epoch: int
    batch: int
    rows: tuple[Row, ...]
    worker: int = -1
    examples: int | None = None
    """Examples that collate_fn was given; None: as many as there are rows."""
    converted: tuple[int, ...] | None = ()
    intact: bool = True

    def with_rows(self, *rows: Row, examples: int | None = None) -> "Batch":
        """Return the batch with other rows; collate_fn was given as many as before."""
        given = len(self.rows) if examples is None else examples
        return replace(self, rows=rows, examples=given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Examples, and how a pass reads them."""

    count: int = 10
    batch_size: int = 4
    epochs: int = 2
    num_workers: int = 2
    drop_last: bool = False
    places: Sequence[int] | None = None
    """Entries of an epoch; None: each example once, in order."""
    labels: Sequence[int] | None = None
    """Digest of the label of each example; None: all different."""
    contents: Sequence[int] | None = None
    """Digest of the fixed fields of each example; None: all different."""
    moved_offsets: tuple[str, ...] = ()
    ids: Sequence[Any] = field(default_factory=list)
    """Ids of the examples; empty: `e0`, `e1`, ..."""

    def content(self, place: int) -> tuple[int, int]:
        """Return digests of the fixed fields and of the label of an example."""
        fixed = self.contents[place] if self.contents else 1000 + place
        return fixed, self.labels[place] if self.labels else 2000 + place

    def row(self, place: int, slot: int) -> Row:
        """Return the honest row of an example."""
        fixed, label = self.content(place)
        return Row(slot=slot, fixed=fixed, label=label)

    @property
    def names(self) -> list[Any]:
        """Ids by place."""
        return list(self.ids) or [f"e{place}" for place in range(self.count)]

    def expectation(self) -> Expectation:
        """Return what the pass is asked to deliver."""
        return Expectation(
            ids=self.names,
            places=range(self.count) if self.places is None else self.places,
            epochs=self.epochs,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            of=self.count,
            num_workers=self.num_workers,
            moved_offsets=self.moved_offsets,
        )

    def honest(self) -> list[Batch]:
        """Return the batches of a pass in which nothing is wrong."""
        lists = self.expectation().lists()
        return [
            Batch(
                epoch=epoch,
                batch=number,
                worker=number % self.num_workers if self.num_workers else -1,
                rows=tuple(self.row(place, slot) for slot, place in enumerate(asked)),
            )
            for epoch in range(self.epochs)
            for number, asked in enumerate(lists)
        ]

    def reference(self) -> ReferenceLedger:
        """Return the reference of the examples."""
        contents = [self.content(place) for place in range(self.count)]
        return ReferenceLedger(
            np.array([fixed for fixed, _ in contents], np.uint64),
            np.array([label for _, label in contents], np.uint64),
            np.zeros(self.count, np.int64),
            [SIGNATURE],
        )

    def judge(self, batches: Sequence[Batch]) -> Verdict:
        """Return the verdict on what arrived."""
        return judge(self.reference(), ledger_of(batches), self.expectation())


def ledger_of(batches: Sequence[Batch]) -> ArrivalLedger:
    """Return the ledger of some batches."""
    rows = [row for batch in batches for row in batch.rows]
    table = SignatureTable()
    signature = np.array([table.place(row.signature) for row in rows], np.int32)
    return ArrivalLedger(
        [
            ArrivedBatch(
                epoch=batch.epoch,
                batch=batch.batch,
                worker=batch.worker,
                examples=len(batch.rows) if batch.examples is None else batch.examples,
                rows=len(batch.rows),
                converted=batch.converted,
                intact=batch.intact,
            )
            for batch in batches
        ],
        np.array([row.slot for row in rows], np.int32),
        np.array([row.fixed for row in rows], np.uint64),
        np.array([row.label for row in rows], np.uint64),
        signature,
        table.signatures,
        np.array([row.altered for row in rows], np.uint64),
    )


def codes(verdict: Verdict) -> dict[str, tuple[Any, ...]]:
    """Return the ids of each finding by its code."""
    return {finding.code: finding.ids for finding in verdict.findings}
