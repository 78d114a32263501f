"""Read examples in one process, stage by stage, and stop at the first that fails.

The ids are written down before the first example is read, and the board says which of
them is being worked on: what kills this process, or blocks it, is named as well as what
raises. Nothing is timed here for a rate.
"""

from __future__ import annotations

import time
import traceback
from contextlib import ExitStack
from functools import partial
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.utils.data import default_collate

from autoloader.audit.narrowing import smallest
from autoloader.audit.scope_list import told_id
from autoloader.audit.writing import write_table
from autoloader.child.access import bytes_read
from autoloader.child.alone import enter_worker
from autoloader.child.assembly import Assembly
from autoloader.child.digest import leaves
from autoloader.child.epochs import EpochCalls
from autoloader.child.failures import failure_of
from autoloader.child.handing_over import (
    hand_over,
    pin,
    transfer,
    why_no_device,
    why_not_pinned,
)
from autoloader.child.last_words import IDS
from autoloader.child.loader import LoaderParts
from autoloader.child.pickling import unpicklable_path
from autoloader.child.reading import kinds_of
from autoloader.child.representatives import batch_size_of, lists_of
from autoloader.child.seeding import seed_all
from autoloader.child.source import load_source
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.transforms import TransformWatch
from autoloader.measure.tracebacks import raised_in
from autoloader.units import in_number, in_short
from autoloader.values.diagnosis import (
    BatchCost,
    Breakdown,
    ExampleCost,
    StageCosts,
    StageName,
    StagesOrder,
    StagesReport,
)
from autoloader.values.outcome import MAX_IDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

KEPT_BYTES = 256 << 20
"""Most bytes of whole batches that are kept, to be sent on."""

KEPT = 4
"""Batches that are kept for it, at most."""


class _Stopped(Exception):  # the walk is over: caught where it began
    def __init__(self, breakdown: Breakdown) -> None:
        super().__init__(breakdown.message)
        self.breakdown = breakdown


def run_stages(order: StagesOrder, board: StageBoard) -> dict[str, Any]:
    """Return what each stage did, and where it stopped, as a message.

    Raises:
        UsageError: the SPEC, or the path of the transform, names nothing.
        DatasetError: the dataset cannot be imported or built.
    """
    torch.set_num_threads(1)
    board.enter(Stage.IMPORTING)
    source = load_source(order.source, on_imported=lambda: board.enter(Stage.BUILDING))
    with ExitStack() as stack:
        walk = _Walk(order, LoaderParts.of(source), board, stack)
        try:
            walk.run()
        except _Stopped as stop:
            walk.breakdown = stop.breakdown
        return {"event": "stages", "report": walk.report().to_dict()}


class _Walk:
    """The way of the examples; the methods are its stages."""

    def __init__(
        self,
        order: StagesOrder,
        parts: LoaderParts,
        board: StageBoard,
        stack: ExitStack,
    ) -> None:
        self._order, self._parts, self._board, self._stack = order, parts, board, stack
        self._watch = TransformWatch(board)
        self._size = batch_size_of(parts, order.batch_size)
        loader = parts.loader
        self._collate_fn = default_collate if loader is None else loader.collate_fn
        self._examples: list[ExampleCost] = []
        self._collated: list[BatchCost] = []
        self._later: list[StageCosts] = []
        self._kept: list[tuple[Any, int]] = []
        self._kept_bytes = self._batch_bytes = 0
        self._representatives = 0
        self._of: int | None = None
        self._ends = 1
        self.breakdown: Breakdown | None = None

    def run(self) -> None:
        """Walk to the end.

        Raises:
            _Stopped: a stage failed.
        """
        EpochCalls.of(self._parts.dataset, self._order.request.on_epoch).begin_alone(0)
        seed_all(self._order.request.seed)
        self._watch.watch(self._parts.dataset, self._order.transform)
        deadline = time.monotonic() + self._order.request.time_limit_s
        for number, (ids, examples) in enumerate(self._read_lists()):
            self._collate(ids, examples)
            if number and self._has_time_limit and time.monotonic() > deadline:
                break
        self._send_on()

    def report(self) -> StagesReport:
        """Return what was seen so far."""
        collate = StageCosts(stage=StageName.COLLATE, costs=tuple(self._collated))
        return StagesReport(
            examples=tuple(self._examples),
            representatives=self._representatives,
            ends=self._ends,
            of=self._of,
            transform=", ".join(self._watch.paths) or None,
            batches=(collate, *self._later),
            batch_bytes=self._batch_bytes,
            breakdown=self.breakdown,
        )

    @property
    def _has_time_limit(self) -> bool:
        return self._order.request.examples is None

    def _read_lists(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield the ids of each batch with its examples."""
        if self._parts.is_iterable:
            yield from self._read_stream()
            return
        lists, self._representatives = lists_of(
            self._parts, self._order.request, self._size
        )
        self._of = len(self._parts.dataset)
        is_cut = self._parts.batching != "lists"
        self._ends = min(2, self._representatives) if is_cut else 1
        write_table(
            Path(self._order.folder) / IDS,
            [[told_id(index) for index in listed] for listed in lists],
        )
        self._board.stand(Stage.ACCESSING, 0)
        enter_worker(self._stack, self._parts, lists[0][0], self._order.request.seed)
        dataset, place = self._parts.dataset, 0
        for listed in lists:
            examples = []
            for index in listed:
                read = partial(getitem, dataset, index)
                examples.append(self._read(place, index, read))
                place += 1
            yield listed, examples

    def _read_stream(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield batches of a stream; an example's id is its number."""
        self._board.stand(Stage.ACCESSING, 0)
        most = self._order.request.examples
        try:
            running = iter(self._parts.dataset)
        except Exception as exc:  # noqa: BLE001  # the user's code: it is a finding
            self._stop(StageName.ACCESS, [0], exc)
        place, is_over = 0, False
        while not is_over:
            ids: list[Any] = []
            examples: list[Any] = []
            while len(ids) < self._size and not (is_over := place == most):
                example = self._read(place, place, lambda: next(running, _END))
                if example is _END:
                    is_over = True
                    break
                ids.append(place)
                examples.append(example)
                place += 1
            self._representatives = self._representatives or len(ids)
            if ids:
                yield ids, examples

    def _read(self, place: int, index: Any, read: Callable[[], Any]) -> Any:
        """Return one example, its cost noted; the board names it before it is read."""
        watch = self._watch
        before, asking = bytes_read()
        watch.begin(place)
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            example = read()
        except Exception as exc:  # noqa: BLE001  # the user's code: it is a finding
            is_transform = watch.led_to(exc)
            stage = StageName.TRANSFORM if is_transform else StageName.ACCESS
            self._stop(stage, [index], exc)
        seconds = time.perf_counter() - wall
        cpu_s = time.process_time() - cpu
        if example is _END:
            return example
        after, is_told = bytes_read()
        self._examples.append(
            ExampleCost(
                id=told_id(index),
                access_s=max(0.0, seconds - watch.seconds),
                access_cpu_s=max(0.0, cpu_s - watch.cpu_s),
                transform_s=watch.seconds,
                transform_cpu_s=watch.cpu_s,
                read_bytes=after - before - asking if is_told else None,
                example_bytes=sum(leaf.size for leaf in leaves(example)),
            )
        )
        return example

    def _collate(self, ids: Sequence[Any], examples: Sequence[Any]) -> None:
        """Put one batch together, and keep it where there is room."""
        place = len(self._examples) - len(ids)
        units = (
            [(ids[at : at + 1], examples[at]) for at in range(len(ids))]
            if self._parts.batching == "single"
            else [(ids, list(examples))]
        )
        for unit_ids, unit in units:
            self._board.stand(Stage.COLLATING, place)
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                batch = self._collate_fn(unit)
            except Exception as exc:  # noqa: BLE001  # the user's code: it is a finding
                self._stop_collating(unit_ids, unit, exc)
            seconds, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
            count = len(unit_ids)
            cost = BatchCost(seconds=seconds, cpu_s=cpu_s, examples=count)
            self._collated.append(cost)
            self._keep(batch, count)
            place += count

    def _keep(self, batch: Any, count: int) -> None:
        if len(self._kept) >= KEPT:
            return
        size = sum(leaf.size for leaf in leaves(batch))
        self._batch_bytes = max(self._batch_bytes, size)
        if not self._kept or self._kept_bytes + size <= KEPT_BYTES:
            self._kept_bytes += size
            self._kept.append((batch, count))

    def _stop_collating(
        self, ids: Sequence[Any], examples: Any, exc: Exception
    ) -> NoReturn:
        """Stop, with the ids that cannot be put together with the others."""
        if self._parts.batching == "single":
            self._stop(StageName.COLLATE, ids, exc)
        assembly = Assembly(self._collate_fn)
        for index, example in zip(ids, examples, strict=True):
            assembly.note(told_id(index), kinds_of(leaves(example)))
        odd = assembly.odd()
        if odd is not None:
            self._stop(StageName.COLLATE, odd.ids, exc, evidence=odd.message)
        tried = smallest(
            range(len(ids)),
            lambda part: self._fails_alike([examples[at] for at in part], exc),
        )
        found = [ids[at] for at in tried.items]
        alone = "by itself" if len(found) == 1 else "together, and none can be left out"
        listed = f"{in_number(len(found), 'id')} {in_short(found, MAX_IDS)}"
        evidence = f"{listed} {in_number(len(found), 'shows', 'show')} it {alone}"
        self._stop(StageName.COLLATE, found, exc, evidence=evidence)

    def _fails_alike(self, examples: list[Any], exc: Exception) -> bool:
        try:
            self._collate_fn(examples)
        except Exception as other:  # noqa: BLE001  # what is asked is whether it does
            return type(other) is type(exc)
        return False

    def _send_on(self) -> None:
        """Hand batches over, pin and transfer them, as far as this machine can."""
        if not self._kept:
            return
        method = self._order.request.start_method
        costs = self._sent(
            StageName.HAND_OVER, lambda: hand_over(self._kept, self._board, method)
        )
        self._later.append(StageCosts(stage=StageName.HAND_OVER, costs=costs))
        why = why_no_device()
        if why is not None:
            self._later += [
                StageCosts(stage=stage, skipped=why)
                for stage in (StageName.PIN, StageName.TRANSFER)
            ]
            return
        ready, why = self._kept, why_not_pinned()
        if why is None:
            costs, ready = self._sent(
                StageName.PIN, lambda: pin(self._kept, self._board)
            )
            self._later.append(StageCosts(stage=StageName.PIN, costs=costs))
        else:
            self._later.append(StageCosts(stage=StageName.PIN, skipped=why))
        costs = self._sent(StageName.TRANSFER, lambda: transfer(ready, self._board))
        self._later.append(StageCosts(stage=StageName.TRANSFER, costs=costs))

    def _sent(self, stage: StageName, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Exception as exc:  # noqa: BLE001  # of PyTorch, or of the user's batch
            self._stop(stage, [], exc, evidence=self._unsendable(stage))

    def _unsendable(self, stage: StageName) -> str | None:
        """Return the part of a batch that cannot be sent; None where all can."""
        if stage is not StageName.HAND_OVER:
            return None
        found = unpicklable_path(self._kept[0][0], "batch")
        return None if found is None else f"{found[0]} ({found[1]}) cannot be sent"

    def _stop(
        self,
        stage: StageName,
        ids: Sequence[Any],
        exc: Exception,
        *,
        evidence: str | None = None,
    ) -> NoReturn:
        folder = Path(self._order.folder)
        failure = failure_of(exc, phase="stages", logs=folder)
        raise _Stopped(
            Breakdown(
                stage=stage,
                ids=tuple(told_id(index) for index in ids[:MAX_IDS]),
                message=failure.message,
                exception=failure.exception or type(exc).__name__,
                place=_place_of(exc),
                evidence=evidence,
                log=str(folder),
            )
        ) from exc


_END = object()
"""What a stream gives at its end."""


def _place_of(exc: Exception) -> str | None:
    """Return where in the user's code an exception was raised; None: not in it."""
    found = raised_in("".join(traceback.format_exception(exc)))
    return found[-1].place if found else None
