"""Compare what arrived with the reference, and say what differs by id.

Pure: ledgers in, a verdict out. Multisets of ids decide, never counts or order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoloader.audit.ledger import (
    NO_SLOT,
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
)
from autoloader.values.outcome import MAX_IDS, Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a gate pass was asked to deliver."""

    ids: Sequence[Any]
    """Distinct ids of the scope."""
    places: Sequence[int]
    """Entries of one epoch: places in `ids`, in the order handed to the sampler."""
    epochs: int
    batch_size: int
    drop_last: bool
    of: int
    """Examples of a whole epoch."""
    num_workers: int
    moved_offsets: tuple[str, ...] = ()
    """Files whose offset moved in the training process while workers read."""

    def lists(self) -> list[Sequence[int]]:
        """Return the index lists of an epoch, as the batch sampler cuts them."""
        size = self.batch_size
        cut = [
            self.places[start : start + size]
            for start in range(0, len(self.places), size)
        ]
        if self.drop_last and cut and len(cut[-1]) < size:
            cut.pop()
        return cut


@dataclass(slots=True)
class _Mismatches:
    """Ids by finding code, with the first epoch that shows each."""

    found: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)

    def add(self, code: str, epoch: int, example_id: Any) -> None:
        self.found.setdefault(code, []).append((epoch, example_id))

    def findings(self) -> list[Finding]:
        return [
            _finding(code, entries)
            for code, entries in sorted(
                self.found.items(), key=lambda item: _ORDER.index(item[0])
            )
        ]


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
    mismatches = _Mismatches()
    counts: list[Counter[int]] = [Counter() for _ in range(expected.epochs)]
    judging = _Judging(reference, arrived, expected, mismatches)
    first_row = 0
    seen: set[tuple[int, int]] = set()
    for batch in arrived.batches:
        rows = range(first_row, first_row + batch.rows)
        first_row += batch.rows
        known = batch.epoch < expected.epochs and batch.batch < len(lists)
        asked = lists[batch.batch] if known else ()
        again = (batch.epoch, batch.batch) in seen
        seen.add((batch.epoch, batch.batch))
        if not batch.intact:
            for place in asked[:1]:
                mismatches.add("collate_mismatch", batch.epoch, expected.ids[place])
        for place in judging.places_of(batch, rows, asked):
            if place is None:
                mismatches.add("foreign_ids", batch.epoch, f"batch {batch.batch}")
            elif again:
                mismatches.add("repeated_ids", batch.epoch, expected.ids[place])
            elif known:
                counts[batch.epoch][place] += 1
    wanted = Counter(place for part in lists for place in part)
    for epoch, got in enumerate(counts):
        for place, times in (wanted - got).items():
            for _ in range(times):
                mismatches.add("missing_ids", epoch, expected.ids[place])
        for place, times in (got - wanted).items():
            for _ in range(times):
                mismatches.add("repeated_ids", epoch, expected.ids[place])
    findings = mismatches.findings()
    cautions: list[Finding] = []
    if expected.moved_offsets:
        offset = _offset_finding(expected.moved_offsets)
        (findings if expected.num_workers > 1 else cautions).append(offset)
    verified = sum(len(part) for part in lists)
    cautions += _idle_workers(arrived, expected, len(lists))
    return Verdict(
        passed=not findings,
        examples=verified,
        of=expected.of,
        epochs=expected.epochs,
        compared="examples" if any(b.converted for b in arrived.batches) else "rows",
        findings=tuple(findings),
        cautions=tuple(cautions),
        count_path=count_path,
        batch_bytes=batch_bytes,
    )


@dataclass(slots=True)
class _Judging:
    """Gives each arrived row its id, and compares it with the reference."""

    reference: ReferenceLedger
    arrived: ArrivalLedger
    expected: Expectation
    mismatches: _Mismatches

    def places_of(
        self, batch: ArrivedBatch, rows: range, asked: Sequence[int]
    ) -> Iterable[int | None]:
        """Yield the place of each row's id; None where no id of the scope explains it."""
        slots = self._slots(batch, rows, asked)
        leftover = Counter(asked)
        for row in rows:
            slot = int(self.arrived.slot[row])
            place = slots.get(slot) if slot != NO_SLOT else None
            if place is not None:
                leftover[place] -= 1
                self._compare(batch.epoch, row, place)
                yield place
                continue
            place = self._by_content(row, +leftover)
            if place is None and slot == NO_SLOT and batch.rows == len(asked):
                # as many rows as were asked for: this row stands where its id should
                place = asked[row - rows.start]
                self.mismatches.add(
                    "collate_mismatch", batch.epoch, self.expected.ids[place]
                )
            elif place is not None and slot == NO_SLOT:
                leftover[place] -= 1
            yield place

    def _slots(
        self, batch: ArrivedBatch, rows: range, asked: Sequence[int]
    ) -> dict[int, int | None]:
        """Map places within collate's input to ids.

        Where collate was given as many examples as the list has, they correspond one to
        one. Else the list is aligned with them by content, in order.
        """
        if batch.examples == len(asked):
            return dict(enumerate(asked))
        by_slot = {int(self.arrived.slot[row]): row for row in rows}
        mapped: dict[int, int | None] = {}
        next_asked = 0
        for slot in sorted(by_slot):
            row = by_slot[slot]
            candidates = range(next_asked, len(asked))
            found = next((at for at in candidates if self._equal(row, asked[at])), None)
            mapped[slot] = None if found is None else asked[found]
            if found is not None:
                next_asked = found + 1
        return mapped

    def _equal(self, row: int, place: int) -> bool:
        return bool(
            self.arrived.fixed[row] == self.reference.fixed[place]
            and self.arrived.label[row] == self.reference.label[place]
        )

    def _by_content(self, row: int, among: Counter[int]) -> int | None:
        """Return the place whose content this row has: of the list first, then any."""
        for place in among:
            if self._equal(row, place):
                return place
        same = (self.reference.fixed == self.arrived.fixed[row]) & (
            self.reference.label == self.arrived.label[row]
        )
        hits = same.nonzero()[0]
        return int(hits[0]) if len(hits) else None

    def _compare(self, epoch: int, row: int, place: int) -> None:
        example_id = self.expected.ids[place]
        arrived_signature = self.arrived.signatures[int(self.arrived.signature[row])]
        reference_signature = self.reference.signatures[
            int(self.reference.signature[place])
        ]
        if arrived_signature != reference_signature:
            for code in _signature_codes(reference_signature, arrived_signature):
                self.mismatches.add(code, epoch, example_id)
        elif self.arrived.label[row] != self.reference.label[place]:
            self.mismatches.add("label_mismatch", epoch, example_id)
        elif self.arrived.fixed[row] != self.reference.fixed[place]:
            self.mismatches.add("content_mismatch", epoch, example_id)


def _signature_codes(reference: str, arrived: str) -> list[str]:
    """Return what differs between two signatures."""
    right = {row[0]: row[1:] for row in json.loads(reference)}
    seen = {row[0]: row[1:] for row in json.loads(arrived)}
    if right.keys() != seen.keys():
        return ["field_missing"]
    codes = []
    if any(right[name][:2] != seen[name][:2] for name in right):
        codes.append("dtype_mismatch")
    if any(right[name][2] != seen[name][2] for name in right):
        codes.append("shape_mismatch")
    return codes


_ORDER = (
    "missing_ids", "repeated_ids", "foreign_ids", "label_mismatch", "content_mismatch",
    "collate_mismatch", "field_missing", "dtype_mismatch", "shape_mismatch",
)  # fmt: skip

_SAID = {
    "missing_ids": (
        "never arrived",
        "a collate_fn or __getitems__ that drops what fails to load in a worker",
    ),
    "repeated_ids": (
        "arrived more often than asked for",
        "indices are drawn in the workers",
    ),
    "foreign_ids": (
        "are no examples of the scope",
        "the dataset ignores the index it is given",
    ),
    "label_mismatch": (
        "have another label than in one process",
        "state shared between workers, such as a file handle opened before they start",
    ),
    "content_mismatch": (
        "have other content than in one process",
        "a file handle opened before the workers start, or state that is not copied to them",
    ),
    "collate_mismatch": (
        "arrived otherwise than their worker read them",
        "a buffer that is used again before its batch was sent",
    ),
    "field_missing": (
        "have other fields than in one process",
        "a branch on get_worker_info()",
    ),
    "dtype_mismatch": (
        "have another dtype than in one process",
        "a default dtype set elsewhere",
    ),
    "shape_mismatch": (
        "have another shape than in one process",
        "a transform set elsewhere",
    ),
}


def _finding(code: str, entries: list[tuple[int, Any]]) -> Finding:
    said, cause = _SAID[code]
    distinct = list(dict.fromkeys(example_id for _, example_id in entries))
    shown = tuple(distinct[:MAX_IDS])
    more = (
        f" and {len(distinct) - len(shown)} more" if len(distinct) > len(shown) else ""
    )
    ids = ", ".join(str(example_id) for example_id in shown)
    noun = "example" if len(distinct) == 1 else "examples"
    return Finding(
        code=code,
        count=len(distinct),
        ids=shown,
        epoch=min(epoch for epoch, _ in entries),
        message=f"{len(distinct)} {noun} {_singular(said, len(distinct))}: ids {ids}{more}",
        hint=f"usual cause: {cause}",
    )


def _singular(said: str, count: int) -> str:
    if count != 1:
        return said
    for plural, singular in (("are no examples", "is no example"), ("have ", "has ")):
        if said.startswith(plural):
            return singular + said.removeprefix(plural)
    return said


def _offset_finding(names: tuple[str, ...]) -> Finding:
    listed = ", ".join(names[:MAX_IDS])
    return Finding(
        code="shared_file_offset",
        count=len(names),
        message=f"workers share the read position of {len(names)} open file(s): {listed}",
        hint="open the file in each worker (on first use), or read with os.pread",
    )


def _idle_workers(
    arrived: ArrivalLedger, expected: Expectation, batches: int
) -> list[Finding]:
    """Caution where workers made no batch although there were batches for all."""
    working = {batch.worker for batch in arrived.batches if batch.worker >= 0}
    idle = expected.num_workers - len(working)
    if idle <= 0 or batches < expected.num_workers:
        return []
    return [
        Finding(
            code="idle_workers",
            count=idle,
            message=f"{idle} of {expected.num_workers} workers made no batch",
            hint="fewer workers do the same work",
        )
    ]
