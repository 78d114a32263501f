"""Name what a forked worker inherits and cannot safely use: the usual suspects.

Looked at in the training process before its workers start. None of it is a fault by
itself; it is told beside a fault: when something hangs, dies or differs.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.measure.descriptors import connected_sockets, open_files
from autoloader.measure.proc import read_kernel_text, thread_count
from autoloader.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 8
"""Suspects that are named."""

DEPTH = 3
"""Levels of attributes and containers below the dataset that are looked at."""

MOST_ITEMS = 64
"""Attributes or items of one object that are looked at."""

HANDLE_MODULES = frozenset(
    {
        "av", "decord", "fsspec", "h5py", "imageio", "lmdb", "netCDF4", "pysam",
        "rasterio", "sqlite3", "tables", "tarfile", "zarr", "zipfile", "socket",
        "psycopg", "pymongo", "redis", "grpc", "boto3", "botocore", "requests",
        "aiohttp", "s3fs", "gcsfs",
    }
)  # fmt: skip
"""Libraries whose objects hold a file, a connection or a position in one."""

POOL_MODULES = frozenset({"concurrent", "multiprocessing", "threading", "joblib"})
"""Modules whose executors and pools have threads or processes of their own."""

POOLED = {
    "polars": "its thread pool does not survive a fork",
    "tokenizers": "its thread pool does not survive a fork; "
    "TOKENIZERS_PARALLELISM=false",
    "cv2": "its threads do not survive a fork; cv2.setNumThreads(0)",
    "grpc": "its threads do not survive a fork",
    "tensorflow": "its thread pools do not survive a fork",
    "jax": "its thread pools do not survive a fork",
}
"""Libraries with threads of their own, that may be in use without being seen."""


def find_suspects(
    dataset: Any, *, own: tuple[str, ...], usual_threads: int = 1
) -> list[str]:
    """Return in words what workers that are forked now would inherit.

    Args:
        dataset: the user's.
        own: beginnings of paths that are ours.
        usual_threads: threads that imports alone make.
    """
    found = dict.fromkeys(_of_attributes(dataset))
    found.update(dict.fromkeys(_of_process(own)))
    found.update(dict.fromkeys(_of_threads(usual_threads)))
    found.update(
        (f"{name} is imported ({why})", None)
        for name, why in POOLED.items()
        if name in sys.modules
    )
    return list(found)[:MOST]


def _of_process(own: tuple[str, ...]) -> Iterator[str]:
    pid = os.getpid()
    for name in dict.fromkeys(open_files(pid)):
        if not name.startswith(own):
            yield f"the open file {Path(name).name}"
    sockets = connected_sockets(pid)
    if sockets:
        yield counted(sockets, "open connection")


def _of_threads(usual: int) -> Iterator[str]:
    pid = os.getpid()
    names = [
        thread.name
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    ]
    for name in names:
        yield f"the thread {name}"
    native = list(_native_threads(pid))
    for name in dict.fromkeys(native):
        if name not in names:
            yield f"a thread called {name}"
    unnamed = (thread_count(pid) or 1) - max(usual, 1) - max(len(names), len(native))
    if unnamed > 0:
        yield f"{counted(unnamed, 'more thread')}, of a pool perhaps"


def _native_threads(pid: int) -> Iterator[str]:
    """Yield names of the process's other threads, as the kernel has them."""
    folder = Path(f"/proc/{pid}/task")
    if not folder.is_dir():
        return
    main = read_kernel_text(folder / str(pid) / "comm")
    for entry in folder.iterdir():
        name = read_kernel_text(entry / "comm")
        if entry.name != str(pid) and name is not None and name != main:
            yield name.strip()


def _of_attributes(dataset: Any) -> Iterator[str]:
    """Yield handles, pools and held locks that the dataset has, with their paths."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any, int]] = [("dataset", dataset, 0)]
    while waiting:
        name, value, depth = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = type(value)
        top = kind.__module__.partition(".")[0]
        if depth and _is_lock(value):
            if _is_held(value):
                yield f"{name} (a lock that is held)"
            continue
        is_pool = top in POOL_MODULES and kind.__name__.endswith(("Executor", "Pool"))
        is_handle = top in HANDLE_MODULES and hasattr(value, "close")
        if depth and (is_pool or is_handle):
            yield f"{name} ({top} {kind.__name__})"
            continue
        if depth < DEPTH:
            waiting += [
                (f"{name}{step}", item, depth + 1) for step, item in _parts(value)
            ]


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return attributes or items of a value, with what leads to them."""
    if isinstance(value, dict):
        items = [(f"[{_key(key)}]", item) for key, item in _first(value.items())]
    elif isinstance(value, (list, tuple)):
        items = [(f"[{place}]", item) for place, item in _first(enumerate(value))]
    else:
        held = getattr(value, "__dict__", None)
        held = held if isinstance(held, dict) else {}
        items = [(f".{key}", item) for key, item in _first(held.items())]
    plain = (str, bytes, int, float, bool, type(None))
    return [(step, item) for step, item in items if not isinstance(item, plain)]


def _key(key: Any) -> str:
    """Return a key as it is written; dots where it may be content of the data."""
    is_name = isinstance(key, str) and key.isidentifier() and len(key) <= 32
    return repr(key) if is_name or isinstance(key, int) else "..."


def _first(items: Any) -> list[Any]:
    return [item for item, _ in zip(items, range(MOST_ITEMS), strict=False)]


def _is_lock(value: Any) -> bool:
    return isinstance(value, (type(threading.Lock()), type(threading.RLock())))


def _is_held(lock: Any) -> bool:
    """Whether a lock is held, by asking for it without waiting."""
    locked = getattr(lock, "locked", None)
    if callable(locked):
        return bool(locked())
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True
