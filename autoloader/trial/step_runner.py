"""Run the training step in real processes: alone, or fed by a loader.

A host of its own, which has the step's module loaded: no process in which a loader is
timed alone ever sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage
from autoloader.trial.readings import step_reading_of
from autoloader.trial.runner import ProcessRunner
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.measure.device_meter import DeviceMeter
    from autoloader.trial.child import Tick
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.outcome import Verdict
    from autoloader.values.scope import SourceSpec
    from autoloader.values.step import StepReading


class StepRunner(ProcessRunner):
    """Runs passes with the training step of one dataset.

    Args:
        source: the user's SPEC of the dataset.
        reference: what is right.
        step: SPEC of the training step.
        meter: tells how busy accelerators are; None: there are none.
        on_tick: told stage and count of the running pass.
        others: as `ProcessRunner` takes them.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        step: str,
        meter: DeviceMeter | None = None,
        on_tick: Tick | None = None,
        **others: Any,
    ) -> None:
        self._meter = meter
        self._told = on_tick
        super().__init__(source, reference, step=step, on_tick=self._tick, **others)

    def consume(
        self, config: LoaderConfig, *, plan: PassPlan, limit_s: float
    ) -> StepReading | Failure:
        """Take a reading of the step alone, on batches that are ready.

        Args:
            config: of the loader that they are read with, once.
            plan: least steps that are timed.
            limit_s: seconds that they should not exceed.
        """
        return self._read("consumer", config, plan=plan, limit_s=limit_s)

    def step(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> StepReading | Failure:
        """Take a reading of the training loop, with a config whose data is right."""
        return self._read("step", config, plan=plan, count_path=verdict.count_path)

    def _read(
        self, kind: str, config: LoaderConfig, **others: Any
    ) -> StepReading | Failure:
        order, logs = self._order(kind, config, **others)
        if self._meter is not None:
            self._meter.begin()
        answer = self._run(order, logs)
        if isinstance(answer, Failure):
            return answer
        is_fed = kind == "step"
        epoch = self._reference.scope.epoch_examples if is_fed else None
        return step_reading_of(answer, epoch_examples=epoch, meter=self._meter)

    def _tick(self, stage: Stage, done: int) -> None:
        """Look at the accelerators while the step runs, and pass the tick on."""
        if self._meter is not None and stage is Stage.STEPPING:
            self._meter.note(done)
        if self._told is not None:
            self._told(stage, done)
