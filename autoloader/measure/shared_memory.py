"""Shared memory that a family of processes holds, file by file, each counted once.

A batch on its way from a worker lies in a file below `/dev/shm` that is held open, or
has PyTorch's name for it, and that nobody has mapped; once it is mapped, the pages that
nobody has touched are still in no process's set. So that all of it is seen, and nothing
of other programs, such files are counted by what is allocated for them. Files that keep
a name of their own (data that somebody has put there) are left to the sets of those
that read them. Parsers take text, readers the root of the file system; sets of whole
processes are `measure.proc`'s.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autoloader.measure.proc import numbers_in, read_kernel_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BLOCK_BYTES = 512
"""Unit of `st_blocks`, whatever the file system."""

SMALL_BYTES = 1 << 20
"""Mappings of shared memory that are smaller in all are semaphores: not looked into."""

_REMOVED = " (deleted)"
_HEADER = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) \S{4} [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)$",
    re.MULTILINE,
)
_MAKER = re.compile(r"torch_([0-9]+)_")


class FileKey(NamedTuple):
    """What names a file for all processes, a removed one too."""

    major: int
    minor: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMapping:
    """One mapping of shared memory by one process."""

    key: FileKey
    """The file that is mapped; shared memory without a name has one as well."""

    path: str
    """Its name, as the kernel tells it: ` (deleted)` follows where it was removed."""

    size_bytes: int
    """Addresses that it takes."""

    pss_bytes: int = 0
    """The part of it in the process's proportional set."""

    private_bytes: int = 0
    """The part that no other process has touched, and that was written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAccount:
    """Shared memory of several processes together."""

    allocated_bytes: int
    """Bytes of all files and nameless regions, each counted once."""

    unseen_bytes: int
    """The part of them that is in no process's proportional set."""

    pss_bytes: int
    """The part that is in their proportional sets."""

    private_bytes: dict[int, int] = field(default_factory=dict)
    """By process: the part that no other one has touched, and that was written to."""


def account(pids: Collection[int], root: Path) -> SharedAccount:
    """Return the shared memory that these processes hold.

    Args:
        pids: the family; what only others hold is not counted.
        root: root of the file system with `/proc` and `/dev/shm`.
    """
    family = frozenset(pids)
    allocated: dict[FileKey, int] = _named_files(family, root)
    seen: dict[FileKey, int] = {}
    private: dict[int, int] = {}
    for pid in sorted(family):
        allocated |= _held_files(pid, family, root)
        for mapping in shared_mappings(pid, root):
            if not _is_counted(mapping.path, family, root):
                continue
            found = seen.get(mapping.key, 0) + mapping.pss_bytes
            seen[mapping.key] = found
            private[pid] = private.get(pid, 0) + mapping.private_bytes
            if mapping.key not in allocated:
                allocated |= _still_named(mapping)
    # What nobody holds open and nothing names can only be told by the sets.
    sizes = {
        key: max(allocated.get(key, 0), seen.get(key, 0)) for key in allocated | seen
    }
    total, shown = sum(sizes.values()), sum(seen.values())
    return SharedAccount(
        allocated_bytes=total,
        unseen_bytes=total - shown,
        pss_bytes=shown,
        private_bytes=private,
    )


def shared_mappings(pid: int, root: Path) -> tuple[SharedMapping, ...]:
    """Return the mappings of shared memory of a process, with what is in its set.

    None of them where they are so small in all that they hold no batch: `smaps`, which
    takes the kernel some milliseconds, is read for the others only.
    """
    folder = root / "proc" / str(pid)
    found = parse_mappings(read_kernel_text(folder / "maps") or "", root)
    if sum(mapping.size_bytes for mapping in found) < SMALL_BYTES:
        return ()
    return parse_mappings(read_kernel_text(folder / "smaps") or "", root)


def parse_mappings(text: str, root: Path) -> tuple[SharedMapping, ...]:
    """Read the mappings of shared memory out of `maps`, or `smaps` with their sizes."""
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers), len(text)][1:]
    mappings = []
    for header, end in zip(headers, ends, strict=True):
        first, last, major, minor, inode, path = header.groups()
        if not _is_shared_memory(path, root):
            continue
        body = text[header.end() : end]
        mappings.append(
            SharedMapping(
                key=FileKey(int(major, 16), int(minor, 16), int(inode)),
                path=path,
                size_bytes=int(last, 16) - int(first, 16),
                pss_bytes=_sum_of(body, "Pss"),
                private_bytes=_sum_of(body, "Private_Dirty"),
            )
        )
    return tuple(mappings)


def _sum_of(text: str, name: str) -> int:
    found = re.findall(rf"^{name}: +(\d+) kB$", text, re.MULTILINE)
    return 1024 * sum(int(kib) for kib in found)


def _is_shared_memory(path: str, root: Path) -> bool:
    folder = f"{root / 'dev/shm'}/"
    return path.startswith((folder, "/memfd:", "/dev/zero", "/SYSV"))


def _is_counted(path: str, family: frozenset[int], root: Path) -> bool:
    """Whether it is on its way between processes, not data that lies there."""
    if not _is_shared_memory(path, root):
        return False
    if path.endswith(_REMOVED) or not path.startswith(f"{root / 'dev/shm'}/"):
        return True
    return _is_of_family(path.rpartition("/")[2], family)


def _is_of_family(name: str, family: frozenset[int]) -> bool:
    made = _MAKER.match(name)
    return made is not None and int(made[1]) in family


def _held_files(pid: int, family: frozenset[int], root: Path) -> dict[FileKey, int]:
    """Return the bytes of the files that a process holds open."""
    folder = root / "proc" / str(pid) / "fd"
    held: dict[FileKey, int] = {}
    for number in numbers_in(folder) or []:
        link = folder / str(number)
        try:
            if _is_counted(str(link.readlink()), family, root):
                held |= _allocated(link)
        except OSError:
            continue
    return held


def _named_files(family: frozenset[int], root: Path) -> dict[FileKey, int]:
    """Return the bytes of the files that carry the id of one of these processes."""
    named: dict[FileKey, int] = {}
    for path in _listed(root / "dev/shm"):
        if _is_of_family(path.name, family):
            named |= _allocated(path)
    return named


def _listed(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:
        return


def _still_named(mapping: SharedMapping) -> dict[FileKey, int]:
    """Return the bytes of a mapped file that has its name yet; nothing otherwise."""
    if mapping.path.endswith(_REMOVED):
        return {}
    found = _allocated(Path(mapping.path))
    return {key: size for key, size in found.items() if key == mapping.key}


def _allocated(path: Path) -> dict[FileKey, int]:
    try:
        info = path.stat()
    except OSError:
        return {}
    key = FileKey(os.major(info.st_dev), os.minor(info.st_dev), info.st_ino)
    return {key: info.st_blocks * BLOCK_BYTES}
