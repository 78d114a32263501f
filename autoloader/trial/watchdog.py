"""Judge from outside whether a child gets on, and say when it does not.

Told stage and count, it looks at `/proc` only while nothing moves. What a hang is to a
trial, and how it is worded, belongs to the callers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.child.stages import Stage
from autoloader.measure.proc import ProcessStat, children_of, process_stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.config import LoaderConfig
    from autoloader.values.scope import DatasetFacts

STALL_S = 30.0
"""Least time without progress that counts as a hang of a pass."""

STEP_STALL_S = 300.0
"""The same of a pass with a training step, which may build and compile its model."""

STALL_BATCHES = 20
"""A hang is no sooner than this many batches' worth of reading in one process."""

PACES = 20
"""A hang is no sooner than so many times the longest wait for an example so far."""

STOPPED_S = 5.0
"""Time for which a stopped process may go on again: a pause by hand is as short."""

STARTING_S = 60.0
"""Most time for which workers that begin with a new interpreter may be at work."""

STARTING_WORKER_S = 10.0
"""Time more for each of them: they share CPUs, and what they import from."""

AT_WORK_SHARE = 0.05
"""CPU seconds a second of a process that is at work, however loaded the machine."""

LONGEST_STEP_S = 2.0
"""Most time that counts between two looks: after a longer one it was the parent that
did not run, be it that all was paused together."""

LOOK_AFTER_S = 1.0
"""Time without progress after which processes are looked at, and between two looks."""

LEAST_PAUSES = 50
"""A look is no sooner than so many times what the last one took: 2 % of a CPU."""

READING = frozenset(
    {Stage.READING, Stage.READING_AGAIN, Stage.ACCESSING, Stage.TRANSFORMING}
)
"""Stages whose units are examples."""

_OURS = (b"autoloader.child", b"from multiprocessing.")
"""Word by which a child's command is known, which its forks keep; and what stands in
the program of what `multiprocessing` starts afresh (see `child.spawned`)."""


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
    example_s: float | None = None
    """Longest time without an example, once some came; None: as in any stage."""
    has_pace: bool = False
    """Whether examples, once they come, tell that the next may take longer."""
    stopped_s: float = STOPPED_S
    """Longest time for which a process may be stopped."""
    starting_s: float = 0.0
    """Most time for which workers that begin with a new interpreter make progress by
    being at work; 0 where none does."""


def patience_with(
    config: LoaderConfig,
    facts: DatasetFacts,
    *,
    hang_after_s: float | None,
    least_s: float = STALL_S,
) -> Patience:
    """Return the patience with a pass.

    Args:
        config: its settings.
        facts: how long an example takes, and how workers are started.
        hang_after_s: what the user says; None: nothing.
        least_s: least time without progress that counts as a hang, where they say
            nothing.
    """
    stall_s = hang_after_s
    if stall_s is None:
        batch_s = facts.example_s * (config.batch_size or facts.batch_examples)
        sharing = max(1, config.num_workers)
        stall_s = max(least_s, STALL_BATCHES * batch_s * sharing)
    starts_afresh = config.num_workers > 0 and facts.start_method != "fork"
    starting_s = STARTING_S + STARTING_WORKER_S * config.num_workers
    return Patience(
        stall_s=stall_s,
        stopped_s=max(STOPPED_S, hang_after_s or 0.0),
        starting_s=starting_s if starts_afresh else 0.0,
    )


def patience_with_reading(*, usual_s: float, hang_after_s: float | None) -> Patience:
    """Return the patience with a process that reads a dataset alone.

    Args:
        usual_s: longest time that it may go without progress, imports included.
        hang_after_s: what the user says of examples; more holds for imports too. None:
            nothing.
    """
    return Patience(
        stall_s=max(usual_s, hang_after_s or 0.0),
        example_s=hang_after_s,
        has_pace=hang_after_s is None,
        stopped_s=max(STOPPED_S, hang_after_s or 0.0),
    )


def is_ours(process: ProcessStat) -> bool:
    """Whether a process is a child of ours or a worker, by its command.

    A program that a dataset runs is its own affair: it may pause it.
    """
    try:
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(_OURS[0] == word or _OURS[1] in word for word in command.split(b"\0"))


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
        is_ours: tells whether one of these, other than the child, is a trial or worker.
        clock: tells seconds.
    """

    def __init__(
        self,
        pid: int,
        patience: Patience,
        *,
        family: Callable[[int], tuple[ProcessStat, ...]] = family_of,
        is_ours: Callable[[ProcessStat], bool] = is_ours,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pid = pid
        self._patience = patience
        self._family = family
        self._is_ours = is_ours
        self._clock = clock
        self._last = clock()
        self._seen: tuple[Stage, int] | None = None
        self._turn = 0
        self._idle_s = 0.0
        self._longest_s = 0.0
        self._excused_s = 0.0
        self._stopped_at_s: dict[tuple[int, int, float], float] = {}
        self._unseen_s = 0.0  # since processes were looked at
        self._pause_s = LOOK_AFTER_S
        self._cpu_s: dict[int, float] = {}

    def look(self, stage: Stage, done: int, turn: int = 0) -> None:
        """Note where the child stands.

        Args:
            stage: what it does.
            done: units of that which are done.
            turn: how often it began a stage: the second epoch has the same batches.

        Raises:
            ChildStopped: it is stopped, or a process that came from it is.
            ChildHung: it made no progress for too long.
        """
        now = self._clock()
        step_s, self._last = min(now - self._last, LONGEST_STEP_S), now
        if (stage, done) != self._seen or turn != self._turn:
            self._turn = turn
            self._note_progress(stage, done)
            return
        self._idle_s += step_s
        self._unseen_s += step_s
        is_due = self._unseen_s >= self._pause_s
        if not is_due and (not self._is_over() or self._is_starting()):
            return
        has_just_stopped = self._look_at_processes()
        if self._is_over() and not has_just_stopped:
            raise ChildHung(stage, done, self._idle_s)

    def _note_progress(self, stage: Stage, done: int) -> None:
        if self._seen is not None and {self._seen[0], stage} <= READING:
            self._longest_s = max(self._longest_s, self._idle_s)
        self._seen = (stage, done)
        self._idle_s = self._excused_s = self._unseen_s = 0.0
        self._stopped_at_s = {}
        self._cpu_s = {}

    def _is_over(self) -> bool:
        excused_s = min(self._excused_s, self._patience.starting_s)
        return self._idle_s - excused_s > self._limit_s()

    def _limit_s(self) -> float:
        stage, done = self._seen or (Stage.STARTING, 0)
        patience = self._patience
        if stage not in READING or not done:
            return patience.stall_s
        limit_s = patience.stall_s if patience.example_s is None else patience.example_s
        return max(limit_s, PACES * self._longest_s) if patience.has_pace else limit_s

    def _is_starting(self) -> bool:
        """Whether workers that begin with a new interpreter may be on their way."""
        stage, done = self._seen or (Stage.STARTING, 0)
        # in a memory pass, the others may yet start when the first batch has come
        is_first = stage is Stage.LOADING and not done
        return self._patience.starting_s > 0 and (
            is_first or stage in {Stage.STARTING_WORKERS, Stage.FILLING_QUEUE}
        )

    def _look_at_processes(self) -> bool:
        """Look, and return whether one of ours is stopped that was not before."""
        begun, unseen_s = self._clock(), self._unseen_s
        found = self._family(self._pid)
        self._pause_s = max(LOOK_AFTER_S, LEAST_PAUSES * (self._clock() - begun))
        self._unseen_s = 0.0
        if self._is_starting():
            if self._are_at_work(found, unseen_s):
                self._excused_s += unseen_s
            self._cpu_s = {item.pid: _used_s(item) for item in found}
        return self._look_at_stopped(found)

    def _look_at_stopped(self, found: tuple[ProcessStat, ...]) -> bool:
        """Raise where one of ours has been stopped for too long.

        What was let go on in between (`cpulimit` does so) has used the CPU since.
        """
        before, self._stopped_at_s = self._stopped_at_s, {}
        known = {pid for pid, _start, _used in before}
        for process in found:
            if process.state != "T":
                continue
            if process.pid != self._pid and not self._is_ours(process):
                continue
            key = (process.pid, process.start_ticks, _used_s(process))
            at_s = self._stopped_at_s[key] = before.get(key, self._idle_s)
            stopped_s = self._idle_s - at_s
            is_over = self._is_over() and stopped_s > 0
            if is_over or stopped_s >= self._patience.stopped_s:
                stage, done = self._seen or (Stage.STARTING, 0)
                raise ChildStopped(stage, done, stopped_s, process)
        return any(pid not in known for pid, _start, _used in self._stopped_at_s)

    def _are_at_work(self, found: tuple[ProcessStat, ...], unseen_s: float) -> bool:
        """Whether a process computes, or waits for CPU or disk; a new one does."""
        for process in found:
            used_s = _used_s(process) - self._cpu_s.get(process.pid, 0)
            if process.state in "RD" or used_s >= AT_WORK_SHARE * unseen_s:
                return True
        return False


def _used_s(process: ProcessStat) -> float:
    """Return the CPU seconds that a process has used."""
    return process.user_s + process.system_s
