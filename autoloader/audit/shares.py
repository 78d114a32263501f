"""Judge what workers delivered of a stream before it was cut.

Pure, over the keys of examples. The end of such a stream is not known: an example is
missing only where later ones of its worker arrived, or where its worker was done, and
no example is foreign for lying beyond what was read.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

Key = tuple[int, int]
"""Digest of the fixed fields, place of the signature: what tells an example."""

LEAST_TOLD = 16
"""Examples from which repeats mean something: of fewer, labels may be equal by luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one process reads when it is told to be a certain worker."""

    keys: Sequence[Key]
    """From its start, in its order."""
    is_complete: bool
    """Whether the share is known to end there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one worker delivered in an epoch."""

    keys: Sequence[Key] = ()
    """In order of arrival."""
    given: int = 0
    """Examples that its collate_fn was given."""
    batches: int = 0
    has_ended: bool = False
    """Whether it showed by a short batch that it had no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareFaults:
    """Where a delivery differs from its share."""

    skipped: Sequence[int]
    """Places in the share that never arrived, although later ones did."""
    ended: Sequence[int]
    """Places after the last one that arrived, due and not there."""
    extra: Counter[Key]
    """Arrived more often than the share has them."""


def compare_share(share: Share, got: Delivery, *, due: int) -> ShareFaults:
    """Compare a delivery with its share; order within both is free.

    Args:
        share: what is right.
        got: what arrived.
        due: examples that must have arrived; more than the share has: all of it.
    """
    left = Counter(got.keys)
    came = [False] * len(share.keys)
    reach = 0
    for place, key in enumerate(share.keys):
        if left[key] > 0:
            left[key] -= 1
            came[place] = True
            reach = place + 1
    due = min(max(due, reach), len(share.keys))
    missing = [place for place in range(due) if not came[place]]
    extra = +left
    unknown = max(0, got.given + len(missing) - len(share.keys))
    if not share.is_complete and extra.total() <= unknown:
        extra = Counter()  # they lie beyond what was read of the share
    return ShareFaults(
        skipped=[place for place in missing if place < reach],
        ended=[place for place in missing if place >= reach],
        extra=extra,
    )


@dataclass(frozen=True, slots=True)
class Telling:
    """How many examples at the start of a reference can be told apart."""

    examples: int
    """Length of the longest beginning of which one in a hundred repeats another."""
    repeats: int
    """Examples of it that repeat another."""

    @classmethod
    def of(cls, keys: Sequence[Key]) -> "Telling":
        """Return it for the keys of a reference."""
        seen: set[Key] = set()
        examples = repeats = 0
        for count, key in enumerate(keys, start=1):
            seen.add(key)
            if 100 * (count - len(seen)) <= count:
                examples, repeats = count, count - len(seen)
        return cls(examples, repeats)


def repeats_of(
    deliveries: Collection[Delivery], telling: Telling
) -> tuple[Counter[Key], bool]:
    """Return what came more than once, and whether chance cannot explain it.

    A stream may repeat itself where nobody has read it (it begins anew for ever, or has
    equal examples), so only the beginning of each delivery is looked at: as much as all
    of them together would have of a beginning that can be told apart.
    """
    length = telling.examples // max(1, len(deliveries))
    early = Counter(key for got in deliveries for key in got.keys[:length])
    again = Counter({key: times - 1 for key, times in early.items() if times > 1})
    # by simulation: draws with replacement exceed it in less than 1 of 100 passes
    by_chance = min(8 + 3 * telling.repeats, early.total() // 4)
    is_clear = early.total() >= LEAST_TOLD and again.total() > by_chance
    return again, is_clear


def lost_between(
    reference: Sequence[Key], shares: Collection[Sequence[Key]]
) -> list[int]:
    """Return the places of the reference that no share has, although all go past them.

    Only where every share follows the reference's order: workers that shuffle or
    interleave otherwise may come to them later. Before the first example of some
    share, and after the last of some share, nothing is known.
    """
    times = Counter(reference)
    places = {key: place for place, key in enumerate(reference) if times[key] == 1}
    first, last = 0, len(reference) - 1
    for share in shares:
        found = [places[key] for key in share if key in places]
        if len(found) < 2 or any(one >= other for one, other in pairwise(found)):
            return []
        first, last = max(first, found[0]), min(last, found[-1])
    shared = {key for share in shares for key in share}
    return [place for place in range(first, last + 1) if reference[place] not in shared]
