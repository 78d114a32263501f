"""What is known of each batch that arrived, in one array: 29 bytes a batch.

The rows of these batches are `audit.ledger`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Converted = tuple[int, ...] | None

RECORD = np.dtype(
    [
        ("epoch", np.int32),
        ("batch", np.int64),
        ("worker", np.int32),
        ("examples", np.int32),
        ("rows", np.int32),
        ("converted", np.int32),
        ("intact", np.bool_),
    ]
)
"""A batch as `ArrivedBatch` has it; `converted` is a place in a table."""


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
    converted: Converted
    """Fields with values of collate_fn's own; None: not compared row by row."""
    intact: bool
    """Whether the batch arrived as collate_fn returned it."""


class Batches(Sequence[ArrivedBatch]):
    """The batches of a pass in order of arrival.

    Args:
        records: one `RECORD` a batch.
        converted: what the records' `converted` are places in.
    """

    def __init__(self, records: NDArray[Any], converted: Sequence[Converted]) -> None:
        self._records = records
        self._converted = tuple(converted)

    @classmethod
    def of(cls, batches: Iterable[ArrivedBatch]) -> Batches:
        """Return batches in an array, those that lie in one already as they are."""
        if isinstance(batches, Batches):
            return batches
        table: dict[Converted, int] = {}
        records = [
            (
                batch.epoch,
                batch.batch,
                batch.worker,
                batch.examples,
                batch.rows,
                table.setdefault(batch.converted, len(table)),
                batch.intact,
            )
            for batch in batches
        ]
        return cls(np.array(records, RECORD), list(table))

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, at: int) -> ArrivedBatch: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> ArrivedBatch | Self:
        if isinstance(at, slice):
            return type(self)(self._records[at], self._converted)
        epoch, batch, worker, examples, rows, place, intact = self._records[at].item()
        return ArrivedBatch(
            epoch=epoch,
            batch=batch,
            worker=worker,
            examples=examples,
            rows=rows,
            converted=self._converted[place],
            intact=intact,
        )

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of `RECORD` for all batches, numbers with 8 bytes each."""
        found = self._records[name]
        return found.copy() if found.dtype == np.bool_ else found.astype(np.int64)

    def starts(self) -> NDArray[np.int64]:
        """Return for each batch the place of its first row, and the end of them all."""
        ends: NDArray[np.int64] = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self._records["rows"], out=ends[1:])
        return ends

    def workers(self) -> set[int]:
        """Return the numbers of the workers that made any; -1: none did."""
        return set(np.unique(self._records["worker"]).tolist())

    def conversions(self) -> set[Converted]:
        """Return what `converted` says, of all batches."""
        used = np.unique(self._records["converted"]).tolist()
        return {self._converted[place] for place in used}

    def are_compared(self) -> NDArray[np.bool_]:
        """Return for each batch whether it was compared row by row."""
        known = np.array([fields is not None for fields in self._converted], np.bool_)
        places = self._records["converted"]
        found: NDArray[np.bool_] = known[places] if len(known) else places > 0
        return found
