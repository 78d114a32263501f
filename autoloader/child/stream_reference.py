"""Establish the reference of a stream: two passes, a ledger, and what it is like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.ledger import ScopeList
from autoloader.child.digest import name_of
from autoloader.child.labels import find_label
from autoloader.child.seeding import seed_all
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stream import (
    StreamLimits,
    StreamPass,
    as_worker,
    compare_passes,
    ledger_of,
    read_pass,
)
from autoloader.errors import DatasetError, UsageError
from autoloader.values.scope import DatasetFacts, FieldFacts, Scope, StreamFacts

if TYPE_CHECKING:
    from autoloader.child.digest import DigestPlan, Leaf
    from autoloader.child.loader import LoaderParts
    from autoloader.values.job import ReferenceOrder

CUT_EXAMPLES = 100_000
"""Most examples of a stream's scope where `--examples` does not say."""


def run_stream_reference(
    order: ReferenceOrder, parts: LoaderParts, board: StageBoard
) -> dict[str, Any]:
    """Read a stream twice, write the ledger, and return facts and scope as a message.

    Raises:
        UsageError: label, id or batching cannot be used.
        DatasetError: the stream fails, is empty, or does not start anew.
    """
    request, dataset = order.request, parts.dataset
    limits = _limits(order)
    needs_worker = _needs_worker(dataset, request.seed)
    seed_all(request.seed)
    board.enter(Stage.READING)
    first = read_pass(
        dataset, limits, board, needs_worker=needs_worker, id_path=request.id
    )
    if not len(first):
        msg = f"{order.source.spec} is empty: a pass over the stream gives nothing"
        raise UsageError(msg, hint="check the path or the split that it reads")
    seed_all(request.seed + 1)
    board.enter(Stage.READING_AGAIN)
    again = StreamLimits(examples=len(first) + first.is_complete, seconds=None)
    second = read_pass(dataset, again, board, needs_worker=needs_worker)
    label = find_label(first.leaves(0), request.label)
    nature = compare_passes(first, second, label)
    _check_fixed(nature.plan, request.transforms)
    board.enter(Stage.WRITING)
    folder = Path(order.folder)
    ScopeList(first.ids, list(range(len(first)))).write(folder)
    ledger_of(first, nature.plan).write(folder)
    declared = _declared(dataset)
    known = len(first) if first.is_complete else None
    stream = StreamFacts(
        is_complete=first.is_complete,
        keeps_order=nature.keeps_order,
        needs_worker=needs_worker,
        declared=declared,
    )
    scope = Scope(
        examples=len(first),
        distinct=len(first),
        of=known,
        epoch_examples=request.epoch_examples or known,
        order="stream" if nature.keeps_order else "stream, shuffled",
        seed=request.seed,
        transforms="random" if nature.plan.random else "fixed",
        drop_last=parts.drop_last,
        start_method=request.start_method,
        stream=stream,
    )
    facts = replace(
        _facts(parts, first, nature.plan, declared),
        start_method=request.start_method or parts.start_method,
    )
    return {"event": "reference", "facts": facts.to_dict(), "scope": scope.to_dict()}


def _limits(order: ReferenceOrder) -> StreamLimits:
    """Return where the first pass is cut; the second takes as long again."""
    wanted = order.request.examples
    if wanted == "all":
        return StreamLimits(examples=None, seconds=None)
    if wanted is not None:
        return StreamLimits(examples=wanted, seconds=None)
    return StreamLimits(examples=CUT_EXAMPLES, seconds=order.request.time_limit_s * 0.4)


def _needs_worker(dataset: Any, seed: int) -> bool:
    """Whether the stream fails in a plain process and works as worker 0 of 1.

    The usual cause is `get_worker_info().id` without a look at None.
    """
    try:
        next(iter(dataset), None)
    except (AttributeError, TypeError):
        try:
            with as_worker(dataset, 0, 1, seed):
                next(iter(dataset), None)
        except Exception:  # noqa: BLE001  # it fails either way; the pass will say so
            return False
        return True
    except Exception:  # noqa: BLE001  # the pass that follows names it
        return False
    return False


def _check_fixed(plan: DigestPlan, transforms: str) -> None:
    if plan.random and transforms == "fixed":
        names = ", ".join(sorted(plan.random)) or "the example"
        msg = f"reference_unstable: {names} changes between readings"
        raise DatasetError(msg, hint="--transforms random allows it")


def _declared(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _facts(
    parts: LoaderParts, found: StreamPass, plan: DigestPlan, declared: int | None
) -> DatasetFacts:
    kinds = found.kinds()
    fields: dict[str, Leaf] = {}
    for kind in kinds:
        for leaf in kind:
            fields.setdefault(name_of(leaf.path), leaf)
    count = len(found)
    return DatasetFacts(
        kind="iterable",
        name=type(parts.dataset).__qualname__,
        length=declared,
        fields=tuple(
            FieldFacts(
                path=name,
                type=leaf.type,
                dtype=leaf.dtype,
                shape=leaf.shape if _has_one_shape(kinds, name) else None,
                random=name in plan.random,
            )
            for name, leaf in fields.items()
        ),
        label=plan.label,
        baseline=parts.baseline(),
        batching=parts.batching,
        batch_examples=1.0,
        example_s=sum(found.seconds) / count,
        example_cpu_s=sum(found.cpu_seconds) / count,
        example_bytes=found.bytes_total // count,
        tensors=max(
            sum(leaf.type in {"tensor", "array"} for leaf in kind) for kind in kinds
        ),
        start_method=parts.start_method,
        free_shapes=tuple(sorted(plan.free_shapes)),
    )


def _has_one_shape(kinds: list[Any], name: str) -> bool:
    shapes = {
        leaf.shape for kind in kinds for leaf in kind if name_of(leaf.path) == name
    }
    return len(shapes) == 1
