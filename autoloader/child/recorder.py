"""Watch what a loader delivers, without wrapping the dataset.

The loader is built normally; then its collate_fn and its batch_sampler are replaced.
The sampler's stand-in hands out index lists that tell the worker which list they are
(`_TaggedList`), the collate's stand-in digests every example as it arrives and sends
the digests along with the batch (`Carried`). In the training process the batch that
really arrived is digested again. Nothing of this is part of a timed pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, get_worker_info
from torch.utils.data._utils import collate as torch_collate

from autoloader.audit.alignment import Alignment, align_rows
from autoloader.audit.ledger import NO_SLOT, LedgerWriter
from autoloader.child.batch_digest import BatchDigest
from autoloader.child.counting import steps_to
from autoloader.child.lost_words import keep_lost_words
from autoloader.child.made_batches import rows_of
from autoloader.child.makes import ExampleReader, Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autoloader.child.digest import DigestPlan, Leaf, Path
    from autoloader.child.makes import Shape

_current = (0, 0)
"""Epoch and list that the process (a worker, or the trial itself) is working on."""


def _arrived(epoch: int, batch: int, indices: Any) -> Any:
    """Note in the worker which list (or index) has come; return it as it was."""
    global _current  # one batch at a time in a process
    _current = (epoch, batch)
    if get_worker_info() is not None:  # a spawned one inherits nothing of the gate's
        keep_lost_words()
    if torch.get_num_threads() != 1:  # sums of floats then agree with the reference
        torch.set_num_threads(1)
    return indices


class _Tagged:
    """A list (or index) that tells the process that unpickles it which one it is."""

    def __init__(self, epoch: int, batch: int, indices: Any) -> None:
        self._told = (epoch, batch, indices)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self._told


class TaggingSampler:
    """Stand in for the batch_sampler (or sampler); number what each epoch yields."""

    def __init__(self, inner: Any, *, has_workers: bool) -> None:
        self._inner = inner
        self._has_workers = has_workers
        self.epoch = 0
        """Epoch that the next lists belong to; set before each `iter(loader)`."""

    def __iter__(self) -> Iterator[Any]:
        """Draw the inner iterator at once, as DataLoader would."""
        return self._number(self.epoch, iter(self._inner))

    def _number(self, epoch: int, lists: Iterator[Any]) -> Iterator[Any]:
        for batch, indices in enumerate(lists):
            if self._has_workers:
                yield _Tagged(epoch, batch, indices)
            else:  # nothing is pickled: what was drawn is fetched at once
                yield _arrived(epoch, batch, indices)

    def __len__(self) -> int:
        """Return how many lists an epoch has."""
        return len(self._inner)


@dataclass(slots=True)
class Carried:
    """A batch on its way, with what its worker saw."""

    batch: Any
    epoch: int
    place: int
    """Number of its list within the epoch."""
    worker: int
    """Worker that made it; -1 in the training process."""
    examples: Seen
    """Digests of the examples that collate_fn was given."""
    whole: int
    """Digest of the batch as collate_fn returned it."""
    is_single: bool
    """Whether the batch is one element of the dataset (batch_size=None)."""

    def pin_memory(self, device: Any = None) -> Carried:
        """Pin the batch as DataLoader would have done."""
        from torch.utils.data._utils.pin_memory import pin_memory

        self.batch = pin_memory(self.batch, device)  # type: ignore[no-untyped-call]
        return self


class RecordingCollate:
    """Stand in for collate_fn; digest what it is given, then call it."""

    def __init__(
        self, collate: Callable[[Any], Any], plan: DigestPlan, *, is_single: bool
    ) -> None:
        self._collate = collate
        self._reader = ExampleReader(plan)
        self._is_single = is_single
        self._by_rows = plan.by_rows and is_single

    def __call__(self, examples: Any) -> Carried:
        """Return the collated batch with the digests of its examples."""
        rows = rows_of(examples) if self._by_rows else None
        is_single = self._is_single and rows is None
        listed = [examples] if is_single else rows or list(examples)
        seen = self._reader.read(listed)
        batch = self._collate(examples)
        stacked = seen if stacks(self._collate) else None
        made = BatchDigest(batch, is_single=is_single, stacked=stacked)
        worker = get_worker_info()
        return Carried(
            batch=batch,
            epoch=_current[0],
            place=_current[1],
            worker=-1 if worker is None else worker.id,
            examples=seen,
            whole=made.whole,
            is_single=is_single,
        )


def stacks(collate: Callable[[Any], Any]) -> bool:
    """Whether a collate_fn is torch's own, and does with tensors what torch does."""
    stack = torch_collate.default_collate_fn_map.get(torch.Tensor)
    is_own = collate is torch_collate.default_collate
    return is_own and stack is torch_collate.collate_tensor_fn


def record(loader: DataLoader[Any], plan: DigestPlan) -> TaggingSampler:
    """Make a loader deliver `Carried` batches; return what counts its epochs."""
    is_single = loader.batch_sampler is None
    name = "sampler" if is_single else "batch_sampler"
    sampler = TaggingSampler(getattr(loader, name), has_workers=loader.num_workers > 0)
    loader.__dict__[name] = sampler
    loader.__dict__["collate_fn"] = RecordingCollate(
        loader.collate_fn, plan, is_single=is_single
    )
    return sampler


@dataclass(slots=True)
class Arrivals:
    """Turn what arrives in the training process into ledger rows."""

    ledger: LedgerWriter
    plan: DigestPlan
    count_path: tuple[int | str, ...] | None = None
    """Field of the batch whose first size was the number of rows, every time."""
    batch_bytes: int = 0
    """Bytes of the largest batch."""
    is_by_row: bool = True
    """Whether every row of every batch was compared with its example in all fields."""
    _first: bool = True

    def add(self, carried: Carried) -> None:
        """Digest the batch that arrived, and note its rows."""
        found = BatchDigest(carried.batch, is_single=carried.is_single)
        self.batch_bytes = max(self.batch_bytes, found.size)
        rows = _rows(carried, found)
        seen = carried.examples
        is_same = rows is not None and rows.digests == seen.digests
        alignment = None if is_same else _alignment(seen, rows)
        if alignment is not None and _is_nothing(found.leaves):
            alignment = Alignment(slots=(), converted=None)
        converted = () if alignment is None else alignment.converted
        if not carried.is_single:
            count = len(seen if alignment is None else alignment.slots)
            self._note_count_path(carried.batch, found.leaves, count)
        self.is_by_row &= converted == ()
        self.ledger.add_batch(
            epoch=carried.epoch,
            batch=carried.place,
            worker=carried.worker,
            examples=len(seen),
            converted=converted,
            intact=found.whole == carried.whole,
        )
        if alignment is None:
            self._add_same(seen)
        else:
            self._add_aligned(seen, alignment, rows)

    def _add_same(self, seen: Seen) -> None:
        """Note rows that are the examples, one by one."""
        self.ledger.add_rows(
            slots=range(len(seen)),
            fixed=seen.fixed,
            label=seen.label,
            signatures=[make.signature for make in seen.makes],
            signature=seen.make,
            ids=seen.id,
        )

    def _add_aligned(self, seen: Seen, alignment: Alignment, rows: Rows | None) -> None:
        """Note rows; one that is none of the examples has digests of its own."""
        altered = alignment.altered or (0,) * len(alignment.slots)
        for row, slot in enumerate(alignment.slots):
            if slot == NO_SLOT and rows is not None:
                digest = self.plan.digest_leaves(rows.leaves(row))
            else:
                digest = seen[slot]
            self.ledger.add_row(
                slot=slot,
                fixed=digest.fixed,
                label=digest.label,
                signature=digest.signature,
                altered=altered[row],
                id_digest=digest.id,
            )

    def _note_count_path(self, batch: Any, found: list[Leaf], rows: int) -> None:
        paths = (
            steps_to(batch, leaf.path)
            for leaf in found
            if leaf.type == "tensor" and leaf.shape and leaf.shape[0] == rows
        )
        names = [path for path in paths if path is not None]
        if self._first:
            self.count_path = names[0] if names else None
            self._first = False
        elif self.count_path not in names:
            self.count_path = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a batch that mirrors its examples."""

    digests: list[tuple[int, ...]]
    """For each row the digests of its fields."""
    sizes: tuple[Sequence[Shape], ...]
    """For each field the shapes of its rows."""
    found: BatchDigest
    """What they are read from."""
    columns: tuple[tuple[Path, Any], ...]
    """Path and values of each field; none where the batch is one element."""

    @property
    def shapes(self) -> list[tuple[Shape, ...]]:
        """For each row the shapes of its fields."""
        return list(zip(*self.sizes, strict=True))

    def leaves(self, row: int) -> list[Leaf]:
        """Return the leaves of a row."""
        if not self.columns:
            return self.found.leaves
        return [self.found.item(path, column[row]) for path, column in self.columns]


def _rows(carried: Carried, found: BatchDigest) -> Rows | None:
    """Return the rows of a batch that mirrors its examples.

    None where the batch has another structure than its examples, or its fields do not
    all have one row an example.
    """
    if carried.is_single:
        digests = tuple(leaf.digest for leaf in found.leaves)
        return Rows([digests], tuple([leaf.shape] for leaf in found.leaves), found, ())
    columns = []
    for path in carried.examples.paths:
        column = _look_up(carried.batch, path)
        if column is None:
            return None
        columns.append((path, column))
    if len({len(column) for _, column in columns}) != 1:
        return None
    read = [found.column(path, column) for path, column in columns]
    rows = list(zip(*(digests for digests, _ in read), strict=True))
    return Rows(rows, tuple(shapes for _, shapes in read), found, tuple(columns))


def _alignment(seen: Seen, rows: Rows | None) -> Alignment:
    if rows is None:
        return Alignment(slots=tuple(range(len(seen))), converted=None)
    return align_rows(
        rows.digests,
        seen.digests,
        row_shapes=rows.shapes,
        example_shapes=seen.shapes,
    )


def _is_nothing(found: Sequence[Leaf]) -> bool:
    """Whether a batch has no content: None, or an empty list."""
    return all(leaf.type == "none" for leaf in found)


def _look_up(batch: Any, path: Path) -> Any:
    """Return the collated column of a field, or None where there is none."""
    found = batch
    for part in path:
        try:
            found = found[part]
        except (TypeError, KeyError, IndexError):
            found = getattr(found, part, None) if isinstance(part, str) else None
        if found is None:
            return None
    if isinstance(found, torch.Tensor):
        return found if found.dim() else None
    return found if isinstance(found, (list, tuple)) else None
