"""Run the user's collate_fn in one process, beside what workers made of the same list.

Where a collate_fn converts or nests, rows cannot be compared with examples; whole
batches can. Done for a few lists, in a training process that has read nothing yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.batch_digest import BatchDigest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.child.recorder import Carried

REPEATED = 3
"""Lists that are collated again: the first, the second, and the last."""


class CollateWatch:
    """Keeps what workers made of the first lists and of the last."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate
        self._made: dict[int, int] = {}
        self._last = -1

    def note(self, carried: Carried) -> None:
        """Keep the digest of a batch as its worker made it, of the first epoch."""
        if carried.epoch != 0 or carried.worker < 0:
            return
        if carried.place > self._last:
            if self._last >= REPEATED - 1:
                del self._made[self._last]
            self._last = carried.place
            self._made[carried.place] = carried.whole
        elif carried.place < REPEATED - 1:
            self._made[carried.place] = carried.whole

    def differing(self, dataset: Any, lists: Sequence[Sequence[Any]]) -> list[int]:
        """Return the numbers of lists that collate otherwise in this process.

        Args:
            dataset: the user's, fetched from as DataLoader does.
            lists: index lists of an epoch.
        """
        return [
            place
            for place, made in sorted(self._made.items())
            if place < len(lists) and self._alone(dataset, lists[place]) != made
        ]

    def _alone(self, dataset: Any, indices: Sequence[Any]) -> int:
        if getattr(dataset, "__getitems__", None):
            examples = dataset.__getitems__(list(indices))
        else:
            examples = [dataset[index] for index in indices]
        return BatchDigest(self._collate(examples), is_single=False).whole
