"""Compare what a stream's workers delivered with the stream read in one process.

Pure. Examples of a stream have no index: they are told apart by their content (an id
field included). Where the user named an id and a stream was read whole, content that
nobody knows is compared with the missing example of that id. A stream that was cut is
never accused for what lies beyond the cut; the rules for that are in `audit.shares`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autoloader.audit.conversion import spoilt_rows
from autoloader.audit.findings import (
    Mismatches,
    nothing_whole_finding,
    offset_finding,
)
from autoloader.audit.ledger import ArrivalLedger, ReferenceLedger
from autoloader.audit.shares import (
    Delivery,
    Key,
    Share,
    Telling,
    compare_share,
    lost_between,
    repeats_of,
)
from autoloader.audit.stream_cautions import (
    identity_caution,
    is_weak,
    length_caution,
    workers_caution,
)
from autoloader.audit.stream_identity import (
    IN_PROCESS,
    Ids,
    Names,
    Signatures,
    StreamArrivals,
)
from autoloader.values.outcome import Finding, Verdict

_HINTS = {
    "missing_ids": "usual cause: workers share the stream by whole division, skip "
    "part of it, or each drop a last batch",
    "repeated_ids": "usual cause: each worker reads the whole stream; split it in "
    "__iter__ by torch.utils.data.get_worker_info()",
    "foreign_ids": "usual cause: state that workers share or lack, such as a file "
    "handle opened before they start",
}
"""Usual causes where the dataset is a stream."""


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
    """Epochs that were read."""
    batch_size: int | None
    """Examples of a whole batch; None: the stream makes batches itself."""
    drop_last: bool
    """Whether an incomplete last batch is left out."""
    num_workers: int
    """Workers that were asked for."""
    was_cut: bool
    """Whether the trial stopped before the end of its epochs."""
    declared: int | None
    """What `len(dataset)` says; None: nothing."""
    shares: Mapping[int, ReferenceLedger] | None = None
    """For each worker the first examples of its share, read in one process that was
    told to be that worker, all to the same limit; None: not read."""
    ranks: int = 1
    """Training processes that share it, each of which leaves out a last batch where an
    incomplete one is."""
    moved_offsets: tuple[str, ...] = ()
    """Files whose offset moved in the training process while workers read."""
    in_order: bool = False
    """Whether batches come in turns from all workers that have any left; False also
    where that is not known."""


def judge_stream(
    reference: ReferenceLedger,
    arrived: ArrivalLedger,
    expected: StreamExpectation,
    *,
    count_path: tuple[int | str, ...] | None = None,
    batch_bytes: int = 0,
) -> Verdict:
    """Return the verdict on one gate pass over a stream.

    Args:
        reference: digests of the stream, read in one process.
        arrived: what reached the training process.
        expected: what is known of the stream.
        count_path: kept in the verdict for the timed pass.
        batch_bytes: kept in the verdict for memory predictions.
    """
    judging = _StreamJudging(reference, arrived, expected)
    findings = [
        replace(finding, hint=_HINTS.get(finding.code, finding.hint))
        for finding in judging.run().findings()
    ]
    size = expected.batch_size or 1
    if expected.is_complete and expected.drop_last and len(expected.ids) < size:
        findings.append(nothing_whole_finding(expected.ids, size))
    cautions = judging.cautions()
    if expected.moved_offsets and expected.num_workers:
        offset = offset_finding(expected.moved_offsets)
        (findings if expected.num_workers > 1 else cautions).append(offset)
    is_by_row = all(batch.converted == () for batch in arrived.batches)
    return Verdict(
        passed=not findings,
        examples=judging.judged(),
        of=len(expected.ids) if expected.is_complete else None,
        epochs=expected.epochs,
        compared="rows" if is_by_row and not arrived.altered.any() else "examples",
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
        self._size = expected.batch_size or 1
        self._signatures = Signatures(reference.signatures)
        self._reference = self._signatures.keys(reference)
        self._right = Counter(self._reference)
        self._names = Names(self._reference, expected.ids)
        self._telling = Telling.of(self._reference)
        self._ids = Ids(reference, self._reference, expected.ids)
        came = self._signatures.keys(arrived)
        self._arrivals = StreamArrivals(arrived, came, self._ids)
        self._spoilt = spoilt_rows(arrived)
        self._shares = self._read_shares()
        self._doubtful = 0
        self._mismatches = Mismatches()

    def _read_shares(self) -> dict[int, Share]:
        """Return the shares whose order says what must have arrived before a cut."""
        expected = self._expected
        if not expected.keeps_order:
            return {}
        if not expected.num_workers:
            whole = Share(keys=self._reference, is_complete=expected.is_complete)
            return {IN_PROCESS: whole}
        ledgers = expected.shares or {}
        longest = max((len(ledger.fixed) for ledger in ledgers.values()), default=0)
        return {
            worker: Share(
                keys=self._signatures.keys(ledger),
                is_complete=not longest or len(ledger.fixed) < longest,
            )
            for worker, ledger in ledgers.items()
        }

    def run(self) -> Mismatches:
        """Return all that differs."""
        for epoch in range(self._expected.epochs):
            self._judge_epoch(epoch)
            self._note_spoilt(epoch)
        told = not is_weak(len(self._right), len(self._reference))
        if told and self._expected.num_workers and self._shares:
            shares = [share.keys for share in self._shares.values()]
            lost = lost_between(self._reference, shares)
            self._note("missing_ids", 0, Counter(self._reference[at] for at in lost))
        return self._mismatches

    def _judge_epoch(self, epoch: int) -> None:
        if self._expected.is_complete:
            self._note_altered(epoch)
        got = self._arrivals.count(epoch)
        is_cut = self._is_cut(epoch)
        missing = Counter() if is_cut else self._right - got
        if self._expected.is_complete:
            extra = got - self._right
            self._note_changed(epoch, missing, extra)
            self._note_extra(epoch, extra)
        else:
            self._judge_repeats(epoch)
            self._judge_layouts(epoch, got)
        if missing.total() > self._droppable:
            self._note("missing_ids", epoch, missing)
        if is_cut or not self._expected.is_complete:
            self._judge_shares(epoch, is_cut=is_cut)

    def _is_cut(self, epoch: int) -> bool:
        """Whether the epoch was stopped: all that were have the same batches."""
        batches = self._arrivals.batches
        most = max(batches.values(), default=0)
        return self._expected.was_cut and batches[epoch] == most

    @property
    def _droppable(self) -> int:
        """The most examples that one process of each rank would leave out."""
        if not self._expected.drop_last:
            return 0
        if self._expected.ranks > 1:
            return self._expected.ranks * (self._size - 1)
        if self._expected.is_complete:
            return len(self._expected.ids) % self._size
        return self._size - 1

    def _deliveries(self, epoch: int) -> dict[int, Delivery]:
        workers, size = self._expected.num_workers, self._size
        return self._arrivals.deliveries(epoch, num_workers=workers, batch_size=size)

    def _judge_repeats(self, epoch: int) -> None:
        deliveries = self._deliveries(epoch).values()
        again, is_clear = repeats_of(deliveries, self._telling)
        # a shuffled stream that repeats itself may draw whole parts of it again
        repeats_itself = len(self._right) < len(self._reference)
        may_repeat = repeats_itself and not self._expected.keeps_order
        if is_clear and not may_repeat:
            self._note_extra(epoch, again)
        else:
            self._doubtful = max(self._doubtful, again.total())

    def _judge_layouts(self, epoch: int, got: Counter[Key]) -> None:
        """Refuse fields or dtypes that the reference has nowhere and many rows have.

        A few may be what an unread part of the stream is like; where shares were read,
        they tell.
        """
        codes = {key: self._signatures.code(key) for key in got}
        wrong = {"field_missing", "dtype_mismatch"}
        other = Counter({key: n for key, n in got.items() if codes[key] in wrong})
        if not self._shares and 10 * other.total() > got.total():
            self._note_extra(epoch, other)

    def _judge_shares(self, epoch: int, *, is_cut: bool) -> None:
        """Compare what each worker delivered with the beginning of its share."""
        deliveries = self._deliveries(epoch)
        most = max((got.batches for got in deliveries.values()), default=0)
        ended: list[Any] = []
        for worker, share in self._shares.items():
            got = deliveries.get(worker, Delivery())
            due = len(share.keys)
            if is_cut and not got.has_ended:
                due = got.given if got.given > len(got.keys) else 0
                if self._expected.in_order:
                    due = max(due, (most - 1) * self._size)
            faults = compare_share(share, got, due=due)
            self._note_extra(epoch, faults.extra)
            for place in faults.skipped:
                name = self._name_in_share(worker, place)
                self._mismatches.add("missing_ids", epoch, name)
            ended += [self._name_in_share(worker, place) for place in faults.ended]
        if len(ended) > self._droppable:
            for name in ended:
                self._mismatches.add("missing_ids", epoch, name)

    def _name_in_share(self, worker: int, place: int) -> Any:
        key = self._shares[worker].keys[place]
        if key in self._names:
            return self._names.of(key, 1)[0]
        return f"worker {worker}, example {place}"

    def _note_altered(self, epoch: int) -> None:
        """Note examples that came with their id and other content; they came, then."""
        for name, right, key, label in self._arrivals.stand_ins(epoch, self._right):
            if not self._ids.has_label(right, label):
                code = "label_mismatch"
            else:
                code = self._signatures.code(key) or "content_mismatch"
            self._mismatches.add(code, epoch, name)

    def _note_changed(
        self, epoch: int, missing: Counter[Key], extra: Counter[Key]
    ) -> None:
        """Note examples with the right values in another form; take them from both."""
        by_values = {values: (values, form) for values, form in missing}
        for key in list(extra):
            right, code = by_values.get(key[0]), self._signatures.code(key)
            if right is not None and code is not None:
                times = min(missing[right], extra[key])
                self._note(code, epoch, Counter({right: times}))
                missing[right] -= times
                extra[key] -= times

    def _note_extra(self, epoch: int, extra: Counter[Key]) -> None:
        """Examples beyond the reference: known content came again, other is foreign."""
        known = Counter({key: n for key, n in extra.items() if key in self._names})
        self._note("repeated_ids", epoch, known)
        foreign = extra - known
        if not foreign:
            return
        for _, key, name in self._arrivals.rows(epoch):
            if foreign[key] > 0:
                foreign[key] -= 1
                code = self._signatures.code(key) or "foreign_ids"
                self._mismatches.add(code, epoch, name)

    def _note_spoilt(self, epoch: int) -> None:
        """Rows that differ from their example, and batches that were changed later."""
        broken = self._arrivals.broken(epoch, self._spoilt)
        for row, key, name in self._arrivals.rows(epoch):
            if self._spoilt[row] or row in broken:
                known = self._names.of(key, 1)[0] if key in self._names else name
                self._mismatches.add("collate_mismatch", epoch, known)

    def _note(self, code: str, epoch: int, keys: Counter[Key]) -> None:
        for key, times in keys.items():
            for name in self._names.of(key, times) if times else ():
                self._mismatches.add(code, epoch, name)

    def judged(self) -> int:
        """Return the examples of an epoch that were compared."""
        epochs = range(self._expected.epochs)
        least = min(
            (self._arrivals.count(epoch).total() for epoch in epochs), default=0
        )
        is_complete = self._expected.is_complete
        return min(least, len(self._reference)) if is_complete else least

    def cautions(self) -> list[Finding]:
        """Return what is worth knowing and not wrong."""
        expected, read = self._expected, len(self._reference)
        found = [identity_caution(len(self._right), read, self._doubtful)]
        if expected.declared is not None:
            is_complete = expected.is_complete
            declared = expected.declared
            found.insert(0, length_caution(declared, read, is_complete=is_complete))
        workers = expected.num_workers
        fewest = min(self._arrivals.batches.values(), default=0)
        if workers and (not expected.was_cut or fewest >= 2 * workers):
            found.insert(0, workers_caution(len(self._arrivals.workers()), workers))
        return [caution for caution in found if caution is not None]
