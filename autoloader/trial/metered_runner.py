"""Run passes while accelerators are looked at: what step and transfer have in common.

A host of its own, whose passes may use the device: no process in which a loader is
timed alone is forked from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from autoloader.trial.runner import ProcessRunner

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.child.stages import Stage
    from autoloader.measure.device_meter import DeviceMeter
    from autoloader.trial.child import Tick
    from autoloader.values.job import PassOrder, Reference
    from autoloader.values.outcome import Failure
    from autoloader.values.scope import SourceSpec


class MeteredRunner(ProcessRunner):
    """Runs passes of one dataset, and looks at accelerators in one stage of them.

    Args:
        source: the user's SPEC of the dataset.
        reference: what is right.
        meter: looks at accelerators meanwhile; None: nobody does.
        on_tick: told stage and count of the running pass.
        others: as `ProcessRunner` takes them.
    """

    METERED: ClassVar[Stage]
    """Stage in which they are looked at."""

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

    def _run_metered(self, order: PassOrder, logs: Path) -> dict[str, Any] | Failure:
        """Run one pass, with what was seen before it forgotten."""
        if self._meter is not None:
            self._meter.begin()
        return self._run(order, logs)

    def _tick(self, stage: Stage, done: int) -> None:
        """Look at the accelerators in their stage, and pass the tick on."""
        if self._meter is not None and stage is self.METERED:
            self._meter.note(done)
        if self._told is not None:
            self._told(stage, done)
