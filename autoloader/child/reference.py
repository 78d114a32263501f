"""Read the scope example by example in one process: what is right.

Every example is fetched as `dataset[index]` over the sampler's own list, never through
a DataLoader, which may share a fault or be the fault. A part is read again under other
seeds: fields that then differ are *random*, all others *fixed*.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from autoloader.audit.ledger import ReferenceLedger, ScopeList, SignatureTable
from autoloader.child.digest import DigestPlan, Leaf, leaves, name_of
from autoloader.child.labels import find_label
from autoloader.child.loader import LoaderParts
from autoloader.child.seeding import seed_all
from autoloader.child.source import load_source
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stream_reference import run_stream_reference
from autoloader.errors import DatasetError, UsageError
from autoloader.values.scope import DatasetFacts, FieldFacts, Scope, ScopeRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.job import ReferenceOrder

PROBED = 64
"""Examples read again under other seeds, to tell random fields from fixed ones."""

COST_PROBE = 8
"""Examples whose cost decides how large the scope can be; the first is left out."""

LEAST_SCOPE = 256
"""Least examples of a scope, however slow they are to read (all of a smaller set)."""


def run_reference(order: ReferenceOrder, board: StageBoard) -> dict[str, Any]:
    """Read the scope, write list and ledger, and return facts and scope as a message.

    Raises:
        UsageError: the dataset, label or number of examples cannot be used.
        DatasetError: reading an example raises, or the same example changes.
    """
    torch.set_num_threads(1)
    board.enter(Stage.IMPORTING)
    parts = LoaderParts.of(load_source(order.source))
    if parts.is_iterable:
        return run_stream_reference(order, parts, board)
    request = order.request
    _check_batching(order, parts)
    reader = _Reader(parts.dataset, request, board)
    if parts.batching == "lists":
        lists, order_name = parts.draw_lists(request)
        lists = [_plain(batch, order) for batch in lists]
        drawn = _plain([index for batch in lists for index in batch], order)
        kept = _chosen_lists(lists, _wanted(drawn, request, reader))
        chosen = [index for batch in kept for index in batch]
        scope_list = ScopeList.of(chosen, [len(batch) for batch in kept])
    else:
        found, order_name = parts.draw(request)
        drawn = _plain(found, order)
        _check_batch(order, request.epoch_examples or len(drawn))
        chosen = _chosen(drawn, request, reader, len(parts.dataset))
        cuts = [1] * len(chosen) if parts.batching == "single" else None
        scope_list = ScopeList.of(chosen, cuts)
    _check_restarts(parts)
    plan = reader.find_plan(scope_list.ids)
    ledger = reader.read_all(scope_list.ids, plan)
    board.enter(Stage.WRITING)
    folder = Path(order.folder)
    scope_list.write(folder)
    ledger.write(folder)
    scope = Scope(
        examples=len(scope_list.places),
        distinct=len(scope_list.ids),
        of=len(drawn),
        epoch_examples=request.epoch_examples or len(drawn),
        order=order_name,
        seed=request.seed,
        transforms="random" if plan.random else "fixed",
        drop_last=parts.drop_last,
        start_method=request.start_method,
    )
    facts = _facts(parts, reader, plan, scope_list.cuts)
    return {"event": "reference", "facts": facts.to_dict(), "scope": scope.to_dict()}


def _plain(drawn: list[Any], order: ReferenceOrder) -> list[Any]:
    """Return the indices as numbers and strings."""
    spec = order.source.spec
    plain = [index.item() if hasattr(index, "item") else index for index in drawn]
    if not plain:
        msg = f"the sampler of {spec} yields nothing"
        hint = "a generator is used up after one pass: give a list or a Sampler"
        raise UsageError(msg, hint=hint)
    odd = next((index for index in plain if not isinstance(index, (int, str))), None)
    if odd is not None:
        kind = type(odd).__name__
        msg = f"the sampler of {spec} yields {kind}, not numbers or strings"
        raise UsageError(msg)
    return plain


def _check_batching(order: ReferenceOrder, parts: LoaderParts) -> None:
    """Refuse a batch size for a loader that does not take one."""
    if order.largest_batch is not None and parts.batching != "size":
        why = {
            "lists": "its batch_sampler makes the batches",
            "single": "it has batch_size=None",
        }
        msg = f"{order.source.spec} takes no --batch-size: {why[parts.batching]}"
        raise UsageError(msg, hint="leave --batch-size out")


def _chosen_lists(lists: list[list[Any]], wanted: int) -> list[list[Any]]:
    """Return the drawn lists that become the scope: the first ones and the last."""
    if sum(map(len, lists)) <= wanted or len(lists) == 1:
        return lists
    kept, count = [lists[0]], len(lists[0]) + len(lists[-1])
    for batch in lists[1:-1]:
        if count + len(batch) > wanted:
            break
        kept.append(batch)
        count += len(batch)
    return [*kept, lists[-1]]


def _check_restarts(parts: LoaderParts) -> None:
    """Refuse a sampler that is used up after one pass: each later epoch is empty."""
    loader = parts.loader
    if loader is None:
        return
    again = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    if next(iter(again), None) is None:
        msg = "reference_unstable: the second pass over the sampler is empty"
        hint = "a generator is used up after one pass: give a list or a Sampler"
        raise DatasetError(msg, hint=hint)


def _wanted(drawn: list[Any], request: ScopeRequest, reader: _Reader) -> int:
    """Return how many entries of the list become the scope."""
    if request.examples == "all":
        return len(drawn)
    if request.examples is not None:
        return min(request.examples, len(drawn))
    cost_s = reader.probe_cost(drawn)
    # half the time goes to start-up, second readings and a slower machine
    affordable = int(request.time_limit_s * 0.5 / max(cost_s, 1e-9))
    return min(max(affordable, LEAST_SCOPE), len(drawn))


def _check_batch(order: ReferenceOrder, epoch_examples: int) -> None:
    """Refuse a batch size that no epoch can fill, before anything is read."""
    size = order.largest_batch
    if size is not None and size > epoch_examples:
        msg = (
            f"--batch-size must be at most the {epoch_examples} examples of an epoch, "
            f"got {size}"
        )
        raise UsageError(msg)


def _chosen(
    drawn: list[Any], request: ScopeRequest, reader: _Reader, length: int
) -> list[Any]:
    """Return the part of the drawn list that becomes the scope.

    First and last example of the dataset and the last entry of the list belong to it,
    wherever the sampler yields them.
    """
    wanted = _wanted(drawn, request, reader)
    if wanted >= len(drawn):
        return drawn
    edges = [edge for edge in (0, length - 1) if edge in set(drawn)]
    body = [index for index in drawn[: wanted + 2] if index not in {*edges, drawn[-1]}]
    tail = [edge for edge in edges if edge != drawn[-1]]
    return [*body[: max(0, wanted - len(tail) - 1)], *tail, drawn[-1]]


@dataclass
class _Reader:
    """Reads examples one at a time and keeps what they cost."""

    dataset: Any
    request: ScopeRequest
    board: StageBoard
    label: str | None = None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    shapes: dict[str, _Shape] = field(default_factory=dict)
    bytes_total: int = 0
    tensors: int = 0

    def read(self, index: Any) -> Any:
        """Return one example, its cost noted."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            example = self.dataset[index]
        except Exception as exc:
            msg = (
                f"the dataset fails in one process: dataset[{index!r}] raises "
                f"{type(exc).__name__}: {exc}"
            )
            hint = "no DataLoader setting mends that; fix or leave out this example"
            raise DatasetError(msg, hint=hint) from exc
        self.seconds.append(time.perf_counter() - wall)
        self.cpu_seconds.append(time.process_time() - cpu)
        self.board.advance()
        return example

    def probe_cost(self, drawn: Sequence[Any]) -> float:
        """Return the mean seconds of a few examples, the first (warm-up) left out."""
        self.board.enter(Stage.READING)
        seed_all(self.request.seed)
        for index in drawn[: COST_PROBE + 1]:
            self.read(index)
        taken = self.seconds[1:] or self.seconds
        cost_s = sum(taken) / len(taken)
        self.seconds.clear()
        self.cpu_seconds.clear()
        return cost_s

    def find_plan(self, ids: Sequence[Any]) -> DigestPlan:
        """Read a part twice under different seeds; what differs is random.

        Raises:
            DatasetError: the label or the structure changes, or `transforms` is fixed.
        """
        self.board.enter(Stage.READING_AGAIN)
        step = max(1, len(ids) // PROBED)
        part = [*ids[::step][: PROBED - 1], ids[-1]]
        seed_all(self.request.seed)
        first = [leaves(self.read(index)) for index in part]
        seed_all(self.request.seed + 1)
        second = [leaves(self.read(index)) for index in part]
        self.label = find_label(first[0], self.request.label)
        random_names: set[str] = set()
        free_shapes: set[str] = set()
        for index, one, other in zip(part, first, second, strict=True):
            if [leaf.path for leaf in one] != [leaf.path for leaf in other]:
                msg = (
                    f"reference_unstable: example {index!r} has other fields each time"
                )
                raise DatasetError(msg, hint=_UNSTABLE)
            for leaf, again in zip(one, other, strict=True):
                if leaf.shape != again.shape:
                    free_shapes.add(name_of(leaf.path))
                if leaf.digest != again.digest:
                    random_names.add(name_of(leaf.path))
        self._check_stable(random_names)
        self.seconds.clear()
        self.cpu_seconds.clear()
        return DigestPlan(
            random=frozenset(random_names),
            free_shapes=frozenset(free_shapes & random_names),
            label=self.label,
        )

    def _check_stable(self, random_names: set[str]) -> None:
        label = self.label
        if label is not None and any(
            name == label or name.startswith(f"{label}.") for name in random_names
        ):
            msg = f"reference_unstable: the label {label!r} changes between readings"
            raise DatasetError(msg, hint="name the true label with --label PATH")
        if random_names and self.request.transforms == "fixed":
            names = ", ".join(sorted(random_names)) or "the example"
            msg = f"reference_unstable: {names} changes between readings"
            raise DatasetError(msg, hint="--transforms random allows it")

    def read_all(self, ids: Sequence[Any], plan: DigestPlan) -> ReferenceLedger:
        """Read every id once, and a part once more at the end.

        Raises:
            DatasetError: a fixed field changed from the first to the last reading.
        """
        self.board.enter(Stage.READING)
        seed_all(self.request.seed)
        table = SignatureTable()
        count = len(ids)
        fixed, label = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        signature = np.zeros(count, np.int64)
        for place, index in enumerate(ids):
            found = leaves(self.read(index))
            self._note(found)
            digest = plan.digest_leaves(found)
            fixed[place], label[place] = digest.fixed, digest.label
            signature[place] = table.place(digest.signature)
        self._read_again(ids, plan, fixed)
        return ReferenceLedger(fixed, label, signature, table.signatures)

    def _read_again(self, ids: Sequence[Any], plan: DigestPlan, fixed: Any) -> None:
        self.board.enter(Stage.READING_AGAIN)
        seed_all(self.request.seed + 2)
        chosen = random.Random(self.request.seed)  # noqa: S311  # a spread, no secret
        places = chosen.sample(range(len(ids)), min(PROBED // 4, len(ids)))
        kept = len(self.seconds)
        for place in places:
            digest = plan.digest(self.read(ids[place]))
            if digest.fixed != int(fixed[place]):
                msg = (
                    f"reference_unstable: example {ids[place]!r} changed from one "
                    "reading to the next in one process"
                )
                raise DatasetError(msg, hint=_UNSTABLE)
        del self.seconds[kept:], self.cpu_seconds[kept:]

    def _note(self, found: list[Leaf]) -> None:
        self.bytes_total += sum(leaf.size for leaf in found)
        self.tensors = max(
            self.tensors, sum(leaf.type in {"tensor", "array"} for leaf in found)
        )
        for leaf in found:
            name = name_of(leaf.path)
            shape = self.shapes.setdefault(
                name, _Shape(leaf.type, leaf.dtype, leaf.shape)
            )
            shape.widen(leaf)


@dataclass
class _Shape:
    """Type and shape of a field over all examples; None where a size varies."""

    type: str
    dtype: str | None
    shape: tuple[int | None, ...] | None

    def widen(self, leaf: Leaf) -> None:
        if leaf.type != self.type:
            self.type = "varies"
        if leaf.dtype != self.dtype:
            self.dtype = "varies"
        if self.shape is not None:
            if leaf.shape is None or len(leaf.shape) != len(self.shape):
                self.shape = None
            elif leaf.shape != self.shape:
                pairs = zip(self.shape, leaf.shape, strict=True)
                self.shape = tuple(a if a == b else None for a, b in pairs)


_UNSTABLE = (
    "the usual cause is a transform that edits a cached example in place; "
    "work on a copy"
)


def _facts(
    parts: LoaderParts, reader: _Reader, plan: DigestPlan, cuts: list[int] | None
) -> DatasetFacts:
    count = max(1, len(reader.seconds))
    fields = tuple(
        FieldFacts(
            path=name,
            type=shape.type,
            dtype=shape.dtype,
            shape=shape.shape,
            random=name in plan.random,
        )
        for name, shape in reader.shapes.items()
    )
    return DatasetFacts(
        kind="map",
        name=type(parts.dataset).__qualname__,
        length=len(parts.dataset),
        fields=fields,
        label=plan.label,
        baseline=parts.baseline(),
        batching=parts.batching,
        batch_examples=sum(cuts) / len(cuts) if cuts else 1.0,
        example_s=sum(reader.seconds) / count,
        example_cpu_s=sum(reader.cpu_seconds) / count,
        example_bytes=reader.bytes_total // count,
        tensors=reader.tensors,
        start_method=reader.request.start_method or parts.start_method,
        free_shapes=tuple(sorted(plan.free_shapes)),
    )
