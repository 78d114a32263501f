"""Where files lie, which ones a process maps, and how much memory can cache them.

Parsers take text, readers take the root of the file system. Whatever is absent reads as
none. What a process holds open is `measure.descriptors`'.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autoloader.measure.cgroup import memory_limit
from autoloader.measure.descriptors import parse_tcp_sockets
from autoloader.measure.machine import parse_meminfo
from autoloader.measure.proc import numbers_in, read_kernel_text

NETWORK_TYPES = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse", "glusterfs", "gpfs",
        "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "smbfs",
        "wekafs",
    }
)  # fmt: skip
"""Types of file systems whose files lie on other machines."""

LOCAL_FUSE_TYPES = frozenset(
    {
        "fuse.bindfs", "fuse.encfs", "fuse.fuse-overlayfs", "fuse.gocryptfs",
        "fuse.lxcfs", "fuse.mergerfs", "fuse.squashfuse", "fuse.squashfuse_ll",
    }
)  # fmt: skip
"""File systems in user space whose files lie on this machine; those of all others
(s3fs, gcsfuse, sshfs, rclone, ...) are taken for remote."""

MEMORY_TYPES = frozenset({"devtmpfs", "hugetlbfs", "ramfs", "tmpfs"})
"""Types of file systems that live in memory: there is nothing to drop from a cache."""

LEAST_READ_BYTES = 16.0
"""Mean bytes an example from which on something is read, seen by name or not: what
reading counters costs is far below. Below it, files are mapped, or there are none."""

_LIBRARY = re.compile(r"\.so(\.\d+)*$")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system."""

    point: str
    """Folder that it is mounted on, without a slash at the end."""
    type: str
    """Such as `ext4`, `nfs4`, `fuse.sshfs`."""


def mounts(root: Path = Path("/")) -> tuple[Mount, ...]:
    """Return what is mounted for this process, in the order of mounting."""
    return parse_mounts(read_kernel_text(root / "proc/self/mountinfo") or "")


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Read all file systems out of `/proc/self/mountinfo`."""
    found: list[Mount] = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if separator and len(place) >= 5:
            found.append(Mount(_unescaped(place[4]).rstrip("/"), kind[0]))
    return tuple(found)


def file_system_of(path: str, mounted: Iterable[Mount]) -> str | None:
    """Return the type of the file system that a file lies on.

    Args:
        path: absolute, its links resolved.
        mounted: in the order of mounting: a later one hides an earlier one.

    Returns:
        The type of the longest mount point above it; None where nothing is known.
    """
    best: Mount | None = None
    for mount in mounted:
        is_above = path == mount.point or path.startswith(f"{mount.point}/")
        if is_above and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return None if best is None else best.type


def file_systems_of(paths: Iterable[str], mounted: Iterable[Mount]) -> tuple[str, ...]:
    """Return the types of the file systems that files lie on, each once, sorted."""
    known = tuple(mounted)
    found = {file_system_of(os.path.realpath(path), known) for path in paths}
    return tuple(sorted(item for item in found if item is not None))


def is_network(type_: str) -> bool:
    """Whether files of such a file system lie on other machines."""
    if type_.startswith("fuse."):
        return type_ not in LOCAL_FUSE_TYPES
    return type_ in NETWORK_TYPES


def mapped_files(pid: int, root: Path = Path("/")) -> tuple[str, ...]:
    """Return the files that a process maps, programs and libraries left out."""
    return parse_maps(read_kernel_text(root / "proc" / str(pid) / "maps") or "")


def parse_maps(text: str) -> tuple[str, ...]:
    """Read the files that are data out of `/proc/<pid>/maps`, each once."""
    data: dict[str, None] = {}
    code: set[str] = set()
    for line in text.splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) < 6 or not parts[5].startswith("/"):
            continue
        path = _unescaped(parts[5])
        if path.endswith(" (deleted)") or _LIBRARY.search(path):
            continue
        data[path] = None
        if "x" in parts[1]:
            code.add(path)
    return tuple(path for path in data if path not in code)


def network_connections(pid: int, root: Path = Path("/")) -> frozenset[str]:
    """Return the established TCP connections that a process holds, by inode."""
    process = root / "proc" / str(pid)
    held: set[str] = set()
    for number in numbers_in(process / "fd") or ():
        try:
            target = str((process / "fd" / str(number)).readlink())
        except OSError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            held.add(target[8:-1])
    if not held:
        return frozenset()
    connected: frozenset[str] = frozenset()
    for name in ("tcp", "tcp6"):
        connected |= parse_tcp_sockets(read_kernel_text(process / "net" / name) or "")
    return connected & held


def memory_bytes(root: Path = Path("/")) -> int | None:
    """Return the memory that programs and page cache share; None where not told."""
    told = parse_meminfo(read_kernel_text(root / "proc/meminfo") or "")
    limits = [memory_limit(root), None if told is None else told[0]]
    return min((item for item in limits if item is not None), default=None)


def _unescaped(path: str) -> str:
    r"""Return a path of the kernel's tables with `\040` and its like turned back."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)
