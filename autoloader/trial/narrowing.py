"""Narrow a failure that only workers show, to the smallest set of ids that shows it.

Each question is a loader of its own over a part of the scope's list, ended after a
short time without progress: inputs are reduced instead of waiting longer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from autoloader.audit.narrowing import MOST_TRIES, smallest
from autoloader.audit.scope_list import ScopeList, told_id
from autoloader.units import in_number, in_short
from autoloader.values.diagnosis import NarrowedIds
from autoloader.values.outcome import MAX_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import Reference
    from autoloader.values.outcome import Failure

HANG_S = 5.0
"""Least time without progress that counts as a hang of a probe: the whole was given
more, and is known to hang."""

BATCHES = 20
"""A probe hangs no sooner than this many batches' worth of reading in one process."""

HANGING_S = 150.0
"""Time that probes which hang may take together."""


class Prober(Protocol):
    """Says whether a loader comes to its end over a part of the list."""

    def probe(
        self, config: LoaderConfig, *, places: Sequence[int] | None
    ) -> Failure | None:
        """Return why two epochs do not come to their end; None where they do."""
        ...


def probe_patience_s(reference: Reference, config: LoaderConfig) -> float:
    """Return the seconds without progress after which a probe hangs."""
    facts = reference.facts
    size = config.batch_size or facts.batch_examples
    return max(HANG_S, BATCHES * facts.example_s * size * max(1, config.num_workers))


def narrow(
    prober: Prober,
    config: LoaderConfig,
    failure: Failure,
    reference: Reference,
    *,
    patience_s: float,
    on_try: Callable[[int], None] = lambda _ids: None,
) -> NarrowedIds | None:
    """Return the smallest set of ids that shows a failure; None where it does not come.

    Args:
        prober: asks.
        config: settings that failed.
        failure: what came of them.
        reference: whose list is cut; a stream has none.
        patience_s: time without progress after which a probe hangs.
        on_try: told how many ids the next probe reads.
    """
    if reference.scope.stream is not None:
        return None
    asked = 0

    def shows(places: Sequence[int]) -> bool:
        nonlocal asked
        asked += 1
        on_try(len(places))
        found = prober.probe(config, places=places)
        return found is not None and found.kind == failure.kind

    every = range(reference.scope.examples)
    if not shows(every):
        return None
    if shows(()):
        return NarrowedIds(ids=(), is_smallest=True, tries=asked, config=config)
    most = MOST_TRIES
    if failure.kind == "hung":
        most = max(8, int(HANGING_S / patience_s))
    found = smallest(every, shows, most_tries=most)
    others = _others(every, found.items)
    return NarrowedIds(
        ids=_ids(reference.folder, found.items),
        config=config,
        is_smallest=found.is_smallest,
        shown_by_others=shows(others) if others and found.is_smallest else None,
        tries=asked,
    )


def _others(every: Sequence[int], found: Sequence[int]) -> list[int]:
    """Return as many other places, from the end of the list; none where it is short."""
    taken = set(found)
    rest = [place for place in reversed(every) if place not in taken]
    return sorted(rest[: len(found)]) if len(rest) >= len(found) else []


def _ids(folder: str, places: Sequence[int]) -> tuple[int | str, ...]:
    listed = ScopeList.read(Path(folder)).indices(list(places))
    return tuple(map(told_id, listed))


def evidence_of(narrowed: NarrowedIds | None) -> str:
    """Return what narrowing showed, in one sentence without a full stop."""
    if narrowed is None:
        return "read once more, it came to its end: whether it fails depends on timing"
    tries = f"in {narrowed.tries} tries"
    if not narrowed.ids:
        return f"it shows without any example, {tries}: workers do not start or end"
    count = len(narrowed.ids)
    what = f"{in_number(count, 'id')} {in_short(narrowed.ids, MAX_IDS)}"
    if not narrowed.is_smallest:
        return f"{what} show it, {tries}; a smaller set may as well"
    if narrowed.shown_by_others:
        some = "any id" if count == 1 else f"any {count} ids"
        return f"{some} will do, not {what} alone, {tries}"
    return f"{what} {in_number(count, 'shows', 'show')} it, and no fewer do, {tries}"
