"""Hold the memory budget while a pass runs, and tell when the kernel held its own.

The parent looks from outside, a few times a second: first at what the whole machine
has left, which costs next to nothing; and only where that shrinks by so much that the
budget may be near, at the pass itself. What a pass takes is `measure.memory`'s.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.measure.cgroup import (
    memory_in_use,
    memory_limit,
    oom_kills,
    parse_counters,
)
from autoloader.measure.machine import parse_meminfo
from autoloader.measure.memory import MemoryMeter
from autoloader.measure.proc import read_kernel_text
from autoloader.units import counted, format_bytes
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.errors import UsageError

ALARM_SHARE = 0.7
"""Part of the budget from which on the pass itself is weighed."""

GROWN_SHARE = 0.1
"""Part of the budget after which the pass is weighed again at once."""

PAUSE_S = 0.5
"""Least time between two weighings while less was taken in between."""

LEAST_PAUSES = 50
"""A weighing is no sooner than so many times what the last one took: 2 % of a CPU."""


class MemoryGuard:
    """Tells when a pass takes more than its budget.

    Made before the pass begins: what the machine has left then is what counts.

    Args:
        budget_bytes: what host, trial, workers and queue may take together; None: there
            is no limit, and nothing is read.
        host_pid: the host, which is the trial as well where it runs the pass itself.
        left: tells the bytes that are left, in the machine and in its own group.
        weigh: weighs trial and host, by their ids.
        clock: tells seconds.
    """

    def __init__(
        self,
        budget_bytes: int | None,
        *,
        host_pid: int,
        left: Callable[[], tuple[int, ...]] | None = None,
        weigh: Callable[[int, int | None], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budget_bytes = budget_bytes
        self._host_pid = host_pid
        self._left = left or memory_left_now
        self._weigh = weigh or weight_of
        self._clock = clock
        self.trial_pid: int | None = None
        """The trial, once it has started."""
        self._next_look = clock()
        self._last_bytes = 0
        self._before_bytes: tuple[int, ...] = ()
        self._host_bytes = 0
        if budget_bytes is not None:
            self._before_bytes = self._left()
            self._host_bytes = self._weigh(host_pid, None)

    def over(self) -> int | None:
        """Return the bytes that the pass takes if they are too many, else None.

        Raises:
            UsageError: trial or host do not show what they take.
        """
        budget = self._budget_bytes
        if budget is None:
            return None
        about, begun = self._host_bytes + self._taken(), self._clock()
        has_grown = about > self._last_bytes + GROWN_SHARE * budget
        if about <= ALARM_SHARE * budget or not (has_grown or begun >= self._next_look):
            return None
        self._last_bytes = about
        trial = self.trial_pid or self._host_pid
        host = None if trial == self._host_pid else self._host_pid
        taken = self._weigh(trial, host)
        ended = self._clock()
        self._next_look = ended + max(PAUSE_S, LEAST_PAUSES * (ended - begun))
        return taken if taken > budget else None

    def _taken(self) -> int:
        """Return the bytes that all programs together have taken since the start."""
        pairs = zip(self._before_bytes, self._left(), strict=False)
        return max((before - now for before, now in pairs), default=0)

    @staticmethod
    def unread(exc: UsageError, *, phase: str, logs: Path) -> Failure:
        """Return the failure of a pass whose process hides what it takes."""
        return Failure(
            kind="crashed",
            phase=phase,
            message=exc.message,
            hint="it was shown when the pass began: what the dataset runs hid it since",
            log=str(logs),
        )

    def failure(self, taken_bytes: int, *, phase: str, logs: Path) -> Failure:
        """Return the failure of a pass that was ended for what it took."""
        return Failure(
            kind="out_of_memory",
            phase=phase,
            message=(
                f"it took {format_bytes(taken_bytes)} when it was ended; "
                f"the budget is {format_bytes(self._budget_bytes or 0)}"
            ),
            hint="raise --memory, or allow fewer workers",
            log=str(logs),
        )


def memory_left_now(root: Path = Path("/")) -> tuple[int, ...]:
    """Return the bytes that the machine has left, and this process's group.

    The group stands second, and only where it has a limit; nothing where the system
    does not tell.
    """
    known = parse_meminfo(read_kernel_text(root / "proc/meminfo") or "")
    if known is None:
        return ()
    limit = memory_limit(root)
    in_use = None if limit is None else memory_in_use(root)
    if limit is None or in_use is None:
        return (known[1],)
    return known[1], limit - in_use


def weight_of(trial_pid: int, host_pid: int | None) -> int:
    """Return the bytes that a trial, its host and its workers take."""
    meter = MemoryMeter(trial_pid=trial_pid, host_pid=host_pid)
    return meter.weigh().total_bytes


def kernel_kills(root: Path = Path("/")) -> int | None:
    """Return how many processes the kernel has killed for want of memory.

    Of this process's group where that is counted, else of the whole machine.

    Returns:
        A counter that only grows; None where the kernel does not keep it.
    """
    of_group = oom_kills(root)
    if of_group is not None:
        return of_group
    text = read_kernel_text(root / "proc/vmstat") or ""
    return parse_counters(text).get("oom_kill")


def named_by_kernel(
    failure: Failure, *, before: int | None, now: int | None
) -> Failure:
    """Return the failure as `out_of_memory` where the kernel says that it was that.

    Args:
        failure: why a pass ended.
        before: processes that the kernel had killed when the pass began.
        now: those that it has killed by now.
    """
    if failure.signal != "SIGKILL" or before is None or now is None or now <= before:
        return failure
    killed = now - before
    processes = counted(killed, "process", "processes")
    return replace(
        failure,
        kind="out_of_memory",
        message=(
            f"{failure.message}; the kernel killed {processes} for want of memory "
            "meanwhile"
        ),
        hint="fewer workers, a smaller queue, or a higher limit of memory",
    )
