"""Name what ran out, by the words of who noticed: shared memory, disk, open files."""

from __future__ import annotations

import re
import resource

from autoloader.measure.proc import shm_space
from autoloader.units import format_bytes
from autoloader.values.outcome import Failure

FULL_SHARE = 0.05
"""Part of shared memory that is free at most where it is taken to be full."""

_NO_SPACE = re.compile(
    r"No space left on device|unable to (?:allocate|open|mmap) shared memory"
)
_SHARED_MEMORY = re.compile(r"shared memory|/torch_\d|/dev/shm")
_NO_SPACE_FOR = re.compile(r"No space left on device: '(/(?!dev/shm/)[^']+)'")
_NO_FILES = re.compile(r"Too many open files|received 0 items of ancdata")


def exhaustion(text: str, exception: str, *, phase: str, log: str) -> Failure | None:
    """Return the failure of words that say what ran out; None where they do not.

    Args:
        text: of an exception and of what caused it.
        exception: its type.
        phase: pass that it ended.
        log: folder with what the processes printed.
    """
    if _NO_SPACE.search(text):
        kind, message, hint = _what_is_full(text)
    elif _NO_FILES.search(text):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        kind = "descriptors_exhausted"
        message = (
            f"the limit of {limit} open files is reached: a tensor in flight needs one"
        )
        hint = "raise `ulimit -n`, or lower num_workers and prefetch_factor"
    else:
        return None
    return Failure(
        kind=kind,
        phase=phase,
        message=message,
        hint=hint,
        exception=exception,
        log=log,
    )


def _what_is_full(text: str) -> tuple[str, str, str]:
    """Return kind, message and hint of words that say that no space is left.

    A file that cannot be grown is named by no path: it is looked whether shared memory
    is full.
    """
    file, space = _NO_SPACE_FOR.search(text), shm_space()
    is_full = space is None or space.free_bytes <= FULL_SHARE * space.total_bytes
    if file is None and (is_full or _SHARED_MEMORY.search(text)):
        return (
            "shared_memory_full",
            f"shared memory is full ({shared_memory_words()}): no room for a batch",
            "fewer workers, a smaller prefetch_factor, or a larger /dev/shm",
        )
    where = "" if file is None else f": no room for {file[1]}"
    return (
        "disk_full",
        f"the dataset wrote, and no space is left on the device{where}",
        "free space there, or let it write elsewhere",
    )


def shared_memory_words() -> str:
    """Return `/dev/shm`, with its size where the system tells."""
    space, name = shm_space(), "/dev/shm"  # noqa: S108  # shared memory's own place
    return name if space is None else f"{name}, {format_bytes(space.total_bytes)}"
