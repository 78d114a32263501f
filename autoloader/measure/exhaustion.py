"""Name what ran out, by the words of who noticed.

Shared memory, disk, open files, the accelerator's memory.
"""

from __future__ import annotations

import re
import resource
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.measure.proc import shm_space
from autoloader.units import format_bytes
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from autoloader.measure.tracebacks import Raised

FULL_SHARE = 0.05
"""Part of shared memory that is free at most where it is taken to be full."""

LEFT_BYTES = 1 << 20
"""Bytes that are left at most on a disk that is full."""

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # the system's own place for it
"""Where batches lie on their way."""

_NO_SPACE = re.compile(
    r"No space left on device|unable to (?:allocate|open|mmap) shared memory"
)
_SHARED_MEMORY = re.compile(r"shared memory|/torch_\d|/dev/shm")
_NO_SPACE_FOR = re.compile(r"""No space left on device: (?:'([^'\n]+)'|"([^"\n]+)")""")
_NO_FILES = re.compile(r"Too many open files|received 0 items of ancdata")
_NO_DEVICE_MEMORY = re.compile(r"\b(?:CUDA|HIP|XPU|MPS backend) out of memory\b")


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


def accelerator_full(
    raised: Raised, told: str, *, phase: str, log: str
) -> Failure | None:
    """Return the failure of an exception that the accelerator's full memory raised.

    None where it is not. What page-locked memory lacks is the machine's, and has other
    words ("CUDA error: out of memory").

    Args:
        raised: what was raised, with all that led to it.
        told: who raised what.
        phase: pass that it ended.
        log: folder with what the processes printed.
    """
    if not any(_NO_DEVICE_MEMORY.search(item.words) for item in raised.all()):
        return None
    return Failure(
        kind="out_of_memory",
        phase=phase,
        message=f"the accelerator has too little memory: {told}",
        hint="smaller batches (--batch-size) need less of it",
        exception=raised.kind,
        log=log,
        of_accelerator=True,
    )


def _what_is_full(text: str) -> tuple[str, str, str]:
    """Return kind, message and hint of words that say that no space is left."""
    found = _NO_SPACE_FOR.search(text)
    file = None if found is None else found[1] or found[2]
    full = None if file is not None else _full_folder()
    if _is_shared_memory(text, file, full):
        return (
            "shared_memory_full",
            f"shared memory is full ({shared_memory_words()}): no room for "
            f"{file or 'a batch'}",
            "fewer workers, a smaller prefetch_factor, or a larger /dev/shm",
        )
    where = "" if full is None else f": no room in {full}"
    where = where if file is None else f": no room for {file}"
    return (
        "disk_full",
        f"the dataset wrote, and no space is left on the device{where}",
        "free space there, or let it write elsewhere",
    )


def _is_shared_memory(text: str, file: str | None, full: Path | None) -> bool:
    """Whether it is shared memory that is full.

    A file says it by where it lies. One that cannot be grown is named by no path: it is
    looked what is full.

    Args:
        text: what is said.
        file: that no room is for; None: none is named.
        full: a folder to which nothing can be written; None: none is known.
    """
    if file is not None:
        return _lies_in_shared_memory(Path(file).absolute())
    if _SHARED_MEMORY.search(text):
        return True
    space = shm_space()
    if space is None:
        return full is None
    most = LEFT_BYTES if full is not None else FULL_SHARE * space.total_bytes
    return space.free_bytes <= most


def _lies_in_shared_memory(path: Path) -> bool:
    """Whether a file lies there, by its path or by the device that it would lie on."""
    if path.is_relative_to(SHARED_MEMORY):
        return True
    with suppress(OSError):  # one may not be looked into, or has too long a name
        folder = next((item for item in path.parents if item.exists()), None)
        return folder is not None and (
            folder.stat().st_dev == SHARED_MEMORY.stat().st_dev
        )
    return False


def _full_folder() -> Path | None:
    """Return where a dataset may have written to, if that is full."""
    with suppress(OSError):
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            if shutil.disk_usage(folder).free <= LEFT_BYTES:
                return folder
    return None


def shared_memory_words() -> str:
    """Return `/dev/shm`, with its size where the system tells."""
    space, name = shm_space(), "/dev/shm"  # noqa: S108  # shared memory's own place
    return name if space is None else f"{name}, {format_bytes(space.total_bytes)}"
