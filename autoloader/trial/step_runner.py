"""Run the training step in real processes: alone, or fed by a loader.

A host of its own, which has the step's module loaded: no process in which a loader is
timed alone ever sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage
from autoloader.trial.metered_runner import MeteredRunner
from autoloader.trial.readings import step_reading_of
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.outcome import Verdict
    from autoloader.values.scope import SourceSpec
    from autoloader.values.step import StepReading


class StepRunner(MeteredRunner):
    """Runs passes with the training step of one dataset.

    Args:
        source: the user's SPEC of the dataset.
        reference: what is right.
        step: SPEC of the training step.
        others: as `MeteredRunner` takes them.
    """

    METERED = Stage.STEPPING

    def __init__(
        self, source: SourceSpec, reference: Reference, *, step: str, **others: Any
    ) -> None:
        super().__init__(source, reference, step=step, **others)

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
        answer = self._run_metered(order, logs)
        if isinstance(answer, Failure):
            return answer
        is_fed = kind == "step"
        epoch = self._reference.scope.epoch_examples if is_fed else None
        return step_reading_of(answer, epoch_examples=epoch, meter=self._meter)
