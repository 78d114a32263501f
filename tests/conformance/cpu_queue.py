"""How long a command and its processes stood in the queue for a CPU.

A time limit is about what a program does, not about what else runs on the machine.
"""

import subprocess
import threading
import time
from pathlib import Path
from typing import Self

from autoloader.measure.proc import children_of, read_kernel_text

PAUSE_S = 0.2


class CpuQueue:
    """Looks at a process and all that come from it until it is left.

    Of the processes that wait at one moment, the one that waits longest counts: the
    others run beside it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._pid = process.pid
        self._waited_ns: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.waited_s = 0.0
        """Seconds for which it could have gone on and did not; 0 where that is not told
        by the system."""

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
            longest_s = max(self._newly_waited_s(pid) for pid in family)
            now = time.monotonic()
            self.waited_s += min(now - last, longest_s)
            last = now

    def _newly_waited_s(self, pid: int) -> float:
        """Return how long a process has waited since it was looked at last."""
        told = (read_kernel_text(Path(f"/proc/{pid}/schedstat")) or "").split()
        if len(told) != 3:
            return 0.0
        before, now = self._waited_ns.get(pid, 0), int(told[1])
        self._waited_ns[pid] = now
        return (now - before) / 1e9
