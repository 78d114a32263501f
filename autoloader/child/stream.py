"""Read an iterable dataset in one process: what is right, in which order, to which end.

A pass ends with the stream, or with the scope ("cut"). Two passes tell whether the
stream starts anew, keeps its order, and which fields are random.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data._utils import worker as torch_worker

from autoloader.audit.ledger import ReferenceLedger, SignatureTable
from autoloader.child.digest import DigestPlan, Leaf, leaves, name_of, walk
from autoloader.errors import DatasetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoloader.child.stages import StageBoard

Kind = tuple[tuple[Any, str, str | None, tuple[int, ...] | None], ...]
"""Path, type, dtype and shape of each field of an example."""


@contextmanager
def as_worker(dataset: Any, number: int, workers: int, seed: int) -> Iterator[None]:
    """Make `get_worker_info()` say that this is worker `number` of `workers`."""
    before = torch_worker._worker_info
    torch_worker._worker_info = torch_worker.WorkerInfo(
        id=number, num_workers=workers, seed=seed, dataset=dataset
    )
    try:
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
        self.ids: list[Any] = []
        """Name of each example: its id, or its place in the stream."""
        self._kinds: dict[Kind, int] = {}
        self._listed: list[Kind] = []
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


def read_pass(
    dataset: Any,
    limits: StreamLimits,
    board: StageBoard,
    *,
    needs_worker: bool,
    id_path: str | None = None,
) -> StreamPass:
    """Read the stream from its start, as one process, to its end or to a limit.

    Args:
        dataset: the user's IterableDataset.
        limits: where to stop.
        board: told of each example.
        needs_worker: whether the stream can only be read in a worker: the process
            then says that it is worker 0 of 1.
        id_path: field whose values name the examples; None: they are numbered.

    Raises:
        UsageError: the field is missing, or no number or text.
        DatasetError: the stream raises.
    """
    if needs_worker:
        with as_worker(dataset, 0, 1, torch.initial_seed()):
            return _read(dataset, limits, board, id_path)
    return _read(dataset, limits, board, id_path)


def _read(
    dataset: Any, limits: StreamLimits, board: StageBoard, id_path: str | None
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
            found.seconds.append(time.perf_counter() - wall)
            found.cpu_seconds.append(time.process_time() - cpu)
            number = len(found)
            found.add(leaves(example))
            found.ids.append(number if id_path is None else _id_of(example, id_path))
            board.advance()
    except UsageError:
        raise
    except Exception as exc:
        msg = (
            f"the dataset fails in one process: example {len(found)} of the stream "
            f"raises {type(exc).__name__}: {exc}"
        )
        hint = "no DataLoader setting mends that"
        raise DatasetError(msg, hint=hint) from exc
    return found


def _id_of(example: Any, path: str) -> int | str:
    found = {name_of(where): value for where, value in walk(example)}
    if path not in found:
        msg = f"--id {path} is no field of an example"
        raise UsageError(msg, hint=f"fields are {', '.join(sorted(found))}")
    value = found[path].item() if hasattr(found[path], "item") else found[path]
    if not isinstance(value, (int, str)):
        kind = type(value).__name__
        msg = f"--id {path} is a {kind}; a number or text can name an example"
        raise UsageError(msg)
    return value


def _is_reached(found: StreamPass, limits: StreamLimits, begun: float) -> bool:
    if limits.examples is not None and len(found) >= limits.examples:
        return True
    late = limits.seconds is not None and time.monotonic() - begun >= limits.seconds
    return late and len(found) > 0


@dataclass(frozen=True, slots=True)
class StreamNature:
    """What two passes say of a stream."""

    plan: DigestPlan
    """Fixed and random fields."""
    keeps_order: bool
    """Whether each pass gives the same examples in the same order."""


def compare_passes(
    first: StreamPass, second: StreamPass, label: str | None
) -> StreamNature:
    """Tell order and random fields from two passes under different seeds.

    A field is fixed where both passes have the same values at the same places; where
    the order itself changes, where both have the same values in all. A stream that is
    cut and changes its order tells neither: all its fields count as random then.

    Raises:
        DatasetError: the second pass is empty, or a complete one has another length.
    """
    if len(first) and not len(second):
        msg = "reference_unstable: the second pass over the stream is empty"
        hint = "__iter__ must start anew: return a generator, not self"
        raise DatasetError(msg, hint=hint)
    both_complete = first.is_complete and second.is_complete
    if both_complete and len(first) != len(second):
        msg = (
            f"reference_unstable: the stream had {len(first)} examples, "
            f"then {len(second)}"
        )
        raise DatasetError(msg, hint="the usual cause is state that outlives a pass")
    count = min(len(first), len(second))
    one, other = _columns(first, count), _columns(second, count)
    names = list(dict.fromkeys([*one, *other]))
    equal = {name: one.get(name) == other.get(name) for name in names}
    keeps_order = not names or any(_agrees(one, other, name) for name in names)
    if not keeps_order and both_complete:
        equal = {
            name: Counter(one.get(name, ())) == Counter(other.get(name, ()))
            for name in names
        }
    elif not keeps_order:
        equal = dict.fromkeys(names, False)
    random = frozenset(name for name in names if not equal[name])
    free = frozenset(name for name in random if _shapes(first, second, name) > 1)
    plan = DigestPlan(random=random, free_shapes=free, label=label)
    return StreamNature(plan, keeps_order=keeps_order)


Columns = dict[str, list[int | None]]


def _columns(found: StreamPass, count: int) -> Columns:
    """Return the values of each field over the first examples; None where it lacks."""
    columns: Columns = {}
    for place in range(count):
        for leaf in found.leaves(place):
            column = columns.setdefault(name_of(leaf.path), [])
            column.extend([None] * (place - len(column)))
            column.append(leaf.digest)
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return columns


def _agrees(one: Columns, other: Columns, name: str) -> bool:
    """Whether most places have the same value; few distinct values prove nothing."""
    left, right = one.get(name, []), other.get(name, [])
    if len(left) != len(right) or len(set(left)) < min(len(left), 3):
        return left == right
    equal = sum(a == b for a, b in zip(left, right, strict=True))
    return 2 * equal > len(left)


def _shapes(first: StreamPass, second: StreamPass, name: str) -> int:
    kinds = [*first.kinds(), *second.kinds()]
    return len(
        {leaf.shape for kind in kinds for leaf in kind if name_of(leaf.path) == name}
    )


def ledger_of(found: StreamPass, plan: DigestPlan) -> ReferenceLedger:
    """Return the ledger of a pass: one row an example, in order."""
    count = len(found)
    fixed, label = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    kinds = np.zeros(count, np.int64)
    table = SignatureTable()
    for place in range(count):
        digest = plan.digest_leaves(found.leaves(place))
        fixed[place], label[place] = digest.fixed, digest.label
        kinds[place] = table.place(digest.signature)
    return ReferenceLedger(fixed, label, kinds, table.signatures)
