"""Read the scope example by example in one process: what is right.

Every example is fetched as `dataset[index]` over the sampler's own list, never through
a DataLoader, which may share a fault or be the fault. A part is read again under other
seeds: fields that then differ are *random*, all others *fixed*. Where a dataset is told
of epochs, the second one is read as well.
"""

from __future__ import annotations

import itertools
import shutil
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Sampler

from autoloader.audit.contract_watch import count_finding
from autoloader.audit.reference_files import later_folder, make_folder
from autoloader.child.access import AccessWatch, say_access
from autoloader.child.alone import enter_worker
from autoloader.child.assembly import Assembly
from autoloader.child.choosing import choose_scope
from autoloader.child.device import device_kind
from autoloader.child.epochs import EpochCalls
from autoloader.child.loader import LoaderParts
from autoloader.child.meeting import stand_for_rank
from autoloader.child.own_class import settle_class
from autoloader.child.profiling import MOST_S, PROFILE_SHARE, hot_functions
from autoloader.child.reading import UNSTABLE, Reader
from autoloader.child.rereading import PROBED, edited_in_place
from autoloader.child.seeding import seed_all
from autoloader.child.sharing import leaves_out_rest, make_whole, write_shares
from autoloader.child.source import load_source
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stepping import load_step
from autoloader.child.stream_reference import run_stream_reference
from autoloader.child.units import UnitCounter
from autoloader.errors import DatasetError
from autoloader.values.scope import DatasetFacts, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.audit.ledger import ScopeList
    from autoloader.child.digest import DigestPlan
    from autoloader.values.ceiling import HotFunction
    from autoloader.values.contract import Padding
    from autoloader.values.job import ReferenceOrder
    from autoloader.values.outcome import Finding

EPOCHS = 2
"""Epochs that a trial reads, and that may differ."""


def run_reference(order: ReferenceOrder, board: StageBoard) -> dict[str, Any]:
    """Read the scope, write list and ledger, and return facts and scope as a message.

    Raises:
        UsageError: the dataset, label or number of examples cannot be used.
        StepError: the training step cannot be imported.
        DatasetError: reading an example raises, the same example changes, a contract is
            broken, or no batch can be put together.
    """
    torch.set_num_threads(1)
    board.enter(Stage.IMPORTING)
    stand_for_rank()
    if order.step is not None:  # told now, not when the first trials are done
        load_step(order.step, order.source)
    with ExitStack() as stack:
        access = stack.enter_context(AccessWatch([Path(order.folder)]))
        parts = LoaderParts.of(load_source(order.source))
        if order.ranks > 1:
            make_whole(parts)
        calls = EpochCalls.of(parts.dataset, order.request.on_epoch)
        units = UnitCounter(order.request.units, order.source)
        access.begin_reading()
        if parts.is_iterable:
            return run_stream_reference(order, parts, calls, board, access, units)
        reader = Reader(
            parts.dataset,
            order.request,
            board,
            calls,
            Assembly(None if parts.loader is None else parts.loader.collate_fn),
            access,
            units,
        )
        return _MapReference(order, parts, reader, stack).run()


class _MapReference:
    """The reference of a map-style dataset; the methods are its chapters."""

    def __init__(
        self,
        order: ReferenceOrder,
        parts: LoaderParts,
        reader: Reader,
        stack: ExitStack,
    ) -> None:
        self._order, self._parts, self._reader = order, parts, reader
        self._board, self._stack, self._assembly = reader.board, stack, reader.assembly
        self._epochs = EPOCHS if reader.calls.may_change_data else 1
        self._cautions: list[Finding] = []

    def run(self) -> dict[str, Any]:
        reader = self._reader
        reader.calls.begin_alone(0)
        self._check_untouched()
        needs_worker = self._enter_worker()
        self._check_count()
        scope_list, of, order_name = choose_scope(
            self._order, self._parts, reader, readings=self._epochs
        )
        plan = reader.find_plan(scope_list.ids, epochs=self._epochs)
        self._write(scope_list, plan)
        self._check_length_again()
        self._hold_contract()
        padding = self._assemble()
        request = self._order.request
        contract = reader.builder.build(
            examples=len(self._parts.dataset),
            of=of,
            random=plan.random,
            padding=padding,
        )
        scope = Scope(
            examples=len(scope_list.places),
            distinct=len(scope_list.ids),
            of=of,
            epoch_examples=request.epoch_examples or of,
            order=order_name,
            seed=request.seed,
            transforms="random" if plan.random else "fixed",
            drop_last=self._parts.drop_last,
            start_method=request.start_method,
            on_epoch=request.on_epoch,
            contract=request.contract,
            epochs_differ=self._epochs > 1,
        )
        facts = self._facts(plan, scope_list, needs_worker=needs_worker)
        facts, scope = say_access(
            reader.access, self._order, facts, scope, self._collated
        )
        facts = replace(facts, hot=self._profile(scope_list.ids, facts.example_s))
        own_class, cautions = settle_class(self._parts, scope_list.ids)
        facts = replace(facts, own_class=own_class)
        return {
            "event": "reference",
            "facts": facts.to_dict(),
            "scope": scope.to_dict(),
            "contract": contract.to_dict(),
            "cautions": [item.to_dict() for item in (*self._cautions, *cautions)],
        }

    def _profile(self, ids: Sequence[Any], example_s: float) -> tuple[HotFunction, ...]:
        """Return what carries the reading; last, since it may change a dataset.

        Empty where it is not asked for, where an example takes longer than all of it
        may, or is not given again.
        """
        request = self._order.request
        most_s = min(MOST_S, PROFILE_SHARE * request.time_limit_s)
        if not self._order.profiled or example_s > most_s:
            return ()
        self._board.enter(Stage.READING_AGAIN)
        read = partial(getitem, self._parts.dataset)
        return hot_functions(read, ids, seed=request.seed, most_s=most_s)

    def _enter_worker(self) -> bool:
        """Be worker 0 of 1 where the dataset can only be read in a worker."""
        seed = self._order.request.seed
        first = next(iter(self._parts.sampler(None, seed)), None)
        if first is None:
            return False
        return enter_worker(self._stack, self._parts, first, seed)

    def _write(self, scope_list: ScopeList, plan: DigestPlan) -> None:
        """Read all, and write list and ledgers."""
        folder = Path(self._order.folder)
        later = later_folder(folder)
        shutil.rmtree(later, ignore_errors=True)
        scope_list.write(folder)
        if self._order.ranks > 1:
            drops = leaves_out_rest(self._parts)
            write_shares(folder, scope_list, self._order.ranks, drops=drops)
        for epoch in range(self._epochs):
            ledger = self._reader.read_all(scope_list.ids, plan, epoch=epoch)
            self._board.enter(Stage.WRITING)
            if epoch:
                make_folder(later)
            ledger.write(later if epoch else folder)

    def _check_untouched(self) -> None:
        """Refuse a dataset whose examples, or whose length, reading changes.

        Raises:
            DatasetError: the second reading of an example differs from the first.
        """
        dataset, seed = self._parts.dataset, self._order.request.seed
        lengths = [len(dataset) for _ in range(3)]
        if len(set(lengths)) > 1:
            said = ", ".join(str(length) for length in lengths)
            msg = f"reference_unstable: len(dataset) says {said} when asked in turn"
            raise DatasetError(msg, hint="a length must not depend on who asks")
        self._length = lengths[0]
        sampler: Any = self._parts.sampler(None, seed)
        if not isinstance(sampler, Sampler):  # a generator would be used up
            return
        torch.manual_seed(seed)
        first = list(itertools.islice(iter(sampler), PROBED + 1))
        index = edited_in_place(dataset, first, seed)
        if index is not None:
            msg = (
                f"reference_unstable: example {index!r} is another one when it is read "
                "a second time, in one process"
            )
            raise DatasetError(msg, hint=UNSTABLE)

    def _check_length_again(self) -> None:
        length = len(self._parts.dataset)
        if length != self._length:
            msg = (
                f"reference_unstable: len(dataset) said {self._length}, and {length} "
                "once all was read"
            )
            raise DatasetError(msg, hint="a length must not depend on what was read")

    def _check_count(self) -> None:
        """Refuse a dataset of another length than its contract says."""
        contract = self._order.request.contract
        length = len(self._parts.dataset)
        found = None if contract is None else count_finding(contract, length)
        if found is not None:
            raise DatasetError(found.sentence, hint=found.hint)

    def _hold_contract(self) -> None:
        """Refuse a dataset that breaks its contract, or note it where that is allowed.

        Raises:
            DatasetError: an example breaks it, and its rules refuse that.
        """
        watches, contract = self._reader.watches, self._order.request.contract
        found = next((item for watch in watches if (item := watch.finding())), None)
        if found is None or contract is None:
            return
        if contract.rules.incomplete == "refuse":
            raise DatasetError(found.sentence, hint=found.hint)
        self._cautions.append(found)

    def _assemble(self) -> tuple[Padding, ...]:
        """Put a batch together; return the masks found in it."""
        parts, order = self._parts, self._order
        kept = self._reader.kept
        if parts.batching == "single" or order.largest_batch == 1 or not kept:
            return ()
        self._board.enter(Stage.COLLATING)
        seed_all(order.request.seed)
        self._assembly.check(kept)
        caution = self._assembly.caution()
        if caution is not None:
            self._cautions.append(caution)
        return self._assembly.padding(kept)

    def _collated(self) -> Any:
        """Return a batch that the user's own collate_fn makes; None without one."""
        kept = [example for _, example in self._reader.kept]
        loader = self._parts.loader
        if loader is None or self._assembly.stacks or self._parts.batching == "single":
            return None
        return loader.collate_fn(kept) if kept else None

    def _facts(
        self, plan: DigestPlan, scope_list: ScopeList, *, needs_worker: bool
    ) -> DatasetFacts:
        parts, reader, request = self._parts, self._reader, self._order.request
        count = max(1, len(reader.seconds))
        contract, cuts = request.contract, scope_list.cuts
        return DatasetFacts(
            kind="map",
            name=type(parts.dataset).__qualname__,
            length=len(parts.dataset),
            fields=reader.fields(plan),
            label=plan.label,
            baseline=parts.baseline(),
            batching=parts.batching,
            batch_examples=sum(cuts) / len(cuts) if cuts else 1.0,
            example_s=sum(reader.seconds) / count,
            example_cpu_s=sum(reader.cpu_seconds) / count,
            example_bytes=reader.bytes_total // count,
            tensors=reader.tensors,
            start_method=request.start_method or parts.start_method,
            free_shapes=tuple(sorted(plan.free_shapes)),
            padding=() if contract is None else contract.padding,
            left_out=tuple(
                dict.fromkeys(
                    index for watch in reader.watches for index in watch.incomplete
                )
            ),
            needs_worker=needs_worker,
            units=reader.units.of_entries(scope_list.places),
            collated_example_bytes=self._assembly.example_bytes,
            random_share=reader.random_share,
            accelerator=device_kind(),
        )
