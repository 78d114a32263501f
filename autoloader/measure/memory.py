"""Weigh a trial: memory of host, trial, workers and queue together.

    sum(PSS that maps no file) over host, trial, workers
      - the part of it that only the host has
      - what these hold of shared memory
      + shared memory that any of them holds, file by file, each once

PSS, because forked processes share pages and resident sets count them many times; the
host, because it shares the dataset's pages with the trial. Mapped files are left out:
they are page cache, which the kernel drops before memory runs out, and other programs
share it (PyTorch's own code, 60 MB of it, weighs less while others run PyTorch too).
Shared memory by its files, because a queued batch that nobody has mapped is in no set,
nor is one that was mapped and not touched (763 MB were queued once, and 6 MB of them
seen by PSS).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from autoloader.errors import UsageError
from autoloader.measure.proc import (
    children_of,
    numbers_in,
    parse_stat,
    processes_of_session,
    read_kernel_text,
    smaps_sums,
    smaps_text,
)
from autoloader.measure.shared_memory import account

_HIDDEN = (
    "a Python with capabilities of its own (setcap), or a /proc that is not mounted or "
    "hides processes, keeps it: without it no memory can be told, and none be limited"
)
"""Why a system may not show what a process of this user takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """What host, trial and workers take at one moment."""

    total_bytes: int
    """All of it, each page counted once, less what only the host has."""

    queued_bytes: int
    """The part of it that is in no process's proportional set."""

    resident_bytes: int
    """Sum of the resident sets: what is shared counts once for each process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSet:
    """The memory of one process that cannot be dropped."""

    pss_bytes: int
    """Proportional set size without mapped files; with them before Linux 5.3."""

    private_bytes: int
    """The part that only this process has, or had written to."""

    resident_bytes: int
    """All pages that it maps, files and shared ones as well."""


class MemoryMeter:
    """Reads the memory of one trial.

    Args:
        trial_pid: the process that iterates the loader.
        host_pid: the process it was forked from; None where it stands alone.
        root: root of the file system with `/proc` and `/dev/shm`.
    """

    def __init__(
        self, *, trial_pid: int, host_pid: int | None, root: Path = Path("/")
    ) -> None:
        self._trial_pid = trial_pid
        self._host_pid = host_pid
        self._root = root

    def weigh(self) -> Weight:
        """Return what the trial takes at this moment; nothing of what has ended.

        Raises:
            UsageError: the system does not show what trial or host take.
        """
        pids = self._family()
        strict = {self._trial_pid, self._host_pid}
        sets = {
            pid: found
            for pid in pids
            if (found := process_set(pid, self._root, is_strict=pid in strict))
            is not None
        }
        shared = account(pids, self._root)
        own = sum(found.pss_bytes for found in sets.values()) - shared.pss_bytes
        if self._host_pid is not None and self._host_pid in sets:
            of_shared = shared.private_bytes.get(self._host_pid, 0)
            own -= max(0, sets[self._host_pid].private_bytes - of_shared)
        return Weight(
            total_bytes=max(0, own) + shared.allocated_bytes,
            queued_bytes=shared.unseen_bytes,
            resident_bytes=sum(found.resident_bytes for found in sets.values()),
        )

    def is_at_rest(self) -> bool:
        """Return whether no other process of the trial computes, or waits for a CPU."""
        others = [pid for pid in self._family() if pid != os.getpid()]
        return not any(is_busy(pid, self._root) for pid in others)

    def _family(self) -> list[int]:
        """Return host, trial and all that came from it, orphans included."""
        found = {self._trial_pid}
        found |= {item.pid for item in children_of(self._trial_pid, self._root)}
        session = processes_of_session(self._trial_pid, self._root)
        found |= {item.pid for item in session}
        if self._host_pid is not None:
            found.add(self._host_pid)
        return sorted(found)


def is_busy(pid: int, root: Path = Path("/")) -> bool:
    """Return whether a thread of a process runs, wants to run, or waits for a disk."""
    folder = root / "proc" / str(pid) / "task"
    for thread in numbers_in(folder) or []:
        text = read_kernel_text(folder / str(thread) / "stat")
        if text and parse_stat(text, ticks_per_s=1).state in "RD":
            return True
    return False


def process_set(
    pid: int, root: Path = Path("/"), *, is_strict: bool = True
) -> ProcessSet | None:
    """Return the set of a process, None when it has ended.

    A helper that runs as another user (by sudo, say) shares no pages with ours: what it
    has resident is what it takes.

    Args:
        pid: the process.
        root: root of the file system with `/proc`.
        is_strict: whether one of this user has to be shown; else what it has resident
            counts as for a helper. Programs that keep secrets (`ssh-agent`) or have
            capabilities (`ping`) are shown to nobody.

    Raises:
        UsageError: it is ours, and the system does not show what it takes.
    """
    found = parse_set(smaps_text(pid, root))
    if found is not None:
        return found
    why_not = _unreadable(pid, root)
    if why_not is None:
        return None
    status = read_kernel_text(root / "proc" / str(pid) / "status") or ""
    user = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
    if user is not None and not (is_strict and int(user[1]) == os.geteuid()):
        return parse_status(status)
    path = root / "proc" / str(pid) / "smaps"
    msg = f"the memory of process {pid} cannot be read, {path}: {why_not}"
    raise UsageError(msg, hint=_HIDDEN)


def _unreadable(pid: int, root: Path) -> str | None:
    """Return why the memory of a living process is not shown; None: it has ended."""
    folder = root / "proc" / str(pid)
    if not numbers_in(root / "proc"):
        return "no process is shown there"
    status = read_kernel_text(folder / "stat")
    if not status or parse_stat(status, ticks_per_s=1).state in "ZX":
        return None
    try:
        with (folder / "smaps").open("rb") as file:
            file.read(1)
    except (FileNotFoundError, PermissionError) as exc:
        return exc.strerror if folder.exists() else None
    except OSError:  # it ended between
        return None
    return None


def parse_status(text: str) -> ProcessSet:
    """Read the resident pages of a process in `/proc/<pid>/status`, files left out."""
    pairs = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    found: dict[str, str] = dict(pairs)
    resident = int(found.get("VmRSS", "0"))
    own = 1024 * int(found.get("RssAnon", resident))
    return ProcessSet(
        pss_bytes=own,
        private_bytes=own,
        resident_bytes=1024 * resident,
    )


def parse_set(text: str) -> ProcessSet | None:
    """Read `smaps_rollup`, or sum over the mappings of `smaps`.

    Returns:
        The sums; None for an empty text, which is what an ended process leaves.
    """
    sums = smaps_sums(text)
    if sums is None:
        return None
    return ProcessSet(
        pss_bytes=sums["Pss"] - sums.get("Pss_File", 0),
        private_bytes=sums.get("Private_Dirty", 0),
        resident_bytes=sums.get("Rss", 0),
    )
