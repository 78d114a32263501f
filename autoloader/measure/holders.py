"""Who this process is among all of a fleet, and whether another one still runs.

Says "dead" only of a process that it would see: of this boot of this machine, in the
same container. Of others only a lease tells (`search.leases`).
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from autoloader.measure.proc import process_stat, read_kernel_text
from autoloader.values.fleet import Holder


def this_process(root: Path = Path("/")) -> Holder:
    """Return who this process is."""
    pid = os.getpid()
    found = process_stat(pid, root)
    boot = read_kernel_text(root / "proc/sys/kernel/random/boot_id")
    return Holder(
        host=socket.gethostname(),
        boot=(boot or "").strip(),
        namespace=_namespace(root),
        pid=pid,
        start_ticks=0 if found is None else found.start_ticks,
    )


def is_seen_dead(holder: Holder, here: Holder, root: Path = Path("/")) -> bool:
    """Whether a process of this very machine does not run any more.

    False where it runs, and where nobody here could see it.

    Args:
        holder: who may be dead.
        here: this process.
        root: of the file system.
    """
    is_told = bool(here.boot and here.namespace)
    if not is_told or (holder.boot, holder.namespace) != (here.boot, here.namespace):
        return False
    found = process_stat(holder.pid, root)
    return (
        found is None or found.state == "Z" or found.start_ticks != holder.start_ticks
    )


def _namespace(root: Path) -> str:
    try:
        return str((root / "proc/self/ns/pid").readlink())
    except OSError:
        return ""
