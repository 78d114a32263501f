"""The view for terminals and notebooks: a region, redrawn while a study runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.progress import Progress
from autoloader.report.region import Framed, region_on
from autoloader.report.screen import draw, heading_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.search.budget import Budget
    from autoloader.search.standings import Round
    from autoloader.search.watcher import Extent
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target


class LiveView(Framed):
    """Shows the study in a region that is gone when the study is over.

    Cautions stay on the screen, above it.

    Args:
        stream: a terminal, or the output of a notebook's cell.
        dataset: SPEC, as the user wrote it.
        target: what is wanted.
        machine: where it runs.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        dataset: str,
        target: Target,
        machine: Machine,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress = Progress(target, clock=clock)
        self._dataset, self._resources = dataset, sentences.resources(machine)
        self._heading = heading_of(dataset, target, self._resources)
        self._region = region_on(
            stream,
            lambda: draw(self._progress, self._heading),
            clock,
            title=f"tune {clean(dataset)}",
        )

    def on_phase(
        self, name: str, detail: str, budget: Budget, extent: Extent | None = None
    ) -> None:
        """Show that a phase begins."""
        self._progress.on_phase(name, detail, budget, extent)
        self._region.redraw()

    def on_pass(self, order: PassOrder) -> None:
        """Show what the pass is for, unless something was shown a moment ago."""
        self._progress.on_pass(order)
        self._region.tick()

    def on_tick(self, stage: str, done: int) -> None:
        """Show where the running pass stands, unless that was shown a moment ago."""
        self._progress.on_tick(stage, done)
        self._region.tick()

    def on_trial(self, config: LoaderConfig) -> None:
        """Show which config is tried."""
        self._progress.on_trial(config)
        self._region.redraw()

    def on_outcome(self, outcome: Outcome) -> None:
        """Show what came of the trial."""
        self._progress.on_outcome(outcome)
        self._region.redraw()

    def on_skip(self, config: LoaderConfig, why: str) -> None:
        """Count it; it is shown with the next trial, and its reason in the end."""
        del config, why
        self._progress.on_skip()

    def on_round(self, number: int, rates: Round) -> None:
        """Show how the finalists stand."""
        del number  # rounds are counted from their rates
        self._progress.on_round(rates)
        self._region.redraw()

    def on_target(self, target: Target) -> None:
        """Show what is wanted, once a step was timed."""
        self._progress.target = target
        self._heading = heading_of(self._dataset, target, self._resources)
        self._region.redraw()

    def on_caution(self, message: str, hint: str | None) -> None:
        """Write what is worth knowing above the region, where it stays."""
        said = Text.assemble(("caution", "doubt"), f"  {clean(message)}")
        if hint:
            said.append(f"\n         {clean(hint)}", style="label")
        self._region.say(said)
