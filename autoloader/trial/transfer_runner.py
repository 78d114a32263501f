"""Move batches to the accelerator in real processes, fed by a loader.

A host of its own: no process from which a loader is timed alone is forked from it, and
it ends before the search begins. The context on the device is the pass's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.child.stages import Stage
from autoloader.trial.metered_runner import MeteredRunner
from autoloader.trial.readings import transfer_reading_of
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan
    from autoloader.values.outcome import Verdict
    from autoloader.values.transfer import TransferReading


class TransferRunner(MeteredRunner):
    """Runs passes that move batches to the accelerator, and gates them first."""

    METERED = Stage.TRANSFERRING

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
        answer = self._run_metered(order, logs)
        if isinstance(answer, Failure):
            return answer
        epoch = self._reference.scope.epoch_examples
        return transfer_reading_of(answer, epoch_examples=epoch, meter=self._meter)
