"""Let two groups of processes run in turns of a tenth of a second.

CPUs of shared machines change their speed by a third within seconds, so that two
passes one after the other differ by that, however alike they are. Here both are under
way at the same time, and one is stopped (SIGSTOP) while the other runs: what changes
more slowly than a slice falls on both alike. `sliced_clock` leaves the stopped seconds
out of what either of them measures.
"""

from __future__ import annotations

import mmap
import os
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sliced_clock import BYTES, CLOCK, SIDE, SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator

SLICE_S = 0.1
STOPS_WITHIN_S = 1.0
"""A process that sleeps in the kernel for longer is not waited for."""


@dataclass(slots=True)
class Side:
    """Processes that run or stand together: all below a root, which itself goes on."""

    root: int
    """Process that starts them."""
    place: int
    """Which of the clock's two numbers is theirs."""
    stopped_at_s: float | None = None
    pids: list[int] = field(default_factory=list)

    def stop(self) -> None:
        """Stop them, those that start others first."""
        self.pids = []
        new = descendants(self.root)
        self.stopped_at_s = time.perf_counter()
        while new:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            self.pids += new
            new = [pid for pid in descendants(self.root) if pid not in self.pids]
        deadline = self.stopped_at_s + STOPS_WITHIN_S
        while any(map(_runs, self.pids)) and time.perf_counter() < deadline:
            pass

    def go_on(self, stopped_s: memoryview) -> None:
        """Let them go on; their clock first learns how long they stood."""
        if self.stopped_at_s is None:
            return
        stopped_s[self.place] += time.perf_counter() - self.stopped_at_s
        self.stopped_at_s = None
        for pid in reversed(self.pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


class Slices:
    """Gives both sides their turns, in a thread, while `turns` is open.

    Args:
        path: file that both sides' clocks read.
        in_turns: whether anybody is stopped at all.
    """

    def __init__(self, path: Path, *, in_turns: bool) -> None:
        self._in_turns = in_turns
        path.write_bytes(bytes(SIDES * BYTES))
        with path.open("r+b") as file:
            self._held = mmap.mmap(file.fileno(), SIDES * BYTES)
        self._stopped_s = memoryview(self._held).cast("d")

    @contextmanager
    def turns(self, roots: tuple[int, int]) -> Iterator[None]:
        """Stop one side while the other runs, until the block ends.

        What ended the turns before that is raised then: nothing was in turns since.
        """
        ended = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._run, roots, ended)
            try:
                yield
            finally:
                ended.set()
            running.result()

    def _run(self, roots: tuple[int, int], ended: threading.Event) -> None:
        sides = [Side(root, place) for place, root in enumerate(roots)]
        running, standing = sides
        try:
            while not ended.wait(SLICE_S):
                if not (self._in_turns and _both_run(running, standing)):
                    standing.go_on(self._stopped_s)  # nobody to take turns with
                    continue
                running.stop()
                standing.go_on(self._stopped_s)
                running, standing = standing, running
        finally:
            for side in sides:
                side.go_on(self._stopped_s)


@contextmanager
def sliced(*, in_turns: bool) -> Iterator[Slices]:
    """Name the clock in the environment, as side 0; who starts side 1 names that."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stopped"
        found = Slices(path, in_turns=in_turns)
        os.environ.update({CLOCK: str(path), SIDE: "0"})
        try:
            yield found
        finally:
            del os.environ[CLOCK], os.environ[SIDE]


def _both_run(one: Side, other: Side) -> bool:
    return bool(descendants(one.root) and descendants(other.root))


def descendants(pid: int) -> list[int]:
    """Return the processes below one, parents before their children."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := _stat(folder.name)):
            below.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:  # grows while it is read
        found += below.get(one, [])
    return found[1:]


def parent_of(pid: int) -> int | None:
    """Return the parent of a process; None if it is gone."""
    fields = _stat(str(pid))
    return int(fields[1]) if fields else None


def _runs(pid: int) -> bool:
    """Whether a process is neither stopped nor at its end."""
    fields = _stat(str(pid))
    return bool(fields) and fields[0] not in "TtZX"


def _stat(pid: str) -> list[str]:
    """Return the fields after the name: state, parent and so on; none if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
