"""Find out which example of the scope each arrived row is.

Pure. The index list says what was asked for; content decides where the list and what
arrived do not correspond one to one.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.ledger import (
    NO_SLOT,
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
)

References = ReferenceLedger | Sequence[ReferenceLedger]
"""One reference for all epochs, or one an epoch; the last holds for those after it."""

Places = list[int | None]
"""Place of each row's id in the reference; None where nothing of the scope is it."""


class Identification:
    """Looks up rows of an arrival ledger in the reference.

    Args:
        reference: one for all epochs, or one an epoch, all with the same places.
        arrived: what reached the training process.
    """

    def __init__(self, reference: References, arrived: ArrivalLedger) -> None:
        if isinstance(reference, ReferenceLedger):
            reference = (reference,)
        self._references = tuple(reference)
        if not self._references:
            msg = "rows are looked up in a reference, and there is none"
            raise ValueError(msg)
        self._arrived = arrived
        self._sorted: dict[int, tuple[NDArray[np.int64], NDArray[np.uint64]]] = {}

    def number_of(self, epoch: int) -> int:
        """Return which reference an epoch is held against."""
        return max(0, min(epoch, len(self._references) - 1))

    def of_epoch(self, epoch: int) -> ReferenceLedger:
        """Return the reference that an epoch is held against."""
        return self._references[self.number_of(epoch)]

    @property
    def references(self) -> tuple[ReferenceLedger, ...]:
        """All references, in order of the epochs that they begin with."""
        return self._references

    def places_of(
        self, batch: ArrivedBatch, rows: range, asked: Sequence[int]
    ) -> Places:
        """Return the place of each row of a batch.

        Where collate was given as many examples as the list has, the two correspond one
        to one, unless content says that they were read in another order.

        Args:
            batch: what is said of the batch.
            rows: its rows in the ledger.
            asked: its index list, as places.
        """
        slots = self._arrived.slot[rows.start : rows.stop]
        reference = self.of_epoch(batch.epoch)
        corresponds = batch.examples == len(asked)
        if corresponds and rows and (slots != NO_SLOT).all():
            places = np.asarray(asked)[slots]
            taken = np.arange(rows.start, rows.stop)
            if self.has_content(taken, places, reference).all():
                return list(places.tolist())
        search = _Search(asked)
        own = slots.tolist() if corresponds else [NO_SLOT] * len(rows)
        for at, slot in enumerate(own):
            if slot != NO_SLOT and self._is(rows[at], asked[slot], reference):
                search.give(at, slot)
        search.by_content([self._content(row) for row in rows], reference)
        search.left_over(own)
        return [
            search.places[at]
            if at in search.places
            else self._anywhere(row, self.number_of(batch.epoch))
            for at, row in enumerate(rows)
        ]

    def has_content(
        self, rows: NDArray[np.int64], places: NDArray[Any], reference: ReferenceLedger
    ) -> NDArray[np.bool_]:
        """Return whether rows have the content of places, pair by pair."""
        arrived = self._arrived
        fixed = np.equal(arrived.fixed[rows], reference.fixed[places])
        label = np.equal(arrived.label[rows], reference.label[places])
        same: NDArray[np.bool_] = fixed & label
        return same

    def _is(self, row: int, place: int, reference: ReferenceLedger) -> bool:
        found = self.has_content(np.array([row]), np.array([place]), reference)
        return bool(found[0])

    def _content(self, row: int) -> tuple[int, int]:
        return int(self._arrived.fixed[row]), int(self._arrived.label[row])

    def _anywhere(self, row: int, number: int) -> int | None:
        """Return a place of the whole scope that has the content of a row."""
        fixed, label = self._arrived.fixed[row], self._arrived.label[row]
        reference = self._references[number]
        if number not in self._sorted:
            order = np.argsort(reference.fixed, kind="stable")
            self._sorted[number] = order, reference.fixed[order]
        order, by_size = self._sorted[number]
        left = np.searchsorted(by_size, fixed, "left")
        right = np.searchsorted(by_size, fixed, "right")
        candidates = order[left:right]
        hits = candidates[reference.label[candidates] == label]
        return int(hits[0]) if len(hits) else None


class _Search:
    """Gives the entries of one index list to the rows of one batch, each once."""

    def __init__(self, asked: Sequence[int]) -> None:
        self.places: dict[int, int | None] = {}
        """Place of each row that has an entry."""
        self._asked = asked
        self._free = set(range(len(asked)))

    def give(self, row: int, entry: int) -> None:
        """Give an entry to a row, where it is still there to give."""
        if entry in self._free:
            self._free.discard(entry)
            self.places[row] = self._asked[entry]

    def by_content(
        self, contents: Sequence[tuple[int, int]], reference: ReferenceLedger
    ) -> None:
        """Give what is free to rows that have its content."""
        entries: dict[tuple[int, int], deque[int]] = defaultdict(deque)
        for entry in sorted(self._free):
            place = self._asked[entry]
            content = int(reference.fixed[place]), int(reference.label[place])
            entries[content].append(entry)
        for row, content in enumerate(contents):
            if row not in self.places and entries[content]:
                self.give(row, entries[content].popleft())

    def left_over(self, own: Sequence[int]) -> None:
        """Give what is free to rows that have an example: their own, else the next."""
        for row, slot in enumerate(own):
            if row not in self.places and slot != NO_SLOT:
                self.give(row, slot)
        for row, slot in enumerate(own):
            if row not in self.places and slot != NO_SLOT and self._free:
                self.give(row, min(self._free))
