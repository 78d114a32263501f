"""The processes of a night: the reference, the race of what is stored, a tune.

A workshop for `retuning`; what is read and in which order is `search.night_race`'s.
Prints nothing.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.export.origin import fingerprint_now
from autoloader.files import write_whole
from autoloader.search.budget import REFERENCE_SHARE, Budget
from autoloader.search.measure_folder import make_measure_folder
from autoloader.search.moments import Moment
from autoloader.search.night_race import NightRace, NightReadings
from autoloader.search.record import Record
from autoloader.search.stopwatch import PASS_SHARE, Stopwatch
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.rank_references import read_reference, runner_of
from autoloader.tuning import tune
from autoloader.values.job import Reference, ReferenceOrder, scope_of_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.child.stages import Stage
    from autoloader.retune_values import RetuneRequest
    from autoloader.search.watcher import Watcher
    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fingerprint import Fingerprint
    from autoloader.values.machine import Machine
    from autoloader.values.night import Night

NIGHT_SHARE = 0.5
"""Part of the tune's budget that a night without a tune may take."""

ROUNDS_SHARE = 0.3
"""Part of it that the rounds have at least."""

NIGHTS_KEPT = 30
"""Latest folders of nights, with every reading; older ones are removed."""

SCHEMA = 1

_NIGHT = re.compile(r"retune-\d{8}-\d{6}(?:-\d+)?")


@dataclass(slots=True, kw_only=True)
class Processes:
    """Does a night's work in processes of its own."""

    request: RetuneRequest
    machine: Machine
    watcher: Watcher
    stack: ExitStack
    """Unwound at the end of the night, however it ends."""
    clock: Callable[[], float] = time.monotonic
    _tmp: Path = field(init=False)
    _budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        """Begin the night's time, and make a folder for what processes leave."""
        total_s = self.request.tune.budget_s
        self._budget = Budget(total_s, self.clock, self.clock())
        self._tmp = make_tmp()
        self.stack.callback(remove_folder, self._tmp)

    def reference(self) -> Reference:
        """Read as many examples as the study did, in the same order."""
        asked = self.request.tune
        root = asked.folder.absolute()
        folder = make_measure_folder(root, datetime.now().astimezone(), kind="retune")
        _remove_older(root)
        self._on_phase("reference", asked.source.spec)
        logs = folder / "reference"
        logs.mkdir(mode=0o700)
        scope = replace(
            asked.scope,
            examples=self.request.baseline.examples,
            time_limit_s=self._budget.total_s * REFERENCE_SHARE,
        )
        sizes = asked.space.batch_size
        return read_reference(
            ReferenceOrder(
                source=asked.source,
                request=scope,
                folder=str(logs),
                largest_batch=max(sizes) if sizes else None,
                step=asked.step,
                ranks=asked.ranks,
            ),
            logs=logs,
            tmp=self._tmp,
            hang_after_s=asked.policy.hang_after_s,
            on_tick=self._on_tick,
        )

    def fingerprint(self, reference: Reference) -> Fingerprint:
        """Return what is here tonight."""
        return fingerprint_now(self.request.tune.source, self.machine, reference)

    def race(self, reference: Reference, past: Sequence[Night]) -> NightReadings:
        """Verify the stored config whole, and read it beside its rivals."""
        asked, folder = self.request.tune, Path(reference.folder).parent
        self._write_study(folder, reference)
        with ExitStack() as stack:
            record = stack.enter_context(Record(folder, goes_on=False))
            runner = runner_of(
                asked.source,
                reference,
                folder=folder / "trials",
                tmp=self._tmp,
                isolation=asked.isolation,
                policy=asked.policy,
                memory_bytes=asked.target.memory_bytes,
                on_tick=self._on_tick,
                on_pass=self.watcher.on_pass,
            )
            stack.enter_context(runner)
            stopwatch = Stopwatch(
                runner=runner,
                facts=reference.facts,
                scope=scope_of_one(reference),
                machine=self.machine,
                limit_s=self._budget.total_s * PASS_SHARE,
                moment=lambda: Moment.now(self._budget.spent_s),
                ranks=asked.ranks,
                at_once=asked.ranks,
            )
            return NightRace(
                stopwatch=stopwatch,
                record=record,
                baseline=self.request.baseline,
                past=past,
                deadline=self._budget.begun + self._budget.total_s * NIGHT_SHARE,
                least_s=self._budget.total_s * ROUNDS_SHARE,
                clock=self.clock,
                on_phase=self._on_phase,
                on_round=self.watcher.on_round,
            ).run()

    def tune(self, first: Sequence[LoaderConfig]) -> TuneResult:
        """Tune again, writing nothing; these configs are tried first.

        What another night read is not gone on with: it is no reading of tonight.
        """
        again = replace(
            self.request.tune,
            out=None,
            first=tuple(first),
            is_fresh=True,
        )
        return tune(again, self.machine, self.watcher, clock=self.clock)

    def _write_study(self, folder: Path, reference: Reference) -> None:
        data = {
            "schema": SCHEMA,
            "kind": "retune",
            "dataset": self.request.tune.source.spec,
            "file": self.request.file.name,
            "scope": reference.scope.to_dict(),
            "facts": reference.facts.to_dict(),
            "machine": self.machine.to_dict(),
        }
        write_whole(folder / "study.json", json.dumps(data, indent=1) + "\n")

    def _on_phase(self, name: str, detail: str) -> None:
        self.watcher.on_phase(name, detail, self._budget)

    def _on_tick(self, stage: Stage, done: int) -> None:
        self.watcher.on_tick(stage.words, done)


def _remove_older(root: Path) -> None:
    """Remove the folders of all nights but the latest."""
    nights = sorted(path for path in root.iterdir() if _NIGHT.fullmatch(path.name))
    for path in nights[:-NIGHTS_KEPT]:
        remove_folder(path)
