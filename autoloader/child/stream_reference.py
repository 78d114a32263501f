"""Establish the reference of a stream: two passes, a ledger, and what it is like."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.ledger import ScopeList
from autoloader.audit.reference_files import later_folder, make_folder
from autoloader.audit.stream_cautions import moving_length_caution
from autoloader.child.access import say_access
from autoloader.child.device import device_kind
from autoloader.child.digest import DigestPlan, name_of
from autoloader.child.labels import find_label
from autoloader.child.own_class import settle_class
from autoloader.child.reading import check_stable
from autoloader.child.seeding import seed_all
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stream import (
    StreamLimits,
    StreamPass,
    ledger_of,
    read_pass,
)
from autoloader.child.stream_contract import hold_stream
from autoloader.child.stream_nature import StreamNature, compare_passes
from autoloader.child.stream_probe import batches_by_share, keeps_order_as_worker
from autoloader.errors import DatasetError, UsageError
from autoloader.values.scope import (
    GATE_EXAMPLES,
    DatasetFacts,
    FieldFacts,
    Scope,
    StreamFacts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.access import AccessWatch
    from autoloader.child.digest import Leaf
    from autoloader.child.epochs import EpochCalls
    from autoloader.child.loader import LoaderParts
    from autoloader.child.units import UnitCounter
    from autoloader.values.job import ReferenceOrder
    from autoloader.values.outcome import Finding
    from autoloader.values.scope import ScopeRequest

LONGER_EPOCH = 1000
"""Examples by which the second epoch may be more than twice as long as the first."""

CUT_EXAMPLES = 100_000
"""Most examples of a stream's scope where `--examples` does not say."""


def run_stream_reference(
    order: ReferenceOrder,
    parts: LoaderParts,
    calls: EpochCalls,
    board: StageBoard,
    access: AccessWatch,
    units: UnitCounter,
) -> dict[str, Any]:
    """Read a stream twice, write the ledger, and return facts and scope as a message.

    Args:
        order: what is read, and where the ledger goes.
        parts: the stream and its loader.
        calls: what is called before an epoch.
        board: told of each example.
        access: told when the first pass begins and ends.
        units: counts in each element of the first pass.

    Raises:
        UsageError: label, id, unit or batching cannot be used.
        DatasetError: the stream fails, is empty, does not start anew, or breaks its
            contract.
    """
    request, dataset = order.request, parts.dataset
    calls.begin_alone(0)
    limits, notes = _limits(order), _Notes(access, units)
    first, needs_worker = _first_pass(dataset, limits, board, request, notes)
    by_rows = parts.batching == "single" and batches_by_share(parts, first, board)
    if by_rows:
        limits = replace(limits, by_rows=True)
        first, needs_worker = _first_pass(dataset, limits, board, request, notes)
    if not len(first):
        msg = f"{order.source.spec} is empty: a pass over the stream gives nothing"
        raise UsageError(msg, hint="check the path or the split that it reads")
    calls.begin_alone(0)
    seed_all(request.seed + 1)
    board.enter(Stage.READING_AGAIN)
    again = StreamLimits(
        examples=len(first) + first.is_complete, seconds=None, by_rows=by_rows
    )
    second = read_pass(
        dataset,
        again,
        board,
        needs_worker=needs_worker,
        name="the second pass over the stream",
    )
    label = find_label(first.leaves(0), request.label)
    nature = compare_passes(first, second, label, request.id)
    plan = _checked(nature, is_whole=first.is_complete, transforms=request.transforms)
    keeps_order = nature.keeps_order
    if keeps_order and not (first.is_complete and len(first) <= GATE_EXAMPLES):
        keeps_order = keeps_order_as_worker(dataset, plan, board, request)
    plan = replace(plan, by_rows=by_rows, id=request.id)
    later = _later_pass(
        first, order, parts, calls, board, needs_worker=needs_worker, by_rows=by_rows
    )
    board.enter(Stage.WRITING)
    folder = Path(order.folder)
    _write(folder, first, plan)
    epochs_differ = _write_later(folder, first, later, plan)
    declared = _declared(dataset)
    contract, cautions = hold_stream(
        first,
        plan,
        request,
        declared,
        collate=None if parts.loader is None else parts.loader.collate_fn,
        is_collated=parts.batching == "size" and order.largest_batch != 1,
    )
    cautions += _moving_length(parts, declared)
    own_class, of_class = settle_class(parts, None)
    known = len(first) if first.is_complete else None
    stream = StreamFacts(
        is_complete=first.is_complete,
        keeps_order=keeps_order,
        needs_worker=needs_worker,
        declared=declared,
    )
    scope = Scope(
        examples=len(first),
        distinct=len(first),
        of=known,
        epoch_examples=request.epoch_examples or known,
        order="stream" if keeps_order else "stream, shuffled",
        seed=request.seed,
        transforms="random" if plan.random else "fixed",
        drop_last=parts.drop_last,
        start_method=request.start_method,
        stream=stream,
        on_epoch=request.on_epoch,
        contract=request.contract,
        epochs_differ=epochs_differ,
    )
    facts = replace(
        _facts(parts, first, plan, declared),
        start_method=request.start_method or parts.start_method,
        padding=() if request.contract is None else request.contract.padding,
        needs_worker=needs_worker,
        units=units.of_rows(len(first)),
        own_class=own_class,
    )
    facts, scope = say_access(access, order, facts, scope, notes.collated_by(parts))
    return {
        "event": "reference",
        "facts": facts.to_dict(),
        "scope": scope.to_dict(),
        "contract": contract.to_dict(),
        "cautions": [item.to_dict() for item in (*cautions, *of_class)],
    }


def _later_pass(
    first: StreamPass,
    order: ReferenceOrder,
    parts: LoaderParts,
    calls: EpochCalls,
    board: StageBoard,
    *,
    needs_worker: bool,
    by_rows: bool,
) -> StreamPass | None:
    """Return a pass over the second epoch, where a stream is told of epochs."""
    if not calls.may_change_data:
        return None
    board.enter(Stage.READING_AGAIN)
    calls.begin_alone(1)
    seed_all(order.request.seed)
    whole = 2 * len(first) + LONGER_EPOCH
    limits = StreamLimits(
        examples=whole if first.is_complete else len(first),
        seconds=None,
        by_rows=by_rows,
    )
    found = read_pass(
        parts.dataset,
        limits,
        board,
        needs_worker=needs_worker,
        id_path=order.request.id,
        name="the second epoch of the stream",
    )
    calls.begin_alone(0)
    if found.is_complete != first.is_complete:
        msg = (
            f"reference_unstable: the second epoch {_ends(found)}, the first one "
            f"{_ends(first)}"
        )
        raise DatasetError(msg, hint="epochs of one stream end, or none does")
    return found


def _ends(found: StreamPass) -> str:
    after = f"after {len(found)} examples"
    return f"ends {after}" if found.is_complete else f"has not ended {after}"


def _write(folder: Path, found: StreamPass, plan: DigestPlan) -> None:
    ScopeList(found.ids, list(range(len(found)))).write(folder)
    ledger_of(found, plan).write(folder)


def _write_later(
    folder: Path, first: StreamPass, later: StreamPass | None, plan: DigestPlan
) -> bool:
    """Write the second epoch, where it is another one; return whether it is."""
    target = later_folder(folder)
    shutil.rmtree(target, ignore_errors=True)
    if later is None:
        return False
    one, other = ledger_of(first, plan), ledger_of(later, plan)
    if len(first) == len(later) and (one.fixed == other.fixed).all():
        return False
    make_folder(target)
    _write(target, later, plan)
    return True


def _limits(order: ReferenceOrder) -> StreamLimits:
    """Return where the first pass is cut; the second takes as long again."""
    wanted = order.request.examples
    if wanted == "all":
        return StreamLimits(examples=None, seconds=None)
    if wanted is not None:
        return StreamLimits(examples=wanted, seconds=None)
    return StreamLimits(examples=CUT_EXAMPLES, seconds=order.request.time_limit_s * 0.4)


@dataclass(slots=True)
class _Notes:
    """What is noted beside the examples of the first pass."""

    access: AccessWatch
    units: UnitCounter
    elements: list[Any] = field(default_factory=list)
    """The first two, to put a batch together of them."""

    def begin(self) -> None:
        """Forget an earlier attempt."""
        self.access.begin_pass()
        self.units.begin()
        self.elements.clear()

    def note(self, index: Any, element: Any) -> None:
        """Note one element."""
        self.units.count(index, element)
        self.access.look()
        if len(self.elements) < 2:
            self.elements.append(element)

    def collated_by(self, parts: LoaderParts) -> Callable[[], Any]:
        """Return what makes a batch of the stream's own loader, None without one."""
        loader = parts.loader
        if loader is None or parts.batching != "size":
            return lambda: None
        return lambda: loader.collate_fn(self.elements)


def _first_pass(
    dataset: Any,
    limits: StreamLimits,
    board: StageBoard,
    request: ScopeRequest,
    notes: _Notes,
) -> tuple[StreamPass, bool]:
    """Return the first pass, and whether it can be read in a worker only.

    The usual cause is `get_worker_info().id` without a look at None.
    """

    def read(*, needs_worker: bool) -> StreamPass:
        seed_all(request.seed)
        board.enter(Stage.READING)
        notes.begin()
        found = read_pass(
            dataset,
            limits,
            board,
            needs_worker=needs_worker,
            id_path=request.id,
            on_element=notes.note,
        )
        notes.access.end_pass()
        return found

    try:
        return read(needs_worker=False), False
    except DatasetError as exc:
        _, done = board.read()
        if done:
            raise
        failed = exc
    try:
        return read(needs_worker=True), True
    except DatasetError:
        _, done = board.read()
        if done:
            raise
    raise failed


def _checked(nature: StreamNature, *, is_whole: bool, transforms: str) -> DigestPlan:
    """Return which fields are random, as far as the user allows that.

    Raises:
        DatasetError: the label changes, or a field where the user says that none does.
    """
    plan, label = nature.plan, nature.plan.label
    if not nature.keeps_order and not is_whole:  # random fields are a guess
        return DigestPlan(label=label) if transforms == "fixed" else plan
    check_stable(plan.random, label, transforms)
    return plan


def _moving_length(parts: LoaderParts, declared: int | None) -> list[Finding]:
    """Return the caution that the length is another one when it is asked again."""
    if declared is None:
        return []
    if parts.loader is not None:  # some set the dataset's by their own
        with suppress(Exception):
            len(parts.loader)
    after = _declared(parts.dataset)
    return [] if after == declared else [moving_length_caution(declared, after)]


def _declared(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001  # whatever it raises, it tells no length
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
        id=plan.id,
        baseline=parts.baseline(),
        batching=parts.batching,
        batch_examples=count / found.elements,
        by_rows=plan.by_rows,
        example_s=sum(found.seconds) / count,
        example_cpu_s=sum(found.cpu_seconds) / count,
        example_bytes=found.bytes_total // count,
        tensors=max(
            sum(leaf.type in {"tensor", "array"} for leaf in kind) for kind in kinds
        ),
        start_method=parts.start_method,
        free_shapes=tuple(sorted(plan.free_shapes)),
        accelerator=device_kind(),
    )


def _has_one_shape(kinds: list[Any], name: str) -> bool:
    shapes = {
        leaf.shape for kind in kinds for leaf in kind if name_of(leaf.path) == name
    }
    return len(shapes) == 1
