"""Note what processes hold at the end of each epoch, so that growth can be seen.

Each kept worker is given the same examples in every epoch: whatever it opens or caches
when an example is first read, it has by the end of the first one. What is growth and
what is noise is judged in `audit.growth`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from autoloader.measure.descriptors import descriptors_beyond_files
from autoloader.measure.proc import process_memory

if TYPE_CHECKING:
    from torch.utils.data import DataLoader

TRAINER = "the training process"
"""Name of the process that is no worker."""


class GrowthWatch:
    """Keeps descriptors and private memory, process by process and epoch by epoch."""

    def __init__(self) -> None:
        self._descriptors: dict[str, list[int | None]] = {}
        self._private_bytes: dict[str, list[int | None]] = {}

    def note(self, loader: DataLoader[Any]) -> None:
        """Note what the training process, and workers that are kept, hold now."""
        self._note_descriptors(TRAINER, os.getpid())
        for number, pid in enumerate(kept_workers(loader)):
            name = f"worker {number}"
            self._note_descriptors(name, pid)
            memory = process_memory(pid)
            held = None if memory is None else memory.private_bytes
            self._private_bytes.setdefault(name, []).append(held)

    def _note_descriptors(self, name: str, pid: int) -> None:
        self._descriptors.setdefault(name, []).append(descriptors_beyond_files(pid))

    def to_dict(self) -> dict[str, Any]:
        """Return what was noted, as a message."""
        return {
            "descriptors": self._descriptors,
            "private_bytes": self._private_bytes,
        }


def kept_workers(loader: DataLoader[Any]) -> list[int]:
    """Return the process ids of workers that live on between epochs."""
    iterator = getattr(loader, "_iterator", None)
    workers = getattr(iterator, "_workers", None) or []
    return [worker.pid for worker in workers if worker.pid is not None]
