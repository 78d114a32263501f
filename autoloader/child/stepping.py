"""The passes with the training step: wait and compute apart, in the user's own loop.

Between two batches nothing of this package is called but the step: the loop asks the
clock, follows the way to a size and writes a counter, all of it in C. What the step
raises is told as the step's; what the loader raises goes on as it came.
"""

from __future__ import annotations

import inspect
import time
import traceback
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.cache import cool
from autoloader.child.counting import getters_of
from autoloader.child.device import device_kind, uuid_in_use
from autoloader.child.failures import failure_of
from autoloader.child.loader import ListSampler
from autoloader.child.source import load_function
from autoloader.child.stages import Stage
from autoloader.child.weighing import accelerator_bytes
from autoloader.errors import DatasetError, ProtocolError, StepError
from autoloader.measure.load import LoadMeter
from autoloader.measure.planning import FIRST_STEPS
from autoloader.measure.tracebacks import cleaned
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from autoloader.child.context import TrialContext
    from autoloader.child.stages import StageBoard
    from autoloader.values.job import PassPlan
    from autoloader.values.scope import SourceSpec

READY = 2
"""Batches that feed the step where no loader runs: more than one, so that a step that
caches by batch is not flattered."""

WARM_STEPS = 2
"""Steps on batches that are ready before the clock runs: the first builds the model,
and libraries choose their kernels in the next."""

ENOUGH_S = 1.5
"""Seconds that the step alone is timed for: what a scheduler does to it is a hundredth
of that."""

MOST_STEPS = 20_000
"""Steps of a pass, however fast they are."""

TAKES = (
    "a function is called with each batch, and may build its model at the first one; a "
    "class is made once, without arguments, and the object is called with each batch"
)
"""The rule of `--step`."""

_HANDLER = "torch/utils/data/_utils/signal_handling.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStep:
    """The training step as it was named: found, neither made nor called yet."""

    spec: str
    """`module:function` or `file.py:function`."""
    found: Callable[..., Any]
    """A function, an object that can be called, or a class of such objects."""

    @property
    def is_class(self) -> bool:
        """Whether it is made once before it is called."""
        return inspect.isclass(self.found)


class StepRaised(Exception):  # told apart from what the loader raises
    """The user's step raised; what it raised is the cause."""


def load_step(spec: str, source: SourceSpec | None = None) -> NamedStep:
    """Return the step that `--step` names; it is neither made nor called.

    Args:
        spec: `module:function` or `file.py:function`.
        source: with the step itself, where the Python API was given it.

    Raises:
        UsageError: there is no such function.
        StepError: its module cannot be imported, or its objects cannot be called.
    """
    try:
        given = None if source is None else source.function("--step")
        found = load_function(spec, flag="--step", takes=TAKES, given=given)
    except DatasetError as exc:  # it is not the dataset that cannot be imported
        msg = f"the training step fails: {exc.message}"
        raise StepError(msg, hint=exc.hint) from exc
    kinds = inspect.getmro(found) if inspect.isclass(found) else ()
    if kinds and not any("__call__" in vars(kind) for kind in kinds):
        msg = f"--step {spec} is a class whose objects cannot be called with a batch"
        raise StepError(msg, hint=TAKES)
    return NamedStep(spec=spec, found=found)


def step_pass(context: TrialContext) -> dict[str, Any]:
    """Run the training step on each batch of a loader, against the clock."""
    plan, named = _ordered(context)
    try:
        return fed_loop(context, plan, lambda: _made(named, context.board))
    except StepRaised as exc:
        return _raised(context, named, exc)


def fed_loop(
    context: TrialContext,
    plan: PassPlan,
    make: Callable[[], Callable[[Any], object]],
    *,
    stage: Stage = Stage.STEPPING,
) -> dict[str, Any]:
    """Run something on each batch of a loader, against the clock.

    A short epoch goes before, as training's first: the step builds its model in it, and
    workers that are kept are started. The next one is timed.

    Args:
        context: of the pass.
        plan: batches of the timed epoch.
        make: makes what is called with each batch.
        stage: what it is called; an accelerator is waited for after each step only.

    Raises:
        StepRaised: it raised, not the loader.
    """
    order, board = context.order, context.board
    timed = context.cycled(plan.total)
    loader = context.loader(timed)
    sizes = _sizes(context, timed)
    step, waits = make(), stage is Stage.STEPPING
    context.calls.begin(0)
    board.enter(stage)
    first = _loop_of(context, step, waits=waits)
    batches = max(order.config.num_workers, FIRST_STEPS)
    with board.counter() as progress, _shortened(context, loader, batches) as part:
        first.run(part, progress)
    context.calls.begin(1)
    if context.scope.cache == "cold":
        board.enter(Stage.COOLING)
        cool(Path(order.reference))
    board.enter(stage)
    loop = _loop_of(context, step, waits=waits)
    load = LoadMeter()
    with board.counter() as progress:  # a stream may have no end
        loop.run(islice(loader, plan.total) if timed is None else loader, progress)
    other = load.stop()
    board.enter(Stage.SHUTTING_DOWN)
    del loader
    return {
        **_told(loop, sizes, workers=order.config.num_workers),
        "warm_batches": plan.warm_batches,
        "steady_batches": plan.steady_batches,
        "load": other.to_dict(),
    }


def consumer_pass(context: TrialContext) -> dict[str, Any]:
    """Run the training step on batches that are ready: what it could consume."""
    (plan, named), board = _ordered(context), context.board
    read = context.cycled(READY)
    sizes = _sizes(context, read)
    context.calls.begin(0)
    board.enter(Stage.LOADING)
    ready: list[Any] = []
    for batch in islice(context.loader(read), READY):
        ready.append(batch)
        board.advance()
    if not ready:
        msg = "the loader has no batch for the training step"
        raise ValueError(msg)
    try:
        step = _made(named, board)
        board.enter(Stage.STEPPING)
        batches = cycle(ready)
        with board.counter() as progress:
            _loop_of(context, step).run(islice(batches, WARM_STEPS), progress)
        board.enter(Stage.STEPPING)
        loop = _loop_of(context, step)
        load = LoadMeter()
        with board.counter() as progress:
            loop.run(_for_a_while(batches, plan, context.order.limit_s), progress)
    except StepRaised as exc:
        return _raised(context, named, exc)
    other = load.stop()
    return {
        **_told(loop, sizes, workers=None),
        "warm_batches": 0,
        "steady_batches": len(loop.done),
        "load": other.to_dict(),
    }


def _ordered(context: TrialContext) -> tuple[PassPlan, NamedStep]:
    if context.order.plan is None or context.step is None:
        msg = "a pass with a training step needs a plan and the step"
        raise ProtocolError(msg)
    return context.order.plan, context.step


def _made(named: NamedStep, board: StageBoard) -> Callable[[Any], object]:
    """Return what is called with each batch; a class is made here, once.

    Raises:
        StepRaised: its constructor raises.
    """
    if not named.is_class:
        return named.found
    board.enter(Stage.BUILDING)
    try:
        made: Callable[[Any], object] = named.found()
    except (Exception, SystemExit) as exc:
        msg = "when it was made"
        raise StepRaised(msg) from exc
    return made


def _shortened(context: TrialContext, loader: Any, batches: int) -> _Shortened:
    is_list = context.facts.batching == "lists"
    return _Shortened(
        loader,
        loader.batch_sampler if is_list else loader.sampler,
        batches=batches,
        entries=batches * (1 if is_list else context.size),
    )


class _Shortened:
    """A loader whose epoch ends after a few batches, until it is left.

    A stream is left in the middle: workers that are kept begin it anew.
    """

    def __init__(
        self, loader: Any, sampler: Any, *, batches: int, entries: int
    ) -> None:
        self._loader, self._sampler = loader, sampler
        self._batches, self._entries = batches, entries
        self._whole: Any = None

    def __enter__(self) -> Iterable[Any]:
        if not isinstance(self._sampler, ListSampler):
            return islice(self._loader, self._batches)
        self._whole = self._sampler.indices
        self._sampler.indices = self._whole[: self._entries]
        found: Iterable[Any] = self._loader
        return found

    def __exit__(self, *_exc: object) -> None:
        if self._whole is not None:
            self._sampler.indices = self._whole


def _for_a_while(
    batches: Iterator[Any], plan: PassPlan, limit_s: float | None
) -> Iterator[Any]:
    """Yield batches until they are enough in number and time, or take too long."""
    begun = time.perf_counter()
    for done, batch in enumerate(islice(batches, MOST_STEPS)):
        taken_s = time.perf_counter() - begun
        is_enough = done >= plan.steady_batches and taken_s >= ENOUGH_S
        if done and (is_enough or (limit_s is not None and taken_s >= limit_s)):
            return
        yield batch


def _sizes(context: TrialContext, read: Sequence[Any] | None) -> list[int]:
    """Return the examples of each batch, by turns, where they are not counted."""
    if context.facts.batching == "lists" and read is not None:
        return [len(batch) for batch in read]
    if context.facts.by_rows:
        return [max(1, round(context.facts.batch_examples))]
    return [context.size]


def _told(loop: _Loop, sizes: list[int], *, workers: int | None) -> dict[str, Any]:
    """Return the moments of a loop as a message."""
    done = len(loop.done)
    return {
        "num_workers": workers,
        "came_s": [round(value, 7) for value in loop.came],
        "done_s": [round(value, 7) for value in loop.done],
        "counts": loop.counts or [sizes[place % len(sizes)] for place in range(done)],
        "total_s": loop.total_s,
        "has_device": device_kind() is not None,
        "device_uuid": uuid_in_use(),
        "accelerator_bytes": accelerator_bytes(torch),
    }


def _loop_of(
    context: TrialContext, step: Callable[[Any], object], *, waits: bool = True
) -> _Loop:
    """Return the loop, which has not run yet."""
    order = context.order
    has_device = waits and device_kind() is not None
    return _Loop(
        step=step,
        getters=() if order.count_path is None else getters_of(order.count_path),
        is_counted=order.count_path is not None,
        wait_for_device=torch.accelerator.synchronize if has_device else None,
    )


def _raised(context: TrialContext, named: NamedStep, exc: StepRaised) -> dict[str, Any]:
    """Return the failure that an exception of the step is, as a message."""
    cause = exc.__cause__ or exc
    traceback.print_exception(cause)
    full = failure_of(cause, phase=context.order.kind, logs=Path(context.order.logs))
    if full.of_accelerator:
        told = replace(full, message=f"--step {named.spec}, {exc}: {full.message}")
        return {"event": "failed", "failure": told.to_dict()}
    kind = type(cause).__name__
    said = cleaned(next(iter(str(cause).strip().splitlines()), ""))
    failure = Failure(
        kind="step_exception",
        phase=context.order.kind,
        message=f"--step {named.spec} raised "
        + f"{kind}: {said}".removesuffix(": ")
        + f", {exc}",
        hint=TAKES,
        exception=kind,
        log=context.order.logs,
    )
    return {"event": "failed", "failure": failure.to_dict()}


def _is_of_loader(exc: BaseException) -> bool:
    """Whether it was raised by PyTorch's handler, for a worker that died meanwhile."""
    return any(
        frame.f_code.co_filename.endswith(_HANDLER)
        for frame, _line in traceback.walk_tb(exc.__traceback__)
    )


@dataclass(slots=True)
class _Loop:
    """The training loop, with a clock."""

    step: Callable[[Any], object]
    getters: tuple[Callable[[Any], Any], ...]
    """Way to the field whose first size is counted."""
    is_counted: bool
    """Whether there is such a field."""
    wait_for_device: Callable[[], object] | None
    """None: there is none, the step's own end counts."""
    came: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    total_s: float = 0.0

    def run(self, batches: Iterable[Any], progress: memoryview) -> None:
        """Run the step on each batch.

        Raises:
            StepRaised: the step raised.
        """
        clock, step, wait = time.perf_counter, self.step, self.wait_for_device
        came, done, counts = self.came, self.done, self.counts
        getters, is_counted = self.getters, self.is_counted
        begun = clock()
        for number, batch in enumerate(batches, start=1):
            came.append(clock() - begun)
            if is_counted:  # before the step, which may take the batch apart
                found = batch
                for getter in getters:
                    found = getter(found)
                counts.append(found.shape[0])
            try:
                step(batch)
                if wait is not None:
                    wait()
            except (Exception, SystemExit) as exc:
                if _is_of_loader(exc):
                    raise
                msg = f"at batch {number}"
                raise StepRaised(msg) from exc
            done.append(clock() - begun)
            progress[0] = number
        self.total_s = clock() - begun
