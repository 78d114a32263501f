"""Compare what a stream's workers delivered with the stream read in one process.

Pure. Examples of a stream have no index: they are told apart by their content (an id
field included, where one is named). A stream that was cut is never accused for what
lies beyond the cut.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.findings import Mismatches, idle_caution, offset_finding
from autoloader.audit.ledger import ArrivalLedger, ReferenceLedger
from autoloader.values.outcome import Finding, Verdict

Key = tuple[int, int]
"""Digest of the fixed fields, place of the signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamExpectation:
    """What is known of the stream, and what the trial was asked for."""

    ids: Sequence[Any]
    """Id of each example of the reference, in its order."""
    is_complete: bool
    """Whether the reference holds the whole stream."""
    keeps_order: bool
    """Whether every pass has the same order."""
    epochs: int
    batch_size: int | None
    drop_last: bool
    num_workers: int
    was_cut: bool
    """Whether the trial stopped before the end of its epochs."""
    declared: int | None
    """What `len(dataset)` says; None: nothing."""
    shares: Mapping[int, ReferenceLedger] | None = None
    """For each worker the first examples of its share, read in one process that was
    told to be that worker; None: not read."""
    moved_offsets: tuple[str, ...] = ()
    """Files whose offset moved in the training process while workers read."""


def judge_stream(
    reference: ReferenceLedger,
    arrived: ArrivalLedger,
    expected: StreamExpectation,
    *,
    count_path: str | None = None,
    batch_bytes: int = 0,
) -> Verdict:
    """Return the verdict on one gate pass over a stream."""
    judging = _StreamJudging(reference, arrived, expected)
    findings = judging.run().findings()
    spoilt = [batch for batch in arrived.batches if not batch.intact]
    if spoilt:
        findings.append(_spoilt_finding(len(spoilt), spoilt[0].epoch))
    cautions = judging.cautions()
    if expected.moved_offsets and expected.num_workers:
        offset = offset_finding(expected.moved_offsets)
        (findings if expected.num_workers > 1 else cautions).append(offset)
    judged = judging.judged()
    return Verdict(
        passed=not findings,
        examples=judged,
        of=len(expected.ids) if expected.is_complete else None,
        epochs=expected.epochs,
        compared="rows"
        if all(b.converted == () for b in arrived.batches)
        else "examples",
        findings=tuple(findings),
        cautions=tuple(cautions),
        count_path=count_path,
        batch_bytes=batch_bytes,
    )


class _StreamJudging:
    """Counts examples epoch by epoch, by content."""

    def __init__(
        self,
        reference: ReferenceLedger,
        arrived: ArrivalLedger,
        expected: StreamExpectation,
    ) -> None:
        self._expected = expected
        self._arrived = arrived
        self._places = {text: place for place, text in enumerate(reference.signatures)}
        signature = self._common(arrived.signatures)
        self._right = Counter(_keys(reference.fixed, reference.signature))
        self._names: dict[Key, list[Any]] = {}
        for key, name in zip(
            _keys(reference.fixed, reference.signature), expected.ids, strict=True
        ):
            self._names.setdefault(key, []).append(name)
        self._keys = _keys(arrived.fixed, signature[arrived.signature])
        counts = [batch.rows for batch in arrived.batches]
        self._epoch = np.repeat([batch.epoch for batch in arrived.batches], counts)
        self._worker = np.repeat([batch.worker for batch in arrived.batches], counts)
        self._mismatches = Mismatches()

    def _common(self, signatures: Sequence[str]) -> NDArray[np.int64]:
        """Return the place of each signature, the same in all ledgers."""
        for text in signatures:
            self._places.setdefault(text, len(self._places))
        return np.array([self._places[text] for text in signatures], np.int64)

    def _of_share(self, share: ReferenceLedger) -> list[Key]:
        if not len(share.fixed):
            return []
        return _keys(share.fixed, self._common(share.signatures)[share.signature])

    def run(self) -> Mismatches:
        """Return all that differs."""
        for epoch in range(self._expected.epochs):
            rows = np.flatnonzero(self._epoch == epoch)
            got = Counter(self._keys[row] for row in rows)
            if self._expected.is_complete and not self._expected.was_cut:
                self._judge_whole(epoch, got)
            else:
                self._judge_cut(epoch, got, rows)
        return self._mismatches

    def judged(self) -> int:
        """Return the examples of an epoch that were compared."""
        counts = Counter(int(epoch) for epoch in self._epoch)
        return min((counts[epoch] for epoch in range(self._expected.epochs)), default=0)

    def _judge_whole(self, epoch: int, got: Counter[Key]) -> None:
        missing = self._right - got
        allowed = self._dropped()
        if sum(missing.values()) > allowed or not self._expected.drop_last:
            self._note("missing_ids", epoch, missing)
        self._note_extra(epoch, got - self._right)

    def _note_extra(self, epoch: int, extra: Counter[Key]) -> None:
        """Examples beyond the reference: known content came again, other is foreign."""
        known = Counter({key: n for key, n in extra.items() if key in self._right})
        self._note("repeated_ids", epoch, known)
        self._note("foreign_ids", epoch, extra - known)

    def _judge_cut(self, epoch: int, got: Counter[Key], rows: Any) -> None:
        """Judge what lies before the cut: repeats, and each worker's own share."""
        is_telling = all(times == 1 for times in self._right.values())
        if is_telling:
            again = Counter({key: n - 1 for key, n in got.items() if n > 1})
            self._note("repeated_ids", epoch, again)
        if self._expected.shares is None or not self._expected.keeps_order:
            return
        for worker, ledger in self._expected.shares.items():
            share = self._of_share(ledger)
            mine = [row for row in rows if self._worker[row] == worker]
            have = Counter(self._keys[row] for row in mine)
            right = Counter(share[: len(mine)])
            self._note("missing_ids", epoch, right - have)
            if len(share) >= len(mine):
                self._note("foreign_ids", epoch, have - right)

    def _dropped(self) -> int:
        """Return how many examples one process leaves out of an epoch."""
        size = self._expected.batch_size
        if not self._expected.drop_last or size is None:
            return 0
        return len(self._expected.ids) % size

    def _note(self, code: str, epoch: int, keys: Counter[Key]) -> None:
        for key, times in keys.items():
            names = self._names.get(key, ["unknown"])
            for at in range(times):
                self._mismatches.add(code, epoch, names[at % len(names)])

    def cautions(self) -> list[Finding]:
        """Return what is worth knowing and not wrong."""
        found = []
        expected = self._expected
        working = {batch.worker for batch in self._arrived.batches if batch.rows}
        idle = expected.num_workers - len(working)
        if expected.num_workers > 1 and len(working) == 1:
            found.append(_one_worker_caution(expected.num_workers))
        elif idle > 0:
            found.append(idle_caution(idle, expected.num_workers))
        if (
            expected.declared is not None
            and expected.is_complete
            and expected.declared != len(expected.ids)
        ):
            found.append(_length_caution(expected.declared, len(expected.ids)))
        distinct = len(self._right)
        if distinct < 0.9 * len(expected.ids):
            found.append(_weak_caution(distinct, len(expected.ids)))
        return found


def _keys(fixed: Any, signature: Any) -> list[Key]:
    return list(zip(fixed.tolist(), signature.tolist(), strict=True))


def _spoilt_finding(count: int, epoch: int) -> Finding:
    return Finding(
        code="collate_mismatch",
        count=count,
        epoch=epoch,
        message=f"{count} batches arrived otherwise than their worker made them",
        hint="usual cause: a buffer that is used again before its batch was sent",
    )


def _one_worker_caution(workers: int) -> Finding:
    return Finding(
        code="one_worker_serves_all",
        count=workers - 1,
        message=f"all examples came from one of {workers} workers",
        hint="the stream is split by shards, and there is one: write more shards",
    )


def _length_caution(declared: int, delivered: int) -> Finding:
    return Finding(
        code="length_misdeclared",
        count=abs(declared - delivered),
        message=f"len() says {declared}, one pass has {delivered} examples",
        hint="loops that count to len(loader) lose the tail or wait for more",
    )


def _weak_caution(distinct: int, examples: int) -> Finding:
    return Finding(
        code="weak_identity",
        count=examples - distinct,
        message=f"only {distinct} of {examples} examples can be told apart",
        hint="name a field that identifies an example with --id PATH",
    )
