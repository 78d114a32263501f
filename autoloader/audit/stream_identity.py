"""What tells the examples of a stream apart, and what they are called in findings.

Pure. A list has indices for that; a stream has its content, and an id where the user
named one. Which worker delivered what, and in which row of which batch, is looked up
here too.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.ledger import ArrivalLedger, ReferenceLedger
from autoloader.audit.shares import Delivery, Key

Layout = frozenset[tuple[str, ...]]
"""Name, kind and dtype of each field."""

IN_PROCESS = -1
"""Number of the worker that the training process itself is."""

NO_ID = 0
"""Digest of the id of an example that lacks the field."""


class Signatures:
    """Gives the signatures of several ledgers places in one table.

    Args:
        known: signatures of the reference.
    """

    def __init__(self, known: Sequence[str]) -> None:
        self._texts = list(known)
        self._places = {text: place for place, text in enumerate(known)}
        self._known = len(self._texts)
        self._layouts = {_layout(text) for text in known}
        self._codes: dict[int, str] = {}

    def keys(self, ledger: ReferenceLedger | ArrivalLedger) -> list[Key]:
        """Return what tells the examples of a ledger from each other."""
        for text in ledger.signatures:
            if text not in self._places:
                self._places[text] = len(self._texts)
                self._texts.append(text)
        common = np.array([self._places[text] for text in ledger.signatures], np.int64)
        places = common[ledger.signature] if len(ledger.signature) else common[:0]
        return list(zip(ledger.fixed.tolist(), places.tolist(), strict=True))

    def code(self, key: Key) -> str | None:
        """Return what makes an example unlike any of the reference; None: nothing."""
        place = key[1]
        if place < self._known:
            return None
        if place not in self._codes:
            self._codes[place] = self._code_of(_layout(self._texts[place]))
        return self._codes[place]

    def _code_of(self, seen: Layout) -> str:
        if seen in self._layouts:
            return "shape_mismatch"
        fields = {row[0] for row in seen}
        known = any(fields == {row[0] for row in layout} for layout in self._layouts)
        return "dtype_mismatch" if known else "field_missing"


def _layout(signature: str) -> Layout:
    """Return name, kind and dtype of each field."""
    return frozenset(tuple(row[:3]) for row in json.loads(signature))


class Names:
    """Gives examples the ids that they have in the reference.

    Args:
        keys: what tells them apart, in order.
        ids: their ids, in the same order.
    """

    def __init__(self, keys: Sequence[Key], ids: Sequence[Any]) -> None:
        self._ids: dict[Key, dict[Any, None]] = {}
        for key, example_id in zip(keys, ids, strict=True):
            self._ids.setdefault(key, {})[example_id] = None

    def __contains__(self, key: object) -> bool:
        """Whether the reference has such an example."""
        return key in self._ids

    def of(self, key: Key, times: int) -> list[Any]:
        """Return names for `times` examples; of equal ones no one alone is blamed."""
        ids = list(self._ids[key])
        if times >= len(ids):
            return ids
        return [f"{at} of {len(ids)} like {ids[0]}" for at in range(1, times + 1)]


class Ids:
    """What the id field says of examples; nothing where the user named none.

    Args:
        reference: of the stream.
        keys: what tells its examples apart.
        ids: their ids, in the same order.
    """

    def __init__(
        self, reference: ReferenceLedger, keys: Sequence[Key], ids: Sequence[Any]
    ) -> None:
        digests = [] if reference.id is None else reference.id.tolist()
        self._values: dict[int, Any] = dict(zip(digests, ids, strict=False))
        self._keys: dict[int, dict[Key, None]] = {}
        for digest, key in zip(digests, keys, strict=False):
            self._keys.setdefault(digest, {})[key] = None
        self._labels = dict(zip(keys, reference.label.tolist(), strict=True))
        for found in (self._values, self._keys):
            found.pop(NO_ID, None)

    def value(self, digest: int) -> Any | None:
        """Return the id that has this digest; None: the reference has no such id."""
        return self._values.get(digest)

    def partner(self, digest: int, left: Counter[Key]) -> Key | None:
        """Return an example of `left` that has this id; None: it has none."""
        keys = self._keys.get(digest, ())
        return next((key for key in keys if left[key] > 0), None)

    def has_label(self, key: Key, label: int) -> bool:
        """Whether an example has this label, or the label is 0, which is none."""
        return label in {0, self._labels[key]}


class StreamArrivals:
    """What arrived, by epoch and worker.

    Args:
        ledger: of the pass.
        keys: what tells its rows apart.
        ids: what the reference's examples are named by.
    """

    def __init__(self, ledger: ArrivalLedger, keys: Sequence[Key], ids: Ids) -> None:
        self._ledger = ledger
        self._keys = list(keys)
        self._ids = ids
        self._digests = None if ledger.id is None else ledger.id.tolist()
        counts = [batch.rows for batch in ledger.batches]
        self._first = [0]
        for count in counts:
            self._first.append(self._first[-1] + count)
        self.batches = Counter(batch.epoch for batch in ledger.batches)
        """Batches of each epoch."""

    def rows(self, epoch: int) -> Iterator[tuple[int, Key, Any]]:
        """Yield place, key and name of each row of an epoch.

        The name is the row's id where the reference has it, else where the row is.
        """
        for batch, first in zip(self._ledger.batches, self._first, strict=False):
            if batch.epoch == epoch:
                for at in range(batch.rows):
                    name = self._ids.value(self.id_digest(first + at))
                    if name is None:
                        name = f"batch {batch.batch}, row {at}"
                    yield first + at, self._keys[first + at], name

    def id_digest(self, row: int) -> int:
        """Return the digest of a row's id; `NO_ID`: it has none."""
        return NO_ID if self._digests is None else self._digests[row]

    def stand_ins(
        self, epoch: int, right: Counter[Key]
    ) -> Iterator[tuple[Any, Key, Key, int]]:
        """Take unknown rows for the missing examples that have their ids.

        From then on the rows count as these examples.

        Args:
            epoch: whose rows.
            right: how often each example must arrive.

        Yields:
            Id, the example that is missing, what came for it, and the label that did.
        """
        if self._digests is None:
            return
        left = right - self.count(epoch)
        for row, key, name in self.rows(epoch):
            partner = self._ids.partner(self._digests[row], left)
            if key not in right and partner is not None:
                left[partner] -= 1
                self._keys[row] = partner
                yield name, partner, key, int(self._ledger.label[row])

    def count(self, epoch: int) -> Counter[Key]:
        """Return how often each example arrived in an epoch."""
        return Counter(key for _, key, _ in self.rows(epoch))

    def broken(self, epoch: int, spoilt: NDArray[np.bool_]) -> set[int]:
        """Return places of rows in batches that were changed after their collate.

        Args:
            epoch: whose batches.
            spoilt: for each row whether it differs from its example: where one of a
                batch does, that one is it, and the others are not named.
        """
        return {
            first + at
            for batch, first in zip(self._ledger.batches, self._first, strict=False)
            if batch.epoch == epoch
            and not batch.intact
            and not spoilt[first : first + batch.rows].any()
            for at in range(batch.rows)
        }

    def workers(self) -> set[int]:
        """Return the workers of which anything arrived."""
        return {batch.worker for batch in self._ledger.batches if batch.rows}

    def deliveries(
        self, epoch: int, *, num_workers: int, batch_size: int
    ) -> dict[int, Delivery]:
        """Return what each worker delivered, those that delivered nothing included."""
        workers = range(num_workers) if num_workers else [IN_PROCESS]
        found = {worker: Delivery() for worker in workers}
        keys: dict[int, list[Key]] = {}
        for batch, first in zip(self._ledger.batches, self._first, strict=False):
            if batch.epoch != epoch:
                continue
            before = found.get(batch.worker, Delivery())
            mine = keys.setdefault(batch.worker, [])
            mine += self._keys[first : first + batch.rows]
            found[batch.worker] = Delivery(
                keys=mine,
                given=before.given + batch.examples,
                batches=before.batches + 1,
                has_ended=batch.examples < batch_size,
            )
        return found
