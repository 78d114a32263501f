"""What Linux tells about the open files and sockets of a process in `/proc`.

Parsers take text, readers take the root of the file system and return None where the
kernel does not tell. Memory, CPU and family of processes are `measure.proc`'s.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autoloader.measure.proc import numbers_in, read_kernel_text

_FIRST_OWN_DESCRIPTOR = 3
_ACCESS_MODE = 0o3
_TCP_ESTABLISHED = "01"
_UNIX_CONNECTED = "03"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffset:
    """Where the next read of an open file begins."""

    position_bytes: int
    """The offset from the file's beginning, in bytes."""

    path: str
    """The file, as the kernel names it: `(deleted)` follows a removed one."""


def readable_offsets(pid: int, root: Path = Path("/")) -> dict[int, FileOffset] | None:
    """Return the offsets of the regular files that a process holds open for reading.

    Standard input and outputs are left out, and so are files opened for writing only
    or for appending, as logs are.

    Returns:
        The offsets by descriptor; None where the descriptors cannot be listed.
    """
    links = _descriptors(pid, root)
    if links is None:
        return None
    offsets: dict[int, FileOffset] = {}
    for descriptor, link in links.items():
        if descriptor < _FIRST_OWN_DESCRIPTOR or not _is_regular_file(link):
            continue
        info_path = link.parent.parent / "fdinfo" / link.name
        info = parse_descriptor_info(read_kernel_text(info_path) or "")
        target = _target(link)
        if info is None or target is None or not _reads_at_offset(info[1]):
            continue
        offsets[descriptor] = FileOffset(position_bytes=info[0], path=target)
    return offsets


def parse_descriptor_info(text: str) -> tuple[int, int] | None:
    """Read `/proc/<pid>/fdinfo/<n>`.

    Returns:
        The position in bytes and the flags of open(2); None for other texts.
    """
    position = re.search(r"^pos:\s*(\d+)$", text, re.MULTILINE)
    flags = re.search(r"^flags:\s*([0-7]+)$", text, re.MULTILINE)
    if position is None or flags is None:
        return None
    return int(position[1]), int(flags[1], 8)


def connected_sockets(pid: int, root: Path = Path("/")) -> int | None:
    """Return how many connected TCP and Unix sockets a process holds.

    Returns:
        Sockets, however many descriptors each has; None where they cannot be listed.
    """
    links = _descriptors(pid, root)
    if links is None:
        return None
    targets = [_target(link) or "" for link in links.values()]
    held = {target[8:-1] for target in targets if target.startswith("socket:[")}
    net = root / "proc" / str(pid) / "net"
    connected = parse_unix_sockets(read_kernel_text(net / "unix") or "")
    for name in ("tcp", "tcp6"):
        connected |= parse_tcp_sockets(read_kernel_text(net / name) or "")
    return len(held & connected)


def parse_tcp_sockets(text: str) -> frozenset[str]:
    """Return the inodes of the established connections in `net/tcp` or `net/tcp6`."""
    rows = (line.split() for line in text.splitlines()[1:])
    return frozenset(
        row[9] for row in rows if len(row) > 9 and row[3] == _TCP_ESTABLISHED
    )


def parse_unix_sockets(text: str) -> frozenset[str]:
    """Return the inodes of the connected sockets in `net/unix`."""
    rows = (line.split() for line in text.splitlines()[1:])
    return frozenset(
        row[6] for row in rows if len(row) > 6 and row[5] == _UNIX_CONNECTED
    )


def descriptors_beyond_files(pid: int, root: Path = Path("/")) -> int | None:
    """Return how many descriptors a process has, each regular file counted once.

    Files that are opened when they are first read make the number of descriptors grow
    to the number of files, and no further; one that is opened again and never closed
    makes this number grow without an end.

    Returns:
        Descriptors; None where they cannot be listed.
    """
    links = _descriptors(pid, root)
    if links is None:
        return None
    files = [_target(link) for link in links.values() if _is_regular_file(link)]
    return len(links) - len({name for name in files if not _is_passing(name)})


def _is_passing(name: str | None) -> bool:
    """Whether a file is no lasting one: removed, or a tensor in shared memory."""
    shared = "/dev/shm/"  # noqa: S108  # shared memory's own place
    return name is None or name.endswith(" (deleted)") or name.startswith(shared)


def open_files(pid: int, root: Path = Path("/")) -> Iterator[str]:
    """Yield the paths of regular files that a process holds open for reading."""
    for offset in (readable_offsets(pid, root) or {}).values():
        yield offset.path


def _descriptors(pid: int, root: Path) -> dict[int, Path] | None:
    folder = root / "proc" / str(pid) / "fd"
    numbers = numbers_in(folder)
    if numbers is None:
        return None
    return {number: folder / str(number) for number in numbers}


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except OSError:
        return None


def _is_regular_file(link: Path) -> bool:
    try:
        return stat.S_ISREG(link.stat().st_mode)
    except OSError:
        return False


def _reads_at_offset(flags: int) -> bool:
    return flags & _ACCESS_MODE != os.O_WRONLY and not flags & os.O_APPEND
