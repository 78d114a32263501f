"""Find out which example of the scope each arrived row is.

Pure. The index list says what was asked for; content decides where the list and what
arrived do not correspond one to one.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.ledger import (
    NO_SLOT,
    ArrivalLedger,
    ArrivedBatch,
    ReferenceLedger,
)

Places = list[int | None]
"""Place of each row's id in the reference; None where nothing of the scope is it."""


class Identification:
    """Looks up rows of an arrival ledger in the reference."""

    def __init__(self, reference: ReferenceLedger, arrived: ArrivalLedger) -> None:
        self._reference = reference
        self._arrived = arrived

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
        corresponds = batch.examples == len(asked)
        if corresponds and rows and (slots != NO_SLOT).all():
            places = np.asarray(asked)[slots]
            if self.has_content(np.arange(rows.start, rows.stop), places).all():
                return list(places.tolist())
        search = _Search(asked)
        own = slots.tolist() if corresponds else [NO_SLOT] * len(rows)
        for at, slot in enumerate(own):
            if slot != NO_SLOT and self._is(rows[at], asked[slot]):
                search.give(at, slot)
        search.by_content([self._content(row) for row in rows], self._reference)
        search.left_over(own)
        return [
            search.places[at] if at in search.places else self._anywhere(row)
            for at, row in enumerate(rows)
        ]

    def has_content(
        self, rows: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether rows have the content of places, pair by pair."""
        arrived, reference = self._arrived, self._reference
        fixed = np.equal(arrived.fixed[rows], reference.fixed[places])
        label = np.equal(arrived.label[rows], reference.label[places])
        same: NDArray[np.bool_] = fixed & label
        return same

    def _is(self, row: int, place: int) -> bool:
        return bool(self.has_content(np.array([row]), np.array([place]))[0])

    def _content(self, row: int) -> tuple[int, int]:
        return int(self._arrived.fixed[row]), int(self._arrived.label[row])

    def _anywhere(self, row: int) -> int | None:
        """Return a place of the whole scope that has the content of a row."""
        fixed, label = self._arrived.fixed[row], self._arrived.label[row]
        order, by_size = self._sorted
        left = np.searchsorted(by_size, fixed, "left")
        right = np.searchsorted(by_size, fixed, "right")
        candidates = order[left:right]
        hits = candidates[self._reference.label[candidates] == label]
        return int(hits[0]) if len(hits) else None

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        order = np.argsort(self._reference.fixed, kind="stable")
        return order, self._reference.fixed[order]


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
