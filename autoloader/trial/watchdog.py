"""Judge from outside whether a child gets on, and say when it does not.

Told stage and count, it looks at `/proc` only while nothing moves. What a hang is to a
trial, and how it is worded, belongs to the callers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.child.stages import Stage
from autoloader.measure.proc import ProcessStat, children_of, process_stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts

STALL_S = 30.0
"""Least time without progress that counts as a hang of a pass."""

STALL_BATCHES = 20
"""A hang is no sooner than this many batches' worth of reading in one process."""

LEAST_PACE_S = 60.0
"""Least time without an example that counts as a hang, once examples came."""

PACES = 20
"""A hang is no sooner than so many times the longest wait for an example so far."""

STOPPED_S = 5.0
"""Time for which a stopped process may go on again: a pause by hand is as short."""

STARTING_S = 60.0
"""Most time for which workers that begin with a new interpreter may be at work."""

AT_WORK_SHARE = 0.05
"""CPU seconds a second of a process that is at work, however loaded the machine."""

LONGEST_STEP_S = 2.0
"""Most time that counts between two looks: after a longer one it was the parent that
did not run, be it that all was paused together."""

LOOK_AFTER_S = 1.0
"""Time without progress after which processes are looked at, and between two looks."""

LEAST_PAUSES = 50
"""A look is no sooner than so many times what the last one took: 2 % of a CPU."""

READING = frozenset({Stage.READING, Stage.READING_AGAIN})
"""Stages whose units are examples."""


class ChildHung(Exception):  # an event that the caller turns into a value
    """The child made no progress for too long."""

    def __init__(self, stage: Stage, done: int, seconds: float) -> None:
        super().__init__(stage, done, seconds)
        self.stage = stage
        self.done = done
        self.seconds = seconds


class ChildStopped(ChildHung):
    """The child, or a process that came from it, is stopped and does not go on.

    It was SIGSTOP: what else stops processes is ignored in a session without a
    terminal.
    """

    def __init__(
        self, stage: Stage, done: int, seconds: float, process: ProcessStat
    ) -> None:
        super().__init__(stage, done, seconds)
        self.process = process

    def told(self, who: str, unit: str = "batches") -> str:
        """Return what happened, in one sentence.

        Args:
            who: the process, as people know it.
            unit: what the stage counts.
        """
        after = f", after {self.done} {unit}," if self.done else ""
        return (
            f"{who} was stopped by a signal (SIGSTOP) while {self.stage.words}{after} "
            f"and did not go on for {self.seconds:.0f} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a child may go without progress."""

    stall_s: float
    """Longest time in any stage."""
    has_pace: bool = False
    """Whether examples, once they come, tell how long the next may take."""
    starts_afresh: bool = False
    """Whether its workers begin with a new interpreter, which counts as progress while
    they are at work."""


def patience_with(
    config: LoaderConfig, facts: DatasetFacts, *, hang_after_s: float | None
) -> Patience:
    """Return the patience with a pass.

    Args:
        config: its settings.
        facts: how long an example takes, and how workers are started.
        hang_after_s: what the user says; None: nothing.
    """
    stall_s = hang_after_s
    if stall_s is None:
        batch_s = facts.example_s * (config.batch_size or facts.batch_examples)
        sharing = max(1, config.num_workers)
        stall_s = max(STALL_S, STALL_BATCHES * batch_s * sharing)
    has_workers = config.num_workers > 0
    return Patience(
        stall_s=stall_s, starts_afresh=has_workers and facts.start_method != "fork"
    )


def family_of(pid: int) -> tuple[ProcessStat, ...]:
    """Return a process and all that come from it, each parent before its children."""
    own = process_stat(pid)
    return (*(() if own is None else (own,)), *children_of(pid))


class Watchdog:
    """Looks at one child while an answer of it is awaited.

    Args:
        pid: the child.
        patience: how long it may go without progress.
        family: tells it and what comes from it, by its id.
        clock: tells seconds.
    """

    def __init__(
        self,
        pid: int,
        patience: Patience,
        *,
        family: Callable[[int], tuple[ProcessStat, ...]] = family_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pid = pid
        self._patience = patience
        self._family = family
        self._clock = clock
        self._last = clock()
        self._seen: tuple[Stage, int] | None = None
        self._idle_s = 0.0
        self._longest_s = 0.0
        self._excused_s = 0.0
        self._stopped_at_s: float | None = None
        self._unseen_s = 0.0  # since processes were looked at
        self._pause_s = LOOK_AFTER_S
        self._cpu_s: dict[int, float] = {}

    def look(self, stage: Stage, done: int) -> None:
        """Note where the child stands.

        Raises:
            ChildStopped: it is stopped, or a process that came from it is.
            ChildHung: it made no progress for too long.
        """
        now = self._clock()
        step_s, self._last = min(now - self._last, LONGEST_STEP_S), now
        if (stage, done) != self._seen:
            self._note_progress(stage, done)
            return
        self._idle_s += step_s
        self._unseen_s += step_s
        excused_s = min(self._excused_s, STARTING_S)
        is_over = self._idle_s - excused_s > self._limit_s(stage)
        if is_over or self._unseen_s >= self._pause_s:
            self._look_at_processes(stage, done, is_over=is_over)
        if is_over:
            raise ChildHung(stage, done, self._idle_s)

    def _note_progress(self, stage: Stage, done: int) -> None:
        is_same_stage = self._seen is not None and self._seen[0] == stage
        longest_s = max(self._longest_s, self._idle_s)
        self._longest_s = longest_s if is_same_stage else 0.0
        self._seen = (stage, done)
        self._idle_s = self._excused_s = self._unseen_s = 0.0
        self._stopped_at_s = None
        self._cpu_s = {}

    def _limit_s(self, stage: Stage) -> float:
        stall_s = self._patience.stall_s
        has_begun = self._seen is not None and self._seen[1] > 0
        if not (self._patience.has_pace and stage in READING and has_begun):
            return stall_s
        return min(stall_s, max(LEAST_PACE_S, PACES * self._longest_s))

    def _look_at_processes(self, stage: Stage, done: int, *, is_over: bool) -> None:
        begun, unseen_s = self._clock(), self._unseen_s
        found = self._family(self._pid)
        self._pause_s = max(LOOK_AFTER_S, LEAST_PAUSES * (self._clock() - begun))
        self._unseen_s = 0.0
        stopped = next((item for item in found if item.state == "T"), None)
        if stopped is None:
            self._stopped_at_s = None
        elif self._stopped_at_s is None:
            self._stopped_at_s = self._idle_s
        if stopped is not None and (is_over or self._is_stopped_for_good()):
            raise ChildStopped(stage, done, self._idle_s, stopped)
        if self._patience.starts_afresh and stage is Stage.STARTING_WORKERS:
            if self._are_at_work(found, unseen_s):
                self._excused_s += unseen_s
            self._cpu_s = {item.pid: item.user_s + item.system_s for item in found}

    def _is_stopped_for_good(self) -> bool:
        at_s = self._stopped_at_s
        return at_s is not None and self._idle_s - at_s >= STOPPED_S

    def _are_at_work(self, found: tuple[ProcessStat, ...], unseen_s: float) -> bool:
        """Whether a process computes, or waits for a CPU; a new one does."""
        for process in found:
            used_s = process.user_s + process.system_s - self._cpu_s.get(process.pid, 0)
            if process.state == "R" or used_s >= AT_WORK_SHARE * unseen_s:
                return True
        return False
