"""What Linux tells about processes and the whole machine in `/proc`.

Parsers take text, readers take the root of the file system and return None where the
kernel does not tell, be it that the process is gone or that this is no Linux. Adding up
over processes and time belongs in the samplers, control groups in `measure.cgroup`.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMemory:
    """The memory of one process, shared pages divided among those that map them."""

    pss_bytes: int
    """Proportional set size in bytes: summed over processes it counts no page twice."""

    pss_anon_bytes: int | None
    """The anonymous part of it; None before Linux 5.3."""

    pss_file_bytes: int | None
    """The part that maps files; None before Linux 5.3."""

    pss_shmem_bytes: int | None
    """The part in shared memory; None before Linux 5.3."""

    private_bytes: int
    """Bytes that no other process maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStat:
    """Identity, state and CPU time of one process."""

    pid: int
    """The process id."""

    name: str
    """The command's name, cut to 15 bytes by the kernel."""

    state: str
    """One letter: R running, S sleeping, D waiting for a device, Z ended…"""

    parent_pid: int
    """The parent's process id."""

    group_id: int
    """The process group."""

    session_id: int
    """The session."""

    user_s: float
    """CPU seconds in its own code, all threads."""

    system_s: float
    """CPU seconds in the kernel, all threads."""

    threads: int
    """Threads now."""

    start_ticks: int
    """Clock ticks from boot to its start: with the pid, it names a process for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """Seconds that all CPUs of the machine have spent since boot, by kind."""

    user_s: float
    """In programs, low priority and guests included."""

    system_s: float
    """In the kernel, interrupts included."""

    idle_s: float
    """Doing nothing."""

    iowait_s: float
    """Doing nothing while a disk was waited for."""

    steal_s: float
    """Taken by the hypervisor for others."""

    @property
    def total_s(self) -> float:
        """All seconds, of whatever kind."""
        return self.user_s + self.system_s + self.idle_s + self.iowait_s + self.steal_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemorySpace:
    """The size and use of the file system that holds shared memory."""

    total_bytes: int
    """Its size."""

    used_bytes: int
    """What is in use, mapped or only held open."""

    free_bytes: int
    """What this user can still write."""


def read_kernel_text(path: Path | str) -> str | None:
    """Return a file's text, None where it is absent, gone meanwhile or not ours."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a Path would intern what it is made of
            return file.read()
    except OSError:
        return None


def process_memory(pid: int, root: Path = Path("/")) -> ProcessMemory | None:
    """Return the memory of a process, None when it has ended or is not ours to read."""
    return parse_smaps(smaps_text(pid, root))


def smaps_text(pid: int, root: Path = Path("/")) -> str:
    """Return `smaps_rollup`, or `smaps`; empty when it has ended or is not ours."""
    folder = root / "proc" / str(pid)
    # smaps_rollup came with Linux 4.14; smaps says the same, one mapping at a time.
    text = read_kernel_text(folder / "smaps_rollup")
    return text or read_kernel_text(folder / "smaps") or ""


def smaps_sums(text: str) -> dict[str, int] | None:
    """Return the bytes of each kind, summed over the mappings of a text of smaps.

    None for an empty text, which is what an ended process leaves.
    """
    sums: dict[str, int] = {}
    for name, kib in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE):
        sums[name] = sums.get(name, 0) + 1024 * int(kib)
    return sums if "Pss" in sums else None


def parse_smaps(text: str) -> ProcessMemory | None:
    """Read `smaps_rollup`, or sum over the mappings of `smaps`.

    Returns:
        The sums; None for an empty text, which is what an ended process leaves.
    """
    sums = smaps_sums(text)
    if sums is None:
        return None
    return ProcessMemory(
        pss_bytes=sums["Pss"],
        pss_anon_bytes=sums.get("Pss_Anon"),
        pss_file_bytes=sums.get("Pss_File"),
        pss_shmem_bytes=sums.get("Pss_Shmem"),
        private_bytes=sums.get("Private_Clean", 0) + sums.get("Private_Dirty", 0),
    )


def process_stat(pid: int, root: Path = Path("/")) -> ProcessStat | None:
    """Return identity and CPU time of a process, None when it has been reaped.

    It is asked of all processes, over and over. `Path` interns each part of a path, and
    the table of interned words had grown by 2 to 4 MB after some hundred trials.
    """
    text = read_kernel_text(f"{root / 'proc'}/{pid}/stat")
    return parse_stat(text, ticks_per_s=_ticks_per_s()) if text else None


def parse_stat(text: str, *, ticks_per_s: int) -> ProcessStat:
    """Read `/proc/<pid>/stat`.

    Args:
        text: One process's line. The name may hold spaces, parentheses and line ends,
            so that only the last closing parenthesis ends it.
        ticks_per_s: Clock ticks in a second, by which the kernel counts CPU time.
    """
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    # Numbered as in proc_pid_stat(5): pid and name are 1 and 2, the state is 3.
    field = ["", pid, name, *tail.split()]
    return ProcessStat(
        pid=int(pid),
        name=name,
        state=field[3],
        parent_pid=int(field[4]),
        group_id=int(field[5]),
        session_id=int(field[6]),
        user_s=int(field[14]) / ticks_per_s,
        system_s=int(field[15]) / ticks_per_s,
        threads=int(field[20]),
        start_ticks=int(field[22]),
    )


def thread_count(pid: int, root: Path = Path("/")) -> int | None:
    """Return how many threads a process has, None when it has been reaped."""
    found = process_stat(pid, root)
    return found.threads if found else None


def catches_signal(pid: int, number: int, root: Path = Path("/")) -> bool:
    """Return whether a process has a handler of its own for a signal.

    False where it is gone, or the system does not tell.
    """
    text = read_kernel_text(root / "proc" / str(pid) / "status") or ""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", text, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def processes_of_session(
    session_id: int, root: Path = Path("/")
) -> tuple[ProcessStat, ...]:
    """Return the processes of a session by pid, ended but unreaped ones included.

    A process stays in its session when its parent ends, so that this finds orphans.
    """
    return tuple(
        found for found in _all_processes(root) if found.session_id == session_id
    )


def children_of(pid: int, root: Path = Path("/")) -> tuple[ProcessStat, ...]:
    """Return the children of a process and theirs, each parent before its children.

    Orphans have another parent by then; `processes_of_session` finds them.
    """
    by_parent: dict[int, list[ProcessStat]] = {}
    for found in _all_processes(root):
        by_parent.setdefault(found.parent_pid, []).append(found)
    family: list[ProcessStat] = []
    parents = [pid]
    while parents:
        children = by_parent.pop(parents.pop(0), [])
        family += children
        parents += [child.pid for child in children]
    return tuple(family)


def machine_cpu_times(root: Path = Path("/")) -> CpuTimes | None:
    """Return the machine's CPU seconds since boot, inside a container too."""
    text = read_kernel_text(root / "proc/stat")
    return parse_cpu_times(text, ticks_per_s=_ticks_per_s()) if text else None


def parse_cpu_times(text: str, *, ticks_per_s: int) -> CpuTimes | None:
    """Read the sum over all CPUs out of `/proc/stat`, None where it is absent."""
    line = re.search(r"^cpu +((?:\d+ ?){8,})", text, re.MULTILINE)
    if line is None:
        return None
    seconds = [int(ticks) / ticks_per_s for ticks in line[1].split()[:8]]
    user, nice, system, idle, iowait, interrupts, soft_interrupts, steal = seconds
    return CpuTimes(
        user_s=user + nice,
        system_s=system + interrupts + soft_interrupts,
        idle_s=idle,
        iowait_s=iowait,
        steal_s=steal,
    )


def shm_space(path: Path = Path("/dev/shm")) -> SharedMemorySpace | None:  # noqa: S108 - shared memory's own place
    """Return the size and use of a shared-memory file system, None where absent."""
    if sys.platform == "win32":
        return None
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    block = found.f_frsize
    return SharedMemorySpace(
        total_bytes=block * found.f_blocks,
        used_bytes=block * (found.f_blocks - found.f_bfree),
        free_bytes=block * found.f_bavail,
    )


def _all_processes(root: Path) -> Iterator[ProcessStat]:
    for pid in numbers_in(root / "proc") or []:
        found = process_stat(pid, root)
        if found is not None:
            yield found


def numbers_in(folder: Path) -> list[int] | None:
    """Return the numbers that name entries of a folder; None where it is not there."""
    try:
        with os.scandir(folder) as entries:
            return sorted(int(each.name) for each in entries if each.name.isdecimal())
    except OSError:
        return None


def _ticks_per_s() -> int:
    return os.sysconf("SC_CLK_TCK")
