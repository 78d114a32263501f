"""How long a command waited for something else than a CPU.

A time limit is about what a program does, not about how fast the machine is or what
else runs on it: waits, deadlines and pauses count, work and the queue for a CPU do not.
"""

import subprocess
import threading
import time
from pathlib import Path
from typing import Self

from autoloader.measure.proc import children_of, read_kernel_text

PAUSE_S = 0.2


class OwnTime:
    """Looks at a process and all that come from it until it is left.

    Of the processes that work at one moment, the one that works most counts: the others
    do so beside it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._pid = process.pid
        self._worked_ns: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.idle_s = 0.0
        """Seconds in which none of them ran or could have run; all of them, where the
        system does not tell."""

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Look no longer."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._over.wait(PAUSE_S):
            family = (self._pid, *(item.pid for item in children_of(self._pid)))
            longest_s = max(self._newly_worked_s(pid) for pid in family)
            now = time.monotonic()
            self.idle_s += max(0.0, now - last - longest_s)
            last = now

    def _newly_worked_s(self, pid: int) -> float:
        """Return how long a process has run, or stood in the queue, since last time."""
        told = (read_kernel_text(Path(f"/proc/{pid}/schedstat")) or "").split()
        if len(told) != 3:
            return 0.0
        now = int(told[0]) + int(told[1])
        before, self._worked_ns[pid] = self._worked_ns.get(pid, 0), now
        return (now - before) / 1e9
