"""Move batches to the accelerator in real processes, fed by a loader.

A host of its own: no process from which a loader is timed alone is forked from it, and
it ends before the search begins. The context on the device is the pass's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage
from autoloader.trial.readings import transfer_reading_of
from autoloader.trial.runner import ProcessRunner
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.measure.device_meter import DeviceMeter
    from autoloader.trial.child import Tick
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.outcome import Verdict
    from autoloader.values.scope import SourceSpec
    from autoloader.values.transfer import TransferReading


class TransferRunner(ProcessRunner):
    """Runs passes that move batches to the accelerator, and gates them first.

    Args:
        source: the user's SPEC of the dataset.
        reference: what is right.
        meter: looks at accelerators meanwhile; None: nobody does.
        on_tick: told stage and count of the running pass.
        others: as `ProcessRunner` takes them.
    """

    def __init__(
        self,
        source: SourceSpec,
        reference: Reference,
        *,
        meter: DeviceMeter | None = None,
        on_tick: Tick | None = None,
        **others: Any,
    ) -> None:
        self._meter = meter
        self._told = on_tick
        super().__init__(source, reference, on_tick=self._tick, **others)

    def transfer(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> TransferReading | Failure:
        """Take a reading of a loop that moves batches, of a config whose data is right.

        Args:
            config: of the loader.
            verdict: what the gate said of it.
            plan: what is read.
        """
        order, logs = self._order(
            "transfer", config, count_path=verdict.count_path, plan=plan
        )
        if self._meter is not None:
            self._meter.begin()
        answer = self._run(order, logs)
        if isinstance(answer, Failure):
            return answer
        epoch = self._reference.scope.epoch_examples
        return transfer_reading_of(answer, epoch_examples=epoch, meter=self._meter)

    def _tick(self, stage: Stage, done: int) -> None:
        """Look at the accelerators while batches are moved, and pass the tick on."""
        if self._meter is not None and stage is Stage.TRANSFERRING:
            self._meter.note(done)
        if self._told is not None:
            self._told(stage, done)
