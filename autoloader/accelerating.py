"""What the accelerator decides before a search: which batches fit it, and pinning.

Nothing of this runs where PyTorch finds none. Every context on the device is one of a
trial's own processes: neither this process nor a host ever makes one.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.fitting import Fitting
from autoloader.measure.device_meter import DeviceMeter
from autoloader.pinning import Pinning
from autoloader.search.loops import consumer_rate
from autoloader.search.stopwatch import PASS_SHARE
from autoloader.trial.step_runner import StepRunner
from autoloader.trial.transfer_runner import TransferRunner

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.child.stages import Stage
    from autoloader.search.budget import Budget
    from autoloader.search.record import Record
    from autoloader.search.space import Space
    from autoloader.search.watcher import Watcher
    from autoloader.tune_values import TuneRequest
    from autoloader.values.job import Reference
    from autoloader.values.machine import Machine
    from autoloader.values.transfer import PinReadings


@dataclass(slots=True, kw_only=True)
class Accelerating:
    """The chapters of a tune that only a machine with an accelerator has."""

    request: TuneRequest
    reference: Reference
    machine: Machine
    watcher: Watcher
    record: Record
    budget: Budget
    folder: Path
    """Of the study: passes get folders for their logs there."""
    tmp: Path

    def run(self, space: Space) -> tuple[Space, PinReadings | None]:
        """Return the space that is left, and what pinning was decided by.

        Raises:
            StepError: the training step fits the accelerator with no allowed batch.
        """
        if self.reference.facts.accelerator is None:
            return space, None
        self._tell_of_driver()
        with ExitStack() as stack:
            steps, rate = self._steps(stack), None
            if steps is not None:
                space, rate = self._fit(space, steps)
            if not self.reference.facts.can_pin or len(set(space.pin_memory)) < 2:
                return space, None
            runner = TransferRunner(
                self.request.source, self.reference, **self._passes("pin")
            )
            return Pinning(
                space=space,
                runner=stack.enter_context(runner),
                steps=steps,
                step_examples_per_s=rate,
                request=self.request,
                reference=self.reference,
                machine=self.machine,
                watcher=self.watcher,
                budget=self.budget,
            ).run()

    def _tell_of_driver(self) -> None:
        """Say what NVIDIA's library does not tell of the accelerator that is here."""
        note = self.machine.accelerator_note
        if self.reference.facts.accelerator == "cuda" and note is not None:
            self.watcher.on_caution(f"of the accelerator not all is told: {note}", None)

    def _steps(self, stack: ExitStack) -> StepRunner | None:
        """Return what runs the training step; None where there is none."""
        step = self.request.step
        if step is None:
            return None
        passes = self._passes("fit")
        passes.pop("memory_bytes")  # which is what loaders may take
        runner = StepRunner(self.request.source, self.reference, step=step, **passes)
        return stack.enter_context(runner)

    def _fit(self, space: Space, steps: StepRunner) -> tuple[Space, float | None]:
        """Return the batch sizes that fit, and what the step takes of the largest."""
        facts, stream = self.reference.facts, self.reference.scope.stream
        needs_worker = stream is not None and stream.needs_worker
        left, reading = Fitting(
            space=space,
            runner=steps,
            isolation=steps.isolation,
            needs_worker=facts.needs_worker or needs_worker,
            limit_s=self.budget.total_s * PASS_SHARE,
            record=self.record,
            watcher=self.watcher,
            budget=self.budget,
        ).run()
        return left, None if reading is None else consumer_rate((reading,))

    def _passes(self, name: str) -> dict[str, Any]:
        """Return what runners of passes take, each with folders of its own."""

        def on_tick(stage: Stage, done: int) -> None:
            self.watcher.on_tick(stage.words, done)

        memory = self.request.target.memory_bytes
        return {
            "folder": self.folder / name,
            "tmp": self.tmp / name,
            "isolation": self.request.isolation,
            "policy": self.request.policy,
            "cpus": self.machine.cpus_of_a_rank(self.request.ranks),
            "memory_bytes": None if memory is None else memory // self.request.ranks,
            "meter": DeviceMeter() if self.machine.accelerators else None,
            "on_tick": on_tick,
        }
