"""Find the files that processes are writing: what is half written if they end now.

Reads `/proc`, and decides nothing. Offsets of files that are read are
`measure.descriptors`'.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.measure.descriptors import parse_descriptor_info
from autoloader.measure.proc import numbers_in, read_kernel_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ACCESS_MODE = 0o3
_NEVER = ("/dev/", "/proc/", "/sys/", "/memfd:")
_DELETED = " (deleted)"
_SHARED_WRITABLE = re.compile(r"^\S+ .w.s \S+ \S+ \S+ +(/.+)$", re.MULTILINE)


def open_for_writing(
    pids: Iterable[int], *, own: Sequence[str] = (), root: Path = Path("/")
) -> tuple[str, ...]:
    """Return the regular files that processes hold open for writing, or have mapped so.

    Args:
        pids: the processes; one that is gone, or is not ours to read, has none.
        own: folders whose files are left out: those of the study and its TMPDIR.
        root: of the file system that `/proc` is read from.

    Returns:
        Their paths, each once, in the order of the alphabet; removed ones are left out.
    """
    found = {path for pid in pids for path in _written_by(pid, root)}
    folders = tuple(f"{folder.rstrip('/')}/" for folder in own)
    return tuple(sorted(path for path in found if not path.startswith(folders)))


def parse_shared_mappings(text: str) -> tuple[str, ...]:
    """Return the files of `/proc/<pid>/maps` that writes to memory go to."""
    return tuple(dict.fromkeys(_SHARED_WRITABLE.findall(text)))


def _written_by(pid: int, root: Path) -> Iterator[str]:
    folder = root / "proc" / str(pid)
    for number in numbers_in(folder / "fd") or ():
        link = folder / "fd" / str(number)
        info = parse_descriptor_info(
            read_kernel_text(folder / "fdinfo" / str(number)) or ""
        )
        if info is None or info[1] & _ACCESS_MODE == os.O_RDONLY:
            continue
        try:
            target, is_file = str(link.readlink()), stat.S_ISREG(link.stat().st_mode)
        except OSError:
            continue
        if is_file and _is_lasting(target):
            yield target
    for target in parse_shared_mappings(read_kernel_text(folder / "maps") or ""):
        if _is_lasting(target):
            yield target


def _is_lasting(path: str) -> bool:
    """Whether a path is a file that outlives the process."""
    return not path.startswith(_NEVER) and not path.endswith(_DELETED)
