"""The comparison of `audit.comparison` written plainly: one batch after the other.

Slow and short, with counters of Python; the package's own must find the same, in the
same order.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from autoloader.audit.conversion import spoilt_rows
from autoloader.audit.expectation import Expectation
from autoloader.audit.findings import Mismatches
from autoloader.audit.identity import Identification
from autoloader.audit.ledger import (
    NO_SLOT,
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
)
from autoloader.audit.signatures import signature_differences
from autoloader.values.outcome import Finding


def plain_findings(
    references: Sequence[ReferenceLedger],
    arrived: ArrivalLedger,
    expected: Expectation,
) -> list[Finding]:
    """Return what differs, as `judge` must find it where a list has whole batches."""
    return _Plain(references, arrived, expected).run().findings()


class _Plain:
    def __init__(
        self,
        references: Sequence[ReferenceLedger],
        arrived: ArrivalLedger,
        expected: Expectation,
    ) -> None:
        self._references = references
        self._arrived = arrived
        self._expected = expected
        self._identification = Identification(references, arrived)
        self._lists = [
            [list(part) for part in expected.lists(epoch)]
            for epoch in range(expected.epochs)
        ]
        self._counts: list[Counter[int]] = [Counter() for _ in range(expected.epochs)]
        self._seen: set[tuple[int, int]] = set()
        self._spoilt = spoilt_rows(arrived)
        self._mismatches = Mismatches()

    def run(self) -> Mismatches:
        first = 0
        for batch in self._arrived.batches:
            self._take(batch, range(first, first + batch.rows))
            first += batch.rows
        for number in self._expected.collated_otherwise:
            if number < len(self._lists[0]):
                self._note("collate_mismatch", 0, self._lists[0][number])
        for epoch, got in enumerate(self._counts):
            wanted = Counter(place for part in self._lists[epoch] for place in part)
            self._note("missing_ids", epoch, wanted - got)
            self._note("repeated_ids", epoch, got - wanted)
        return self._mismatches

    def _note(self, code: str, epoch: int, places: Iterable[int]) -> None:
        for place in places:
            self._mismatches.add(code, epoch, self._expected.ids[place])

    def _take(self, batch: ArrivedBatch, rows: range) -> None:
        key = (batch.epoch, batch.batch)
        is_known = 0 <= batch.epoch < len(self._counts) and (
            0 <= batch.batch < len(self._lists[0])
        )
        is_awaited = is_known and key not in self._seen
        self._seen.add(key)
        asked = self._lists[batch.epoch][batch.batch] if is_known else []
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
        for row, place in zip(rows, places, strict=True):
            if place is not None and self._arrived.slot[row] != NO_SLOT:
                for code, words in self._codes(row, place, batch.epoch).items():
                    self._mismatches.add(
                        code, batch.epoch, self._expected.ids[place], words
                    )
        spoilt = [
            place
            for row, place in zip(rows, places, strict=True)
            if place is not None and self._spoilt[row]
        ]
        if not batch.intact and not spoilt:
            spoilt = asked or known
        self._note("collate_mismatch", batch.epoch, spoilt)

    def _codes(self, row: int, place: int, epoch: int) -> dict[str, str | None]:
        arrived = self._arrived
        at = max(0, min(epoch, len(self._references) - 1))
        reference = self._references[at]
        right = reference.signatures[int(reference.signature[place])]
        seen = arrived.signatures[int(arrived.signature[row])]
        differing = {} if right == seen else signature_differences(right, seen)
        if differing:
            return dict(differing)
        if arrived.label[row] != reference.label[place]:
            return {"label_mismatch": None}
        if arrived.fixed[row] != reference.fixed[place]:
            return {"content_mismatch": None}
        return {}
