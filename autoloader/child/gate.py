"""The gate's pass: read whole epochs with digests, and keep what else tells of faults.

Runs in a process of its own, that has read nothing before. What is right is decided in
`audit`, by the parent.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.audit.ledger import LedgerWriter
from autoloader.audit.writing import write_table
from autoloader.child.collating import CollateWatch
from autoloader.child.failures import READING_IDS
from autoloader.child.growth import GrowthWatch
from autoloader.child.last_words import SUSPECTS
from autoloader.child.loader import ListSampler
from autoloader.child.lost_words import keep_lost_words
from autoloader.child.padding import PaddingWatch
from autoloader.child.pin_watch import PinWatch, pinned_for
from autoloader.child.randomness import RandomnessWatch, probe_workers
from autoloader.child.recorder import Arrivals, record
from autoloader.child.stages import Stage
from autoloader.child.suspects import find_suspects
from autoloader.measure.descriptors import FileOffset, readable_offsets
from autoloader.units import in_short
from autoloader.values.outcome import MAX_IDS

PROBED = 64
"""Examples, or lists, that all workers are given once, to see whether they differ."""

LOOKED_AT = 16
"""Batches of an epoch after which file offsets are looked at; about 0.1 ms each."""

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch.utils.data import DataLoader

    from autoloader.child.context import TrialContext
    from autoloader.child.digest import DigestPlan
    from autoloader.child.recorder import Carried, TaggingSampler


def gate_pass(context: TrialContext) -> dict[str, Any]:
    """Read whole epochs, write what arrived, and tell what else was seen.

    One torch thread, as in workers and reference: sums of floats then agree to the bit.
    """
    torch.set_num_threads(1)
    entries = context.entries()
    sampler = None if entries is None else ListSampler(entries)
    loader = context.build(context.order.config, sampler)
    keep_lost_words()
    watches = _Watches(context, loader)
    watches.read(loader, sampler)
    context.board.enter(Stage.SHUTTING_DOWN)
    del loader
    probed = _probe(context, watches.plan)
    context.calls.begin(0)
    lists = [] if watches.arrivals.is_by_row else context.lists(entries)
    watches.arrivals.ledger.write(Path(context.order.logs))
    return {
        **watches.to_dict(probed),
        "in_order": getattr(context.parts.loader, "in_order", True),
        "collated_otherwise": watches.collate.differing(context.parts.dataset, lists),
    }


def note_suspects(context: TrialContext) -> None:
    """Write what forked workers would inherit, to be read if they hang or die.

    Before ranks meet: what their group holds is none of the dataset's.
    """
    config = context.order.config
    if not config.num_workers or context.facts.start_method != "fork":
        return
    ours = str(Path(context.order.logs).parent)
    own = (ours, context.order.reference, tempfile.gettempdir())
    found = find_suspects(
        context.parts.dataset, own=own, usual_threads=context.threads_of_imports
    )
    write_table(Path(context.order.logs) / SUSPECTS, found)


class _Watches:
    """All that is kept of what a loader delivers."""

    def __init__(self, context: TrialContext, loader: DataLoader[Any]) -> None:
        self._context = context
        self.plan = context.plan()
        self.collate = CollateWatch(loader.collate_fn)
        self._tagging: TaggingSampler = record(loader, self.plan)
        self.arrivals = Arrivals(LedgerWriter(), self.plan)
        self._randomness = RandomnessWatch()
        self._padding = PaddingWatch(context.facts.padding)
        self._growth = GrowthWatch()
        self._pinning = PinWatch(pinned_for(context.order.config))
        self._moved: list[str] = []
        self._offsets: dict[int, FileOffset] | None = None
        self._lists: list[Sequence[Any]] = []
        self._done = 0
        self._was_cut = False

    def read(self, loader: DataLoader[Any], sampler: ListSampler | None) -> None:
        """Read the epochs that were ordered, a list in the order of each."""
        lists = None if sampler is None else self._context.epochs(sampler.indices)
        for epoch in range(self._context.order.epochs):
            if sampler is not None and lists is not None:
                sampler.indices = next(lists)
                self._lists = self._context.lists(sampler.indices)
            self._tagging.epoch = epoch
            self._context.board.enter(Stage.STARTING_WORKERS)
            self._context.calls.begin(epoch)
            self._offsets = readable_offsets(os.getpid())
            self._read_epoch(loader)
            self._note_offsets()
            self._growth.note(loader)

    def _read_epoch(self, loader: DataLoader[Any]) -> None:
        try:
            self._read_batches(loader)
        except Exception as exc:
            self._note_ids(exc)
            raise

    def _note_ids(self, exc: Exception) -> None:
        """Add to an exception which examples were being read, where that is known."""
        lists = self._lists
        in_order = getattr(self._context.parts.loader, "in_order", True)
        if in_order and self._done < len(lists):
            exc.add_note(f"{READING_IDS}{in_short(lists[self._done], MAX_IDS)}")

    def _read_batches(self, loader: DataLoader[Any]) -> None:
        most, board = self._context.most_batches(), self._context.board
        self._done = 0
        for place, carried in enumerate(loader):
            if place == 0:
                board.enter(Stage.LOADING)
            self._note(carried)
            self._done = place + 1
            if place < LOOKED_AT:
                self._note_offsets()
            board.advance()
            if most is not None and place + 1 >= most:
                self._was_cut = True
                break

    def _note(self, carried: Carried) -> None:
        self.arrivals.add(carried)
        self._pinning.note(carried.batch)
        self._padding.note(carried)
        if self.plan.random:
            self._randomness.note(carried)
        else:
            self.collate.note(carried)

    def _note_offsets(self) -> None:
        """Keep the names of files whose offset is another one than at the last look.

        Looked at more than once: an epoch over the same list may leave a file where the
        last one did.
        """
        now = readable_offsets(os.getpid())
        self._moved += _moved(self._offsets, now)
        self._offsets = now

    def to_dict(self, probed: dict[int, list[int]]) -> dict[str, Any]:
        """Return what was kept, as a message.

        Args:
            probed: what each worker read of the same ids.
        """
        has_workers = self._context.order.config.num_workers > 0
        return {
            "count_path": self.arrivals.count_path,
            "batch_bytes": self.arrivals.batch_bytes,
            "was_cut": self._was_cut,
            "randomness": self._randomness.to_dict(probed),
            "moved_offsets": sorted(set(self._moved)) if has_workers else [],
            "padding_broken": self._padding.to_list(),
            "growth": self._growth.to_dict(),
            "pinning": self._pinning.to_dict(),
        }


def _probe(context: TrialContext, plan: DigestPlan) -> dict[int, list[int]]:
    """Give all workers the same ids once, where there are random fields."""
    config = context.order.config
    entries = context.entries()
    if not plan.random or config.num_workers < 2 or entries is None:
        return {}
    same = _same_for_all(context, entries)
    if not same:
        return {}
    context.board.enter(Stage.STARTING_WORKERS)
    fresh = replace(config, persistent_workers=False)
    return probe_workers(context.build(fresh, ListSampler(same)), plan)


def _same_for_all(context: TrialContext, entries: list[Any]) -> list[Any]:
    """Return what a sampler yields so that each worker reads the same batches.

    Batches are dealt in turns. Several are read: a flip repeats itself now and then.
    """
    workers = context.order.config.num_workers
    if context.facts.batching != "size":
        return [entry for entry in entries[:PROBED] for _ in range(workers)]
    size = context.size
    whole = min(len(entries), max(PROBED, size)) // size
    batches = [entries[at * size : (at + 1) * size] for at in range(whole)]
    return [index for batch in batches for _ in range(workers) for index in batch]


def _moved(
    before: dict[int, FileOffset] | None, after: dict[int, FileOffset] | None
) -> Iterator[str]:
    """Yield names of files whose offset workers moved under the training process."""
    earlier = before or {}
    for descriptor, offset in (after or {}).items():
        known = earlier.get(descriptor)
        if known is not None and known.path == offset.path and known != offset:
            yield Path(offset.path).name
