"""Compare what arrived with the reference, and say what differs by id.

Pure: ledgers in, a verdict out. Multisets of ids decide, never counts or order.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from autoloader.audit.conversion import spoilt_rows
from autoloader.audit.findings import (
    Mismatches,
    idle_caution,
    nothing_whole_finding,
    offset_finding,
)
from autoloader.audit.identity import Identification, Places
from autoloader.audit.ledger import (
    NO_SLOT,
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
)
from autoloader.values.outcome import Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a gate pass was asked to deliver."""

    ids: Sequence[Any]
    """Distinct ids of the scope."""
    places: Sequence[int]
    """Entries of one epoch: places in `ids`, in the order handed to the sampler."""
    epochs: int
    """Epochs, each over the same entries; at least 1."""
    batch_size: int
    """Examples of a whole batch; at least 1."""
    drop_last: bool
    """Whether an incomplete last batch is left out."""
    of: int
    """Examples of a whole epoch."""
    num_workers: int
    """Workers that were asked for."""
    moved_offsets: tuple[str, ...] = ()
    """Files whose offset moved in the training process while workers read."""
    collated_otherwise: tuple[int, ...] = ()
    """Lists of the first epoch that collate_fn turns into another batch in one process
    than in a worker."""
    cuts: tuple[int, ...] | None = None
    """Lengths of the index lists; None: `batch_size` each, and what is left."""

    def __post_init__(self) -> None:
        """Check that there is something to expect: nothing always arrives."""
        if not self.places or self.epochs < 1 or self.batch_size < 1:
            msg = (
                "an expectation needs at least one entry, epoch and example a batch, "
                f"got {len(self.places)}, {self.epochs} and {self.batch_size}"
            )
            raise ValueError(msg)

    def lists(self) -> list[Sequence[int]]:
        """Return the index lists of an epoch, as the batch sampler cuts them."""
        if self.cuts is not None:
            ends = list(accumulate(self.cuts))
            pairs = zip(ends, self.cuts, strict=True)
            return [self.places[end - length : end] for end, length in pairs]
        size = self.batch_size
        cut = [
            self.places[start : start + size]
            for start in range(0, len(self.places), size)
        ]
        if self.drop_last and len(cut[-1]) < size:
            cut.pop()
        return cut


def judge(
    reference: ReferenceLedger,
    arrived: ArrivalLedger,
    expected: Expectation,
    *,
    count_path: str | None = None,
    batch_bytes: int = 0,
) -> Verdict:
    """Return the verdict on one gate pass.

    Args:
        reference: digests of every distinct id, by place.
        arrived: what reached the training process.
        expected: what was asked for.
        count_path: kept in the verdict for the timed pass.
        batch_bytes: kept in the verdict for memory predictions.
    """
    lists = expected.lists()
    findings = _Judging(reference, arrived, expected).run().findings()
    cautions: list[Finding] = []
    if not lists:
        ids = [expected.ids[place] for place in expected.places]
        findings.append(nothing_whole_finding(ids, expected.batch_size))
    if expected.moved_offsets and expected.num_workers:
        offset = offset_finding(expected.moved_offsets)
        (findings if expected.num_workers > 1 else cautions).append(offset)
    working = {batch.worker for batch in arrived.batches if batch.worker >= 0}
    idle = expected.num_workers - len(working)
    if idle > 0 and len(lists) >= expected.num_workers:
        cautions.append(idle_caution(idle, expected.num_workers))
    is_by_row = all(batch.converted == () for batch in arrived.batches)
    return Verdict(
        passed=not findings,
        examples=sum(len(part) for part in lists),
        of=expected.of,
        epochs=expected.epochs,
        compared="rows" if is_by_row and not arrived.altered.any() else "examples",
        findings=tuple(findings),
        cautions=tuple(cautions),
        count_path=count_path,
        batch_bytes=batch_bytes,
    )


class _Judging:
    """Gives each arrived row its id, and compares it with the reference."""

    def __init__(
        self, reference: ReferenceLedger, arrived: ArrivalLedger, expected: Expectation
    ) -> None:
        self._reference = reference
        self._arrived = arrived
        self._expected = expected
        self._identification = Identification(reference, arrived)
        self._lists = expected.lists()
        self._counts: list[Counter[int]] = [Counter() for _ in range(expected.epochs)]
        self._seen: set[tuple[int, int]] = set()
        self._spoilt = spoilt_rows(arrived)
        self._mismatches = Mismatches()
        places = {text: place for place, text in enumerate(reference.signatures)}
        self._signature_places = np.array(
            [places.get(text, -1) for text in arrived.signatures], np.int64
        )

    def run(self) -> Mismatches:
        """Return all that differs."""
        first = 0
        for batch in self._arrived.batches:
            self._take(batch, range(first, first + batch.rows))
            first += batch.rows
        for number in self._expected.collated_otherwise:
            if number < len(self._lists):
                self._note("collate_mismatch", 0, self._lists[number])
        wanted = Counter(place for part in self._lists for place in part)
        for epoch, got in enumerate(self._counts):
            self._note("missing_ids", epoch, wanted - got)
            self._note("repeated_ids", epoch, got - wanted)
        return self._mismatches

    def _note(self, code: str, epoch: int, places: Iterable[int]) -> None:
        for place in places:
            self._mismatches.add(code, epoch, self._expected.ids[place])

    def _take(self, batch: ArrivedBatch, rows: range) -> None:
        """Count the rows of a batch that is awaited, and compare them in any case."""
        key = (batch.epoch, batch.batch)
        is_known = 0 <= batch.epoch < len(self._counts) and (
            0 <= batch.batch < len(self._lists)
        )
        is_awaited = is_known and key not in self._seen
        self._seen.add(key)
        asked = self._lists[batch.batch] if is_known else ()
        places = self._identification.places_of(batch, rows, asked)
        for row, place in enumerate(places):
            if place is None:
                name = f"batch {batch.batch}, row {row}"
                self._mismatches.add("foreign_ids", batch.epoch, name)
        known = [place for place in places if place is not None]
        if is_awaited:
            self._counts[batch.epoch].update(known)
        else:
            self._note("repeated_ids", batch.epoch, known)
        self._compare(batch.epoch, rows, places)
        spoilt = [
            place
            for row, place in zip(rows, places, strict=True)
            if place is not None and self._spoilt[row]
        ]
        if not batch.intact and not spoilt:
            spoilt = list(asked) or known  # which of them cannot be told
        self._note("collate_mismatch", batch.epoch, spoilt)

    def _compare(self, epoch: int, rows: range, places: Places) -> None:
        """Compare with the reference what workers read, for rows that have an example.

        A row without one got its place by its content.
        """
        pairs = [
            (row, place)
            for row, place in zip(rows, places, strict=True)
            if place is not None and self._arrived.slot[row] != NO_SLOT
        ]
        if not pairs:
            return
        taken, right = (np.array(side) for side in zip(*pairs, strict=True))
        signature = self._signature_places[self._arrived.signature[taken]]
        is_other = signature != self._reference.signature[right]
        wrong = is_other | ~self._identification.has_content(taken, right)
        for row, place in zip(taken[wrong], right[wrong], strict=True):
            for code in self._codes(int(row), int(place)):
                self._mismatches.add(code, epoch, self._expected.ids[place])

    def _codes(self, row: int, place: int) -> list[str]:
        """Return what differs between a row's example and the reference."""
        arrived, reference = self._arrived, self._reference
        codes = _signature_codes(
            reference.signatures[int(reference.signature[place])],
            arrived.signatures[int(arrived.signature[row])],
        )
        if not codes and arrived.label[row] != reference.label[place]:
            return ["label_mismatch"]
        if not codes and arrived.fixed[row] != reference.fixed[place]:
            return ["content_mismatch"]
        return codes


def _signature_codes(reference: str, arrived: str) -> list[str]:
    """Return what differs between two signatures: rows of name, kind, dtype, shape."""
    right, seen = (sorted(json.loads(text), key=str) for text in (reference, arrived))
    if [row[0] for row in right] != [row[0] for row in seen]:
        return ["field_missing"]
    pairs = list(zip(right, seen, strict=True))
    codes = []
    if any(one[1:3] != other[1:3] for one, other in pairs):
        codes.append("dtype_mismatch")
    if any(one[3] != other[3] for one, other in pairs):
        codes.append("shape_mismatch")
    return codes
