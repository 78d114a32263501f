"""Weigh a trial: memory of host, trial, workers and queue together.

    sum(PSS) over host, trial, workers
      - private pages of the host
      + max(0, growth of /dev/shm in use - growth of sum(PSS shmem))

PSS, because forked processes share pages and resident sets count them many times; the
host, because it shares the dataset's pages with the trial; the last term, because a
queued batch that nobody has mapped belongs to no process (763 MB were queued once, and
6 MB of them seen by PSS). Method: `autoloader help measuring`.
"""

from autoloader.measure.proc import (
    ProcessMemory,
    children_of,
    process_memory,
    shm_used_bytes,
)


class MemoryMeter:
    """Reads the memory of one trial; made before its loader starts.

    Args:
        trial_pid: the process that iterates the loader.
        host_pid: the process it was forked from; None where it stands alone.
    """

    def __init__(self, *, trial_pid: int, host_pid: int | None) -> None:
        self._trial_pid = trial_pid
        self._host_pid = host_pid
        self._shm_before = shm_used_bytes() or 0
        self._mapped_before = sum(_shmem(item) for item in self._family())
        self.unmapped_bytes = 0
        """Shared memory of the last weighing that no process had mapped."""

    def weigh(self) -> int:
        """Return the bytes that the trial takes at this moment."""
        family = self._family()
        mapped = sum(_shmem(item) for item in family) - self._mapped_before
        grown = (shm_used_bytes() or 0) - self._shm_before
        self.unmapped_bytes = max(0, grown - max(0, mapped))
        host_private = 0
        if self._host_pid is not None:
            host = process_memory(self._host_pid)
            host_private = host.private_bytes if host is not None else 0
        total = sum(item.pss_bytes for item in family) - host_private
        return max(0, total) + self.unmapped_bytes

    def _family(self) -> list[ProcessMemory]:
        pids = [self._trial_pid, *(child.pid for child in children_of(self._trial_pid))]
        if self._host_pid is not None:
            pids.append(self._host_pid)
        found = (process_memory(pid) for pid in pids)
        return [item for item in found if item is not None]


def _shmem(item: ProcessMemory) -> int:
    return item.pss_shmem_bytes or 0
