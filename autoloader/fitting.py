"""Which batches fit the accelerator: the training step is tried on the largest first.

Asked before the search, and only where there is a step, an accelerator and more than
one allowed size: what a step needs on the device, no loader tells. A size that does not
fit is an outcome like any other, and all larger ones are left out with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoloader.errors import StepError
from autoloader.measure.planning import wave_plan
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Outcome

if TYPE_CHECKING:
    from autoloader.search.budget import Budget
    from autoloader.search.loops import LoopRunner
    from autoloader.search.record import Record
    from autoloader.search.space import Space
    from autoloader.search.watcher import Watcher
    from autoloader.values.step import StepReading


@dataclass(slots=True, kw_only=True)
class Fitting:
    """Tries the step on batches of each size, until one fits."""

    space: Space
    runner: LoopRunner
    """Runs the step on batches that are ready."""
    isolation: str
    """How its processes are made."""
    needs_worker: bool
    """Whether the dataset can only be read by a worker."""
    limit_s: float
    """Seconds that a pass should not exceed."""
    record: Record
    """Keeps what does not fit, as an outcome."""
    watcher: Watcher
    budget: Budget

    def run(self) -> tuple[Space, StepReading | None]:
        """Return the space without what does not fit, and the step on what does.

        None for a reading where the step cannot be timed: it is told why where it is
        timed for good; or where batches have no size that could be chosen.

        Raises:
            StepError: not even the smallest size fits.
        """
        sizes = sorted((size for size in self.space.batch_size if size), reverse=True)
        failure: Failure | None = None
        for size in sizes:
            found = self._consume(size)
            if not isinstance(found, Failure):
                return self._up_to(size), found
            if not found.of_accelerator:
                return self._up_to(size), None
            failure = found
        if failure is None:
            return self.space, None
        raise StepError(failure.message, hint=failure.hint)

    def _consume(self, size: int) -> StepReading | Failure:
        """Run the step on batches of a size; keep that they do not fit."""
        workers = int(self.needs_worker)
        config = LoaderConfig.canonical(num_workers=workers, batch_size=size)
        self.watcher.on_phase("step", f"whether batches of {size} fit", self.budget)
        begun = self.budget.clock()
        found = self.runner.consume(config, plan=wave_plan(0), limit_s=self.limit_s)
        if isinstance(found, Failure) and found.of_accelerator:
            outcome = Outcome(
                number=len(self.record.outcomes),
                config=config,
                status=found.status,
                source="step",
                isolation=self.isolation,
                seconds=self.budget.clock() - begun,
                failure=found,
            )
            self.record.add(outcome)
            self.watcher.on_outcome(outcome)
        return found

    def _up_to(self, largest: int) -> Space:
        sizes = self.space.batch_size
        left = tuple(size for size in sizes if size and size <= largest)
        return replace(self.space, batch_size=left)
