"""Compare what a stream's workers delivered with the stream read in one process.

Pure. Examples of a stream have no index: they are told apart by their content (an id
field included, where one is named). A stream that was cut is never accused for what
lies beyond the cut; how it is judged is in `audit.shares`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.conversion import spoilt_rows
from autoloader.audit.findings import (
    Mismatches,
    idle_caution,
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
from autoloader.values.outcome import Finding, Verdict

IN_PROCESS = -1
"""Number of the worker that the training process itself is."""

_HINTS = {
    "missing_ids": "usual cause: workers share the stream by whole division, or skip "
    "part of it, or drop_last drops a batch in each of them",
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
    in_order: bool = False
    """Whether batches come in turns from all workers that have any; False also where
    that is not known."""


def judge_stream(
    reference: ReferenceLedger,
    arrived: ArrivalLedger,
    expected: StreamExpectation,
    *,
    count_path: str | None = None,
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


class _Names:
    """Gives examples their ids by what they are told apart by."""

    def __init__(self, keys: Sequence[Key], ids: Sequence[Any]) -> None:
        self._ids: dict[Key, dict[Any, None]] = {}
        for key, example_id in zip(keys, ids, strict=True):
            self._ids.setdefault(key, {})[example_id] = None

    def __contains__(self, key: object) -> bool:
        """Whether the reference has such an example."""
        return key in self._ids

    def of(self, key: Key, times: int) -> list[Any]:
        """Return a name for each of `times` examples; of equal ones none is blamed."""
        ids = list(self._ids[key])
        if times >= len(ids):
            return ids
        return [f"{at} of {len(ids)} like {ids[0]}" for at in range(1, times + 1)]


class _Signatures:
    """Gives signatures of several ledgers places in one table."""

    def __init__(self, known: Sequence[str]) -> None:
        self._texts = list(known)
        self._places = {text: place for place, text in enumerate(known)}
        self._known = len(self._texts)

    def keys(
        self, fixed: NDArray[Any], signature: NDArray[Any], texts: Sequence[str]
    ) -> list[Key]:
        """Return what tells the examples of a ledger from each other."""
        for text in texts:
            if text not in self._places:
                self._places[text] = len(self._texts)
                self._texts.append(text)
        common = np.array([self._places[text] for text in texts], np.int64)
        places = common[signature] if len(signature) else signature
        return list(zip(fixed.tolist(), places.tolist(), strict=True))

    def code(self, key: Key) -> str | None:
        """Return what makes an example unlike any of the reference; None: nothing."""
        if key[1] < self._known:
            return None
        seen = _layout(self._texts[key[1]])
        layouts = [_layout(text) for text in self._texts[: self._known]]
        if not any(seen.keys() == layout.keys() for layout in layouts):
            return "field_missing"
        return "shape_mismatch" if seen in layouts else "dtype_mismatch"


def _layout(signature: str) -> dict[str, tuple[Any, ...]]:
    """Return kind and dtype of each field."""
    return {row[0]: tuple(row[1:3]) for row in json.loads(signature)}


class _StreamJudging:
    """Counts examples epoch by epoch, by content."""

    def __init__(
        self,
        reference: ReferenceLedger,
        arrived: ArrivalLedger,
        expected: StreamExpectation,
    ) -> None:
        self._expected = expected
        self._batches = arrived.batches
        self._spoilt = spoilt_rows(arrived)
        self._signatures = _Signatures(reference.signatures)
        self._reference = self._keys_of(reference)
        self._right = Counter(self._reference)
        self._telling = Telling.of(self._reference)
        self._names = _Names(self._reference, expected.ids)
        self._keys = self._signatures.keys(
            arrived.fixed, arrived.signature, arrived.signatures
        )
        self._counts = Counter(batch.epoch for batch in arrived.batches)
        self._shares = self._read_shares()
        self._doubtful = 0
        self._mismatches = Mismatches()

    def _keys_of(self, ledger: ReferenceLedger) -> list[Key]:
        return self._signatures.keys(ledger.fixed, ledger.signature, ledger.signatures)

    def _read_shares(self) -> dict[int, Share]:
        """Return the shares that order can be told by; all are read to one limit."""
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
                keys=self._keys_of(ledger),
                is_complete=not longest or len(ledger.fixed) < longest,
            )
            for worker, ledger in ledgers.items()
        }

    def run(self) -> Mismatches:
        """Return all that differs."""
        for epoch in range(self._expected.epochs):
            got = Counter(key for key, _ in self._rows(epoch))
            is_cut = self._is_cut(epoch)
            if self._expected.is_complete:
                self._note_extra(epoch, got - self._right)
            else:
                self._judge_repeats(epoch)
                self._judge_layouts(epoch, got)
            if not is_cut:
                self._note_missing(epoch, self._right - got)
            if is_cut or not self._expected.is_complete:
                self._judge_shares(epoch, is_cut=is_cut)
            self._note_spoilt(epoch)
        if self._expected.num_workers and not self._is_weak:
            shares = [share.keys for share in self._shares.values()]
            lost = lost_between(self._reference, shares) if shares else []
            self._note("missing_ids", 0, Counter(self._reference[at] for at in lost))
        return self._mismatches

    def _rows(self, epoch: int) -> Iterable[tuple[Key, str]]:
        """Yield the key of each row of an epoch, and what the row is called."""
        first = 0
        for batch in self._batches:
            if batch.epoch == epoch:
                for row in range(batch.rows):
                    name = f"batch {batch.batch}, row {row}"
                    yield self._keys[first + row], name
            first += batch.rows

    def _is_cut(self, epoch: int) -> bool:
        """Whether the epoch was stopped: all that were have the same batches."""
        most = max(self._counts.values(), default=0)
        return self._expected.was_cut and self._counts[epoch] == most

    def _deliveries(self, epoch: int) -> dict[int, Delivery]:
        """Return what each worker delivered, those that delivered nothing included."""
        keys: dict[int, list[Key]] = {
            worker: [] for worker in range(self._expected.num_workers) or (IN_PROCESS,)
        }
        given: Counter[int] = Counter()
        batches: Counter[int] = Counter()
        short = set()
        first = 0
        for batch in self._batches:
            if batch.epoch == epoch:
                mine = keys.setdefault(batch.worker, [])
                mine += self._keys[first : first + batch.rows]
                given[batch.worker] += batch.examples
                batches[batch.worker] += 1
                if batch.examples < (self._expected.batch_size or 1):
                    short.add(batch.worker)
            first += batch.rows
        return {
            worker: Delivery(
                keys=found,
                given=given[worker],
                batches=batches[worker],
                has_ended=worker in short,
            )
            for worker, found in keys.items()
        }

    def _judge_repeats(self, epoch: int) -> None:
        deliveries = self._deliveries(epoch).values()
        again, is_clear = repeats_of(deliveries, self._telling)
        if is_clear:
            self._note_extra(epoch, again)
        else:
            self._doubtful = max(self._doubtful, again.total())

    def _judge_layouts(self, epoch: int, got: Counter[Key]) -> None:
        """Refuse fields or dtypes that the reference has nowhere and many rows have.

        A few may be what an unread part of the stream is like; where shares were read,
        they tell.
        """
        if self._shares:
            return
        other = Counter(
            {
                key: times
                for key, times in got.items()
                if self._signatures.code(key) in {"field_missing", "dtype_mismatch"}
            }
        )
        if 10 * other.total() > got.total():
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
                turns = (most - 1) * (self._expected.batch_size or 1)
                due = turns if self._expected.in_order else 0
                if got.given > len(got.keys):
                    due = max(due, got.given)
            faults = compare_share(share, got, due=due)
            self._note_extra(epoch, faults.extra)
            for place in faults.skipped:
                name = self._name_in_share(worker, place)
                self._mismatches.add("missing_ids", epoch, name)
            ended += [self._name_in_share(worker, place) for place in faults.ended]
        if len(ended) > self._droppable():
            for name in ended:
                self._mismatches.add("missing_ids", epoch, name)

    def _name_in_share(self, worker: int, place: int) -> Any:
        key = self._shares[worker].keys[place]
        if key in self._names:
            return self._names.of(key, 1)[0]
        return f"worker {worker}, example {place}"

    def _note_missing(self, epoch: int, missing: Counter[Key]) -> None:
        if missing.total() > self._droppable():
            self._note("missing_ids", epoch, missing)

    def _droppable(self) -> int:
        """Return the most examples that one process would leave out of an epoch."""
        size = self._expected.batch_size
        if not self._expected.drop_last or size is None:
            return 0
        if self._expected.is_complete:
            return len(self._expected.ids) % size
        return size - 1

    def _note_extra(self, epoch: int, extra: Counter[Key]) -> None:
        """Examples beyond the reference: known content came again, other is foreign."""
        known = Counter({key: n for key, n in extra.items() if key in self._names})
        self._note("repeated_ids", epoch, known)
        foreign = extra - known
        if not foreign:
            return
        for key, name in self._rows(epoch):
            if foreign[key] > 0:
                foreign[key] -= 1
                code = self._signatures.code(key) or "foreign_ids"
                self._mismatches.add(code, epoch, name)

    def _note_spoilt(self, epoch: int) -> None:
        """Rows that differ from their example, and batches that were changed later."""
        first = 0
        for batch in self._batches:
            rows = range(first, first + batch.rows)
            first += batch.rows
            if batch.epoch != epoch:
                continue
            spoilt = [row for row in rows if self._spoilt[row]]
            if not batch.intact and not spoilt:
                spoilt = list(rows)  # which of them cannot be told
            for row in spoilt:
                key = self._keys[row]
                name: Any = f"batch {batch.batch}, row {row - rows.start}"
                if key in self._names:
                    name = self._names.of(key, 1)[0]
                self._mismatches.add("collate_mismatch", epoch, name)

    def _note(self, code: str, epoch: int, keys: Counter[Key]) -> None:
        for key, times in keys.items():
            for name in self._names.of(key, times):
                self._mismatches.add(code, epoch, name)

    def judged(self) -> int:
        """Return the examples of an epoch that were compared."""
        rows: Counter[int] = Counter()
        for batch in self._batches:
            rows[batch.epoch] += batch.rows
        least = min((rows[epoch] for epoch in range(self._expected.epochs)), default=0)
        return min(least, len(self._expected.ids)) if self._is_bounded else least
