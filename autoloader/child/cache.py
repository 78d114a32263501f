"""Bring the page cache into the state that the scope asks for, before a timed pass.

The reference lists the files that it saw in use; here they are dropped from the cache.
What was seen is `child.access`', whether it worked is told by the readings.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.files import refusals_named
from autoloader.measure.storage import MEMORY_TYPES, file_system_of, mounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from autoloader.values.scope import AccessFacts, Cache

_NAME = "files.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CooledFiles:
    """What was dropped from the page cache."""

    files: int
    """Files that were dropped."""
    bytes: int
    """Their sizes together."""
    in_memory: int
    """Files that lie in memory, as those of a tmpfs do: they cannot be dropped."""
    skipped: int
    """Files that are gone, or cannot be opened."""


def write_files(folder: Path, paths: Sequence[str], *, is_cut: bool) -> None:
    """Write the files that were seen in use, for this user only.

    Args:
        folder: the reference's.
        paths: absolute.
        is_cut: whether there were more.

    Raises:
        StoredFileError: the disk refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with refusals_named(folder / _NAME):
        descriptor = os.open(folder / _NAME, flags, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"is_cut": is_cut, "paths": list(paths)}, file)


def read_files(folder: Path) -> tuple[str, ...]:
    """Return the files that the reference saw in use."""
    found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
    return tuple(found["paths"])


def cool(
    reference: Path, *, on_file: Callable[[], object] | None = None
) -> CooledFiles:
    """Drop the files that the reference saw in use from the page cache.

    Pages that a process has mapped stay, and so do those not written to storage yet:
    their writing begins, so that the next call drops them.

    Args:
        reference: folder that the reference wrote.
        on_file: called after each file, to say that there is progress.
    """
    memory_devices: dict[int, bool] = {}
    files = size = in_memory = skipped = 0
    mounted = mounts()
    for path in read_files(reference):
        found = _drop(path)
        if found is None:
            skipped += 1
        else:
            device = found.st_dev
            if device not in memory_devices:
                type_ = file_system_of(os.path.realpath(path), mounted)
                memory_devices[device] = type_ in MEMORY_TYPES
            in_memory += memory_devices[device]
            files += not memory_devices[device]
            size += 0 if memory_devices[device] else found.st_size
        if on_file is not None:
            on_file()
    return CooledFiles(files=files, bytes=size, in_memory=in_memory, skipped=skipped)


def _drop(path: str) -> os.stat_result | None:
    """Drop one file; return its facts, or None where that cannot be done."""
    advise = getattr(os, "posix_fadvise", None)  # macOS and Windows have none
    if advise is None:
        return None
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # waits for no pipe
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode):
                advise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                return found
        finally:
            os.close(descriptor)
    return None


def whole_bytes(
    access: AccessFacts,
    *,
    sizes_bytes: int,
    examples: int,
    epoch_examples: int | None,
    is_stream: bool,
) -> int:
    """Return how much data of files an epoch reads, as far as the scope tells.

    Args:
        access: what was seen.
        sizes_bytes: sizes of the files that were seen, together.
        examples: different examples that were read.
        epoch_examples: of the user's real epoch; None: not known, no more than these.
        is_stream: whether files are read one after the other, to their end.

    Returns:
        Bytes: of a file for each example the sizes, scaled to the epoch; of a stream
        what read calls return in an epoch; of a few files, which hold many examples,
        the sizes as they stand; 0 where no file was seen: there is nothing to drop.
    """
    epoch = max(examples, epoch_examples or 0)
    if not access.files:
        return 0
    if is_stream:
        return max(int((access.read_bytes_per_example or 0.0) * epoch), sizes_bytes)
    if access.files >= examples:
        return sizes_bytes * epoch // max(1, examples)
    return sizes_bytes


def state_of_cache(
    asked: Cache | None, *, data_bytes: int, memory_bytes: int | None
) -> Cache:
    """Return the state that timed passes begin with: warm, unless it cannot be so.

    Args:
        asked: what the user says; None: nothing.
        data_bytes: what an epoch reads.
        memory_bytes: what the page cache may have; None: not known.
    """
    if asked is not None:
        return asked
    is_larger = memory_bytes is not None and data_bytes > memory_bytes
    return "cold" if is_larger else "warm"
