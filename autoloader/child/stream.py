"""Read an iterable dataset in one process: what is right, in which order, to which end.

A pass ends with the stream, or with the scope ("cut"). What two passes say of a stream
is told in `child.stream_nature`.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data._utils import worker as torch_worker

from autoloader.audit.ledger import ReferenceLedger, SignatureTable
from autoloader.child.digest import DigestPlan, Leaf, leaves, name_of, walk
from autoloader.child.made_batches import rows_of
from autoloader.errors import DatasetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoloader.child.stages import StageBoard

Kind = tuple[tuple[Any, str, str | None, tuple[int, ...] | None], ...]
"""Path, type, dtype and shape of each field of an example."""

OnElement = Callable[[Any, Any], None]
"""Called with the id of an element's first example, and the element."""


@contextmanager
def as_worker(
    dataset: Any,
    number: int,
    workers: int,
    seed: int,
    worker_init_fn: Callable[[int], object] | None = None,
) -> Iterator[None]:
    """Make `get_worker_info()` say that this is worker `number` of `workers`.

    Args:
        dataset: what `get_worker_info().dataset` is.
        number: of the worker, from 0.
        workers: how many there are.
        seed: what `get_worker_info().seed` is.
        worker_init_fn: called first, as a worker does: some split the stream there.
    """
    before = torch_worker._worker_info
    torch_worker._worker_info = torch_worker.WorkerInfo(
        id=number, num_workers=workers, seed=seed, dataset=dataset
    )
    try:
        if worker_init_fn is not None:
            worker_init_fn(number)
        yield
    finally:
        torch_worker._worker_info = before


class StreamPass:
    """What one pass over the stream read: 8 bytes a field and 12 an example."""

    def __init__(self) -> None:
        self.is_complete = False
        """Whether the stream came to its end within the limits."""
        self.seconds = array("d")
        """Wall time of each example."""
        self.cpu_seconds = array("d")
        """CPU time of each example."""
        self.bytes_total = 0
        """Bytes of all fields of all examples."""
        self.elements = 0
        """Elements that the stream gave: as many as examples, unless taken apart."""
        self.ids: list[Any] = []
        """Name of each example: its id, or its place in the stream."""
        self._kinds: dict[Kind, int] = {}
        self._listed: list[Kind] = []
        self._fields: dict[int, tuple[str, ...]] = {}
        self._kind = array("i")
        self._first = array("q")
        self._digests = array("Q")

    def __len__(self) -> int:
        return len(self._kind)

    def add(self, found: Sequence[Leaf]) -> None:
        """Keep the digests of one example."""
        kind = tuple((leaf.path, leaf.type, leaf.dtype, leaf.shape) for leaf in found)
        self._kind.append(self._kinds.setdefault(kind, len(self._kinds)))
        self._first.append(len(self._digests))
        self._digests.extend(leaf.digest for leaf in found)
        self.bytes_total += sum(leaf.size for leaf in found)

    def leaves(self, place: int) -> list[Leaf]:
        """Return the leaves of an example, their sizes left out."""
        kind = self._known_kinds()[self._kind[place]]
        first = self._first[place]
        return [
            Leaf(path, type_, dtype, shape, self._digests[first + at], 0)
            for at, (path, type_, dtype, shape) in enumerate(kind)
        ]

    def fields(self, place: int) -> tuple[str, ...]:
        """Return the names of an example's fields."""
        kind = self._kind[place]
        if kind not in self._fields:
            parts = self._known_kinds()[kind]
            self._fields[kind] = tuple(name_of(path) for path, *_ in parts)
        return self._fields[kind]

    def kinds(self) -> list[list[Leaf]]:
        """Return the leaves of an example of each kind, without digests."""
        return [[Leaf(*part, 0, 0) for part in kind] for kind in self._kinds]

    def _known_kinds(self) -> list[Kind]:
        if len(self._listed) != len(self._kinds):
            self._listed = list(self._kinds)
        return self._listed


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Where a pass is cut."""

    examples: int | None
    """Most examples; None: no such limit."""
    seconds: float | None
    """Most seconds; None: no such limit."""
    by_rows: bool = False
    """Whether elements that are batches are taken apart."""


def read_pass(
    dataset: Any,
    limits: StreamLimits,
    board: StageBoard,
    *,
    needs_worker: bool,
    id_path: str | None = None,
    name: str = "the stream",
    on_element: OnElement | None = None,
) -> StreamPass:
    """Read the stream from its start, as one process, to its end or to a limit.

    Args:
        dataset: the user's IterableDataset.
        limits: where to stop.
        board: told of each example.
        needs_worker: whether the stream can only be read in a worker: the process
            then says that it is worker 0 of 1.
        id_path: field whose values name the examples; None: they are numbered.
        name: what is read, as an error says it.
        on_element: called after each element that was read.

    Raises:
        UsageError: the field is missing, or no whole number or text.
        DatasetError: the stream raises.
    """
    if needs_worker:
        with as_worker(dataset, 0, 1, torch.initial_seed()):
            return _read(dataset, limits, board, id_path, name, on_element)
    return _read(dataset, limits, board, id_path, name, on_element)


def _read(
    dataset: Any,
    limits: StreamLimits,
    board: StageBoard,
    id_path: str | None,
    name: str,
    on_element: OnElement | None,
) -> StreamPass:
    found = StreamPass()
    begun = time.monotonic()
    try:
        iterator = iter(dataset)
        while not _is_reached(found, limits, begun):
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                example = next(iterator)
            except StopIteration:
                found.is_complete = True
                break
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            parts = (rows_of(example) if limits.by_rows else None) or [example]
            found.elements += 1
            for part in parts:
                found.seconds.append(wall / len(parts))
                found.cpu_seconds.append(cpu / len(parts))
                number = len(found)
                found.add(leaves(part))
                found.ids.append(number if id_path is None else _id_of(part, id_path))
            if on_element is not None:
                on_element(found.ids[-len(parts)], example)
            board.advance()
    except UsageError:
        raise
    except Exception as exc:
        msg = (
            f"the dataset fails in one process: example {len(found)} of {name} raises "
            f"{type(exc).__name__}: {exc}"
        ).removesuffix(": ")
        hint = "no DataLoader setting mends that"
        raise DatasetError(msg, hint=hint) from exc
    return found


def _id_of(example: Any, path: str) -> int | str:
    found = {name_of(where): value for where, value in walk(example)}
    if path not in found:
        msg = f"--id {path} is no field of an example"
        raise UsageError(msg, hint=f"fields are {', '.join(sorted(found))}")
    value = found[path]
    if hasattr(value, "item"):
        with suppress(ValueError, RuntimeError):  # it has more than one
            value = value.item()
    if not isinstance(value, (int, str)):
        kind = type(value).__name__
        msg = f"--id {path} is a {kind}; a whole number or text can name an example"
        raise UsageError(msg)
    return value


def _is_reached(found: StreamPass, limits: StreamLimits, begun: float) -> bool:
    if limits.examples is not None and len(found) >= limits.examples:
        return True
    late = limits.seconds is not None and time.monotonic() - begun >= limits.seconds
    return late and len(found) > 0


def ledger_of(found: StreamPass, plan: DigestPlan) -> ReferenceLedger:
    """Return the ledger of a pass: one row an example, in order."""
    count = len(found)
    fixed, label, ids = (np.zeros(count, np.uint64) for _ in range(3))
    kinds = np.zeros(count, np.int64)
    table = SignatureTable()
    for place in range(count):
        digest = plan.digest_leaves(found.leaves(place))
        fixed[place], label[place], ids[place] = digest.fixed, digest.label, digest.id
        kinds[place] = table.place(digest.signature)
    named = None if plan.id is None else ids
    return ReferenceLedger(fixed, label, kinds, table.signatures, named)
