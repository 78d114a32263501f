"""What else kept the machine busy while a pass ran, and what the pass itself took.

CPU time is told as CPU seconds a second, so that 1.0 is one CPU: of the pass, of all
other programs, what a hypervisor took, and what a quota held back. Bytes that came
from storage.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from autoloader.measure.cgroup import parse_counters, throttling
from autoloader.measure.proc import (
    CpuTimes,
    children_of,
    machine_cpu_times,
    read_kernel_text,
)
from autoloader.values.decode import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Stored):
    """Who used the machine during a pass."""

    own_cpu: float
    """CPU seconds a second of the pass: this process and its children."""
    foreign_cpu: float
    """CPU seconds a second of other programs."""
    stolen_cpu: float
    """CPU seconds a second that the hypervisor gave to others."""
    throttled_cpu: float
    """CPU seconds a second for which a quota stopped this process's groups."""
    storage_bytes: int | None
    """Bytes that came from storage, not from the page cache; None: not told."""
    read_bytes: int | None = None
    """Bytes that read calls returned, pipes between processes among them; None: not
    told."""


class LoadMeter:
    """Compares counters of the machine with those of this process and its children."""

    def __init__(self) -> None:
        self._before = _Counters.read()

    def stop(self) -> Load:
        """Return the load since the meter was made; zeros where it is unknown.

        Call it while kept workers still run or after they were waited for: CPU time of
        children counts either way.
        """
        before, now = self._before, _Counters.read()
        seconds = max(now.clock_s - before.clock_s, 1e-9)
        own_s = now.own_s - before.own_s
        foreign_s = stolen_s = 0.0
        if now.machine is not None and before.machine is not None:
            stolen_s = now.machine.steal_s - before.machine.steal_s
            foreign_s = _busy_s(now.machine) - _busy_s(before.machine) - own_s
        return Load(
            own_cpu=_per_second(own_s, seconds),
            foreign_cpu=_per_second(foreign_s, seconds),
            stolen_cpu=_per_second(stolen_s, seconds),
            throttled_cpu=_per_second(now.throttled_s - before.throttled_s, seconds),
            storage_bytes=_grown(before.storage_bytes, now.storage_bytes),
            read_bytes=_grown(before.read_bytes, now.read_bytes),
        )


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Bytes that a process and its children have read so far."""

    read: int
    """What read calls returned, from wherever: pipes between processes as well."""
    from_storage: int
    """What had to be fetched from storage; mapped files are in it as well."""


def file_bytes(pid: int, root: Path = Path("/")) -> FileBytes | None:
    """Return what a process, its children and those it has waited for have read.

    None where the system does not tell, or the process is gone.
    """
    found = _io_counters(pid, root)
    if found is None:
        return None
    living = [_io_counters(child.pid, root) for child in children_of(pid, root)]
    known = [found, *(item for item in living if item is not None)]
    return FileBytes(
        read=sum(item.get("rchar", 0) for item in known),
        from_storage=sum(item.get("read_bytes", 0) for item in known),
    )


@dataclass(frozen=True, slots=True)
class _Counters:
    """Counters at one moment."""

    clock_s: float
    machine: CpuTimes | None
    own_s: float
    throttled_s: float
    storage_bytes: int | None
    read_bytes: int | None

    @classmethod
    def read(cls) -> "_Counters":
        held = throttling()
        found = file_bytes(os.getpid())
        return cls(
            clock_s=time.monotonic(),
            machine=machine_cpu_times(),
            own_s=_own_cpu_s(),
            throttled_s=0.0 if held is None else held.throttled_s,
            storage_bytes=None if found is None else found.from_storage,
            read_bytes=None if found is None else found.read,
        )


def _io_counters(pid: int, root: Path) -> dict[str, int] | None:
    """Return the counters of `/proc/<pid>/io`, which hold those of reaped children."""
    text = read_kernel_text(root / "proc" / str(pid) / "io")
    return parse_counters(text.replace(":", "")) if text else None


def _own_cpu_s() -> float:
    times = os.times()
    reaped = times.children_user + times.children_system
    living = sum(child.user_s + child.system_s for child in children_of(os.getpid()))
    return times.user + times.system + reaped + living


def _busy_s(times: CpuTimes) -> float:
    return times.user_s + times.system_s


def _per_second(grown_s: float, seconds: float) -> float:
    return round(max(0.0, grown_s) / seconds, 3)


def _grown(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else max(0, now - before)
