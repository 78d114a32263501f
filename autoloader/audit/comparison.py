"""Give each arrived row its id, and compare it with the reference.

Pure. Batches that arrived as they were asked for are compared all at once, in arrays;
each of the others by itself. What a verdict makes of it is in `audit.verdict`.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from autoloader.audit.batches import ArrivedBatch, Batches
from autoloader.audit.conversion import spoilt_rows
from autoloader.audit.expectation import Expectation
from autoloader.audit.findings import Mismatches
from autoloader.audit.identity import Identification, Places, References
from autoloader.audit.ledger import NO_SLOT, ArrivalLedger
from autoloader.audit.signatures import signature_differences

CHUNK_ROWS = 1 << 20
"""Rows that are compared at once: it bounds the memory, and changes nothing else."""

UNCOUNTED = -1
"""Place of a row that stands for no entry of its epoch."""


class Comparison:
    """Compares one gate pass with what it was asked to deliver.

    Args:
        reference: one for all epochs, or one an epoch.
        arrived: what reached the training process.
        expected: what was asked for.
    """

    def __init__(
        self, reference: References, arrived: ArrivalLedger, expected: Expectation
    ) -> None:
        self._arrived = arrived
        self._expected = expected
        self._batches = Batches.of(arrived.batches)
        self._starts = self._batches.starts()
        self._identification = Identification(reference, arrived)
        self._lengths = expected.lengths()
        self._offsets = np.concatenate(([0], np.cumsum(self._lengths)))
        self._listed = expected.listed()
        self._awaited = self._find_awaited()
        self._counted = np.full(len(arrived.slot), UNCOUNTED, np.int64)
        self._spoilt = spoilt_rows(arrived)
        self.left_out: dict[int | str, None] = {}
        """Ids of incomplete examples that did not arrive, as they may."""
        self._mismatches = Mismatches()
        self._signature_places = [
            _places_among(known.signatures, arrived.signatures)
            for known in self._identification.references
        ]

    def run(self) -> Mismatches:
        """Return all that differs."""
        for at in np.flatnonzero(~self._settle()).tolist():
            first, end = int(self._starts[at]), int(self._starts[at + 1])
            is_awaited = bool(self._awaited[at])
            self._take(self._batches[at], range(first, end), is_awaited=is_awaited)
        for number in self._expected.collated_otherwise:
            if number < len(self._lengths):
                self._note("collate_mismatch", 0, self._asked(0, number))
        self._count()
        return self._mismatches

    def _find_awaited(self) -> NDArray[np.bool_]:
        """Return for each batch whether it was asked for and comes the first time."""
        epoch, batch = self._batches.column("epoch"), self._batches.column("batch")
        known = (epoch >= 0) & (epoch < self._expected.epochs)
        known &= (batch >= 0) & (batch < len(self._lengths))
        places = np.flatnonzero(known)
        keys = epoch[places] * len(self._lengths) + batch[places]
        _, first = np.unique(keys, return_index=True)
        awaited = np.zeros(len(known), np.bool_)
        awaited[places[first]] = True
        return awaited

    def _settle(self) -> NDArray[np.bool_]:
        """Count the rows of batches that are just as asked for; return which those are.

        Collate was given the examples of the list, each row is one of them, and each is
        what the reference has under its id. Any doubt leaves the batch to `_take`.
        """
        batches = self._batches
        settled: NDArray[np.bool_] = self._awaited & batches.column("intact")
        settled &= batches.column("rows") > 0
        number = np.where(settled, batches.column("batch"), 0)
        settled[settled] &= (
            batches.column("examples")[settled] == self._lengths[number[settled]]
        )
        for chunk in self._chunks():
            self._settle_chunk(settled, number, chunk)
        return settled

    def _chunks(self) -> Iterator[range]:
        """Yield batches by the chunk, at least one in each."""
        first, starts = 0, self._starts
        while first < len(self._batches):
            within = np.searchsorted(starts, starts[first] + CHUNK_ROWS, "right") - 1
            end = max(first + 1, int(within))
            yield range(first, end)
            first = end

    def _settle_chunk(
        self, settled: NDArray[np.bool_], number: NDArray[np.int64], chunk: range
    ) -> None:
        """Count what is in order, and strike the batches with a row that is not.

        Args:
            settled: for each batch whether nothing was wrong so far; changed in place.
            number: for each batch the number of its list.
            chunk: the batches that are looked at.
        """
        starts = self._starts[chunk.start : chunk.stop + 1]
        own = np.repeat(np.arange(chunk.start, chunk.stop), np.diff(starts))
        rows = np.arange(starts[0], starts[-1])
        slots = self._arrived.slot[starts[0] : starts[-1]]
        taken = settled[own] & (slots >= 0)
        if not taken.any():
            settled[chunk.start : chunk.stop] = False
            return
        taken &= slots < self._lengths[number[own]]
        entries = np.where(taken, self._offsets[number[own]] + slots, 0)
        epochs = np.where(taken, self._batches.column("epoch")[own], 0)
        places = self._listed[epochs, entries]
        good = taken & ~self._spoilt[rows] & self._is_right(rows, places, own)
        settled[own[~good]] = False
        in_order = settled[own]
        self._counted[rows[in_order]] = places[in_order]

    def _is_right(
        self, rows: NDArray[np.int64], places: NDArray[np.int64], own: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each row whether it is what its epoch's reference has."""
        found = self._identification
        if len(found.references) == 1:
            return self._is_as_in(0, rows, places)
        epochs = self._batches.column("epoch")[own]
        numbers = np.clip(epochs, 0, len(found.references) - 1)
        right = np.zeros(len(rows), np.bool_)
        for number in np.unique(numbers).tolist():
            here = numbers == number
            right[here] = self._is_as_in(number, rows[here], places[here])
        return right

    def _is_as_in(
        self, number: int, rows: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether rows have content and signature of places, pair by pair."""
        reference = self._identification.references[number]
        signature = self._signature_places[number][self._arrived.signature[rows]]
        same: NDArray[np.bool_] = signature == reference.signature[places]
        return same & self._identification.has_content(rows, places, reference)

    def _count(self) -> None:
        """Compare in each epoch how often ids were asked for and how often they came.

        Both in the order in which they stand in the list, and in which they arrived.
        """
        size = len(self._expected.ids)
        epochs, sizes = self._batches.column("epoch"), np.diff(self._starts)
        for epoch in range(self._expected.epochs):
            here = np.repeat(epochs == epoch, sizes)
            here &= self._counted != UNCOUNTED
            counted = self._counted[here]
            got = np.bincount(counted, minlength=size)
            asked = self._listed[epoch]
            wanted = np.bincount(asked, minlength=size)
            for code, listed, differs in (
                ("missing_ids", asked, wanted > got),
                ("repeated_ids", counted, got > wanted),
            ):
                if differs.any():
                    found = dict.fromkeys(listed[differs[listed]].tolist())
                    may_lack = code == "missing_ids" and self._expected.may_lack
                    self._note(
                        code, epoch, self._required(found) if may_lack else found
                    )

    def _required(self, places: Iterable[int]) -> list[int]:
        """Return the places that may not be left out; keep the others by their ids."""
        ids, may_lack = self._expected.ids, self._expected.may_lack
        required = []
        for place in places:
            if ids[place] in may_lack:
                self.left_out[ids[place]] = None
            else:
                required.append(place)
        return required

    def _note(self, code: str, epoch: int, places: Iterable[int]) -> None:
        for place in places:
            self._mismatches.add(code, epoch, self._expected.ids[place])

    def _asked(self, epoch: int, number: int) -> list[int]:
        """Return an index list, as places."""
        first, end = self._offsets[number], self._offsets[number + 1]
        return list(self._listed[epoch, first:end].tolist())

    def _take(self, batch: ArrivedBatch, rows: range, *, is_awaited: bool) -> None:
        """Count the rows of a batch that is awaited, and compare them in any case."""
        is_known = 0 <= batch.epoch < self._expected.epochs and (
            0 <= batch.batch < len(self._lengths)
        )
        asked = self._asked(batch.epoch, batch.batch) if is_known else []
        places = self._identification.places_of(batch, rows, asked)
        for row, place in enumerate(places):
            if place is None:
                name = f"batch {batch.batch}, row {row}"
                self._mismatches.add("foreign_ids", batch.epoch, name)
        known = [place for place in places if place is not None]
        if is_awaited:
            for row, place in zip(rows, places, strict=True):
                self._counted[row] = UNCOUNTED if place is None else place
        else:
            self._note("repeated_ids", batch.epoch, known)
        self._compare(batch.epoch, rows, places)
        spoilt = [
            place
            for row, place in zip(rows, places, strict=True)
            if place is not None and self._spoilt[row]
        ]
        if not batch.intact and not spoilt:
            spoilt = asked or known  # which of them cannot be told
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
        number = self._identification.number_of(epoch)
        taken, right = (np.array(side) for side in zip(*pairs, strict=True))
        wrong = ~self._is_as_in(number, taken, right)
        for row, place in zip(taken[wrong], right[wrong], strict=True):
            found = self._codes(int(row), int(place), number)
            for code, words in found.items():
                example_id = self._expected.ids[int(place)]
                self._mismatches.add(code, epoch, example_id, words)

    def _codes(self, row: int, place: int, number: int) -> dict[str, str | None]:
        """Return what differs between a row's example and the reference, by code."""
        arrived = self._arrived
        reference = self._identification.references[number]
        differing = signature_differences(
            reference.signatures[int(reference.signature[place])],
            arrived.signatures[int(arrived.signature[row])],
        )
        if not differing and arrived.label[row] != reference.label[place]:
            return {"label_mismatch": None}
        if not differing and arrived.fixed[row] != reference.fixed[place]:
            return {"content_mismatch": None}
        return dict(differing)


def _places_among(known: Sequence[str], seen: Sequence[str]) -> NDArray[np.int64]:
    """Return for each signature that was seen its place among the known ones, or -1."""
    places = {text: place for place, text in enumerate(known)}
    return np.array([places.get(text, -1) for text in seen], np.int64)
