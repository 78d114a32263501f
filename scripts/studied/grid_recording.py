"""Read a study's grid: each config gated and weighed once, then read in rounds.

Passes are those of a tune, shorter. The record lies in a working folder and is synced
after each reading; what is stored beside the study is written after each round. The
same command goes on where a killed one stood.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoloader.errors import UsageError
from autoloader.files import write_whole
from autoloader.measure.machine import read_machine
from autoloader.search.differences import what_differs
from autoloader.search.record import Record
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.trials import run_trial
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import Failure, Status
from autoloader.values.target import MEMORY_SHARE
from scripts.studied.conditions import differences, read_stored, store
from scripts.studied.grid_file import GridState, grid_data

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import Reference
    from autoloader.values.outcome import Outcome
    from scripts.studied.grids import StudyAsked

PASS_S = 1.2
"""Seconds that a timed pass should not exceed: 33 configs take five of them in some
minutes. A tune of three minutes allows 2.7."""

REFERENCE_S = 20.0
"""Seconds that the reference may take, as in a tune of three minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOrder:
    """What is to be read, and where it goes."""

    asked: StudyAsked
    workers: tuple[int, ...]
    """Numbers of workers, ascending."""
    rounds: int
    """Readings of each config."""
    pass_s: float
    reference_s: float
    """Seconds that the reference may take."""
    work: Path
    """Folder of the record."""
    stored: Path
    """The file beside the study."""
    conditions: dict[str, object]
    fresh: bool = False
    """Whether an earlier record is put aside."""


def record_grid(order: GridOrder) -> None:
    """Read what is missing of a grid, and store it after each round.

    Raises:
        UsageError: the record is one of another machine, other versions, another grid
            or other data; or another process reads it.
        DatasetError: the dataset fails by itself.
        StoredFileError: the disk refuses.
    """
    with ExitStack() as stack:
        record = stack.enter_context(Record(order.work))
        kept = order.work / "grid.json"
        if order.fresh:
            record.begin_anew()
            kept.unlink(missing_ok=True)
        earlier = _earlier(order, kept)
        if earlier is None:
            record.begin_anew()  # of a run that was killed before it began
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        reference = _read_reference(order, earlier, tmp)
        state = earlier or _begin(order, reference)
        differs = what_differs(state.facts, reference.facts)
        if differs is not None:
            msg = f"{order.work} cannot be gone on with: {differs}"
            raise UsageError(msg, hint="--fresh puts it aside")
        memory_bytes = int(MEMORY_SHARE * read_machine().memory_available_bytes)
        runner = ProcessRunner(
            order.asked.source,
            reference,
            folder=order.work / "trials",
            tmp=tmp,
            memory_bytes=memory_bytes,
        )
        stack.enter_context(runner)
        stopwatch = Stopwatch(
            runner=runner,
            facts=state.facts,
            scope=reference.scope,
            machine=state.machine,
            limit_s=order.pass_s,
        )
        stopwatch.remember(record.outcomes)
        _Reader(order, record, stopwatch, kept, memory_bytes, state).run()


def order_of(configs: tuple[LoaderConfig, ...], number: int) -> list[LoaderConfig]:
    """Return the configs in the order of a round, shuffled anew for each.

    What drifts while a round runs then falls on none more than on others.
    """
    shuffled = list(configs)
    random.Random(number).shuffle(shuffled)  # noqa: S311  # no secret depends on it
    return shuffled


def _earlier(order: GridOrder, kept: Path) -> GridState | None:
    """Return the state that the record belongs to; None where there is none."""
    data = read_stored(kept)
    if data is None:
        return None
    state = GridState.from_dict(data)
    differing = differences(state.conditions, order.conditions)
    if state.space.workers != order.workers:
        differing.append(f"workers were {state.space.workers}, now {order.workers}")
    if state.pass_s != order.pass_s:
        differing.append(f"a pass had {state.pass_s:g} s, now {order.pass_s:g}")
    if differing:
        msg = f"{order.work} cannot be gone on with: {'; '.join(differing)}"
        raise UsageError(msg, hint="--fresh puts it aside")
    return state


def _read_reference(
    order: GridOrder, earlier: GridState | None, tmp: Path
) -> Reference:
    folder = order.work / "reference"
    folder.mkdir(exist_ok=True)
    examples = None if earlier is None else earlier.scope.examples
    return read_reference(
        ReferenceOrder(
            source=order.asked.source,
            request=order.asked.limited(order.reference_s, examples),
            folder=str(folder),
            largest_batch=order.asked.batch_size,
        ),
        logs=folder,
        tmp=tmp,
    )


def _begin(order: GridOrder, reference: Reference) -> GridState:
    return GridState(
        study=order.asked.name,
        conditions=order.conditions,
        pass_s=order.pass_s,
        reference_s=reference.seconds,
        spent_s=0.0,
        facts=reference.facts,
        scope=reference.scope,
        space=order.asked.grid(reference.facts, order.workers),
        machine=read_machine(),
    )


@dataclass(slots=True)
class _Reader:
    """Runs the rounds of one grid."""

    order: GridOrder
    record: Record
    stopwatch: Stopwatch
    kept: Path
    """State of the record, beside it."""
    memory_bytes: int
    state: GridState

    def run(self) -> None:
        configs = self.state.space.configs()
        for number in range(self.order.rounds):
            begun = time.monotonic()
            turns = [
                config
                for config in order_of(configs, number)
                if self._lacks(config, number)
            ]
            for config in turns:
                self._read(config, configs.index(config))
            if turns:
                self._say(number, len(turns), time.monotonic() - begun)
            store(self.order.stored, grid_data(self.state, self.record.outcomes))

    def _lacks(self, config: LoaderConfig, number: int) -> bool:
        """Whether a config has no reading of this round yet, and can have one."""
        known = self.record.of_config(config)
        if known is None:
            return True
        return known.status is Status.MEASURED and len(known.counted) <= number

    def _read(self, config: LoaderConfig, number: int) -> None:
        """Take one more reading of a config; the first with gate and weighing."""
        begun = time.monotonic()
        known = self.record.of_config(config)
        if known is None:
            self.record.add(
                run_trial(
                    self.stopwatch,
                    config,
                    number=number,
                    source="grid",
                    memory_bytes=self.memory_bytes,
                )
            )
        else:
            self._read_again(known)
        spent_s = self.state.spent_s + time.monotonic() - begun
        self.state = replace(self.state, spent_s=spent_s)
        write_whole(self.kept, json.dumps(self.state.to_dict()) + "\n")

    def _read_again(self, known: Outcome) -> None:
        if known.verdict is None:
            return
        taken = self.stopwatch.take(
            known.config, verdict=known.verdict, purpose="repeat"
        )
        if not isinstance(taken, Failure) and not sum(taken[-1].counts):
            taken = Failure(
                kind="no_batch", phase="timed", message="a pass delivered no batch"
            )
        if isinstance(taken, Failure):
            failed = replace(known, status=taken.status, failure=taken, readings=())
            self.record.add(failed)
            return
        for reading in taken:
            self.record.add_reading(known.number, reading)

    def _say(self, number: int, turns: int, seconds: float) -> None:
        outcomes = self.record.outcomes
        lost = sum(item.status is not Status.MEASURED for item in outcomes)
        print(
            f"    {self.state.study}: round {number + 1} of {self.order.rounds}: "
            f"{turns} configs in {seconds:.0f} s, {lost} without a speed, "
            f"{self.state.spent_s / 60:.1f} min so far",
            file=sys.stderr,
            flush=True,
        )
