"""Watch where the examples come from while the reference reads them.

An audit hook sees what Python opens and connects to. Code in C (h5py, LMDB, pyarrow)
does not pass through it: what the process holds open, maps or is connected to is looked
at now and then. A file that C code opens and closes within one example (OpenCV) is not
seen by name; that bytes were read still is. The examples themselves are not looked at.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
import sysconfig
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from autoloader.child.cache import state_of_cache, whole_bytes, write_files
from autoloader.child.digest import walk
from autoloader.measure.cgroup import parse_counters
from autoloader.measure.descriptors import open_files
from autoloader.measure.load import FileBytes, file_bytes
from autoloader.measure.proc import children_of, read_kernel_text
from autoloader.measure.storage import (
    LEAST_READ_BYTES,
    file_systems_of,
    is_network,
    mapped_files,
    memory_bytes,
    mounts,
    network_connections,
)
from autoloader.values.scope import AccessFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from autoloader.values.job import ReferenceOrder
    from autoloader.values.scope import DatasetFacts, FieldFacts, Scope

MOST_FILES = 2_000_000
"""Most files that are listed: of about 200 bytes each in memory."""

LOOK_SHARE = 0.01
"""Part of the time that looking at open files may take."""

PLAIN = frozenset({"int", "float", "bool", "number", "complex", "none"})
"""Kinds of fields that are numbers, beside which bytes or text may lie undecoded."""

_CODE = re.compile(r"\.(py|pyc|pyi|pyd|so(\.\d+)*)$")

_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/lib/", "/lib64/", "/bin/",
           "/usr/lib/", "/usr/lib64/", "/usr/bin/", "/usr/share/")  # fmt: skip
"""Folders of the system, where no data set lies; shared memory may hold one."""

_SHARED_MEMORY = "/dev/shm/"  # noqa: S108  # shared memory's own place


@dataclass(slots=True)
class _Seen:
    """What the hook noted; it stays with the hook, which cannot be removed."""

    is_watching: bool = True
    is_reading: bool = False
    before: set[str] = field(default_factory=set)
    """Opened while the dataset was imported and built."""
    reading: set[str] = field(default_factory=set)
    """Opened while examples were read."""
    connections: int = 0
    """Opened while examples were read."""

    def note_file(self, path: Any, flags: int) -> None:
        """Note a file that is opened for reading; its path is kept as text: cheap."""
        known = self.reading if self.is_reading else self.before
        if flags & os.O_ACCMODE == os.O_WRONLY or len(known) >= MOST_FILES:
            return
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str):  # else a descriptor
            is_whole = path.startswith(os.sep)
            known.add(path if is_whole else os.path.join(os.getcwd(), path))  # noqa: PTH109, PTH118

    def note_connection(self, made: socket.socket, address: Any) -> None:
        """Note a connection that may leave the machine; Unix sockets do not."""
        is_inet = made.family in {socket.AF_INET, socket.AF_INET6}
        if self.is_reading and is_inet and made.type == socket.SOCK_STREAM:
            self.connections += bool(address)


def _hook_of(seen: _Seen) -> Callable[[str, tuple[Any, ...]], None]:
    """Return the audit hook: it costs little, and what it meets does not stop it."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            if seen.is_watching:
                try:  # noqa: SIM105  # suppress() costs more, at each open
                    seen.note_file(args[0], args[2])
                except Exception:  # noqa: BLE001, S110  # the user's code goes on
                    pass
        elif event == "socket.connect" and seen.is_watching:
            try:  # noqa: SIM105  # as above
                seen.note_connection(args[0], args[1])
            except Exception:  # noqa: BLE001, S110  # the user's code goes on
                pass

    return hook


class AccessWatch:
    """Notes files and connections from the import of the dataset on.

    Args:
        own: folders of ours, whose files are left out.
    """

    def __init__(self, own: Iterable[Path] = ()) -> None:
        self._left_out = (*_SYSTEM, *_python_folders(), *(f"{item}/" for item in own))
        self._seen = _Seen()
        self._ours: frozenset[str] = frozenset()
        self._held: set[str] = set()
        self._ours_connected: frozenset[str] = frozenset()
        self._connected: set[str] = set()
        self._next_look = 0.0
        self._before_all: FileBytes | None = None
        self._before_pass: FileBytes | None = None
        self._after: FileBytes | None = None
        self._looked_bytes = 0

    def __enter__(self) -> Self:
        pid = os.getpid()
        self._ours = frozenset((*open_files(pid), *mapped_files(pid)))
        self._ours_connected = network_connections(pid)
        sys.addaudithook(_hook_of(self._seen))
        return self

    def __exit__(self, *_exc: object) -> None:
        self._seen.is_watching = False

    def begin_reading(self) -> None:
        """Note that the dataset is built: what is opened from now on is in use."""
        self._seen.is_reading = True
        self._before_all = file_bytes(os.getpid())

    def begin_pass(self) -> None:
        """Note that all examples are read from now on, each once."""
        self._looked_bytes = 0
        with self._looking():
            self._before_pass = file_bytes(os.getpid())

    def look(self) -> None:
        """Look at what is held open, if the last time is long enough ago."""
        begun = time.perf_counter()
        if begun >= self._next_look:
            with self._looking():
                self._look()
            now = time.perf_counter()
            self._next_look = now + (now - begun) / LOOK_SHARE

    def end_pass(self) -> None:
        """Note that all examples were read."""
        self._after = file_bytes(os.getpid())
        self._look()

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Count what is read of `/proc` meanwhile: it is none of the dataset's."""
        before, _ = bytes_read()
        yield
        after, own = bytes_read()
        self._looked_bytes += after + own - before

    def _look(self) -> None:
        pid = os.getpid()
        if len(self._held) < MOST_FILES:
            self._held.update(open_files(pid))
            self._held.update(mapped_files(pid))
        self._connected |= network_connections(pid) - self._ours_connected

    def files(self) -> SeenFiles:
        """Return what was seen; each file is asked for its size."""
        in_use = self._regular((self._seen.reading | self._held) - self._ours)
        before = self._regular(self._seen.before - in_use.keys())
        listed = [*in_use, *before]
        return SeenFiles(
            in_use=tuple(in_use),
            in_use_bytes=sum(found.st_size for found in in_use.values()),
            devices={found.st_dev: path for path, found in in_use.items()},
            listed=tuple(listed[:MOST_FILES]),
            is_cut=len(listed) >= MOST_FILES,
        )

    def _regular(self, paths: Iterable[str]) -> dict[str, os.stat_result]:
        """Return the regular files among paths that may be data, by path."""
        found: dict[str, os.stat_result] = {}
        for path in paths:
            if not self._may_be_data(path):
                continue
            try:
                known = os.stat(path)  # noqa: PTH116  # a Path each would cost more
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(known.st_mode):
                found[path] = known
        return found

    def _may_be_data(self, path: str) -> bool:
        is_left_out = path.startswith(self._left_out)
        is_shared = path.startswith(_SHARED_MEMORY)
        return (is_shared or not is_left_out) and not _CODE.search(path)

    def facts(
        self, seen: SeenFiles, fields: Iterable[FieldFacts], examples: int
    ) -> AccessFacts:
        """Return where the examples come from.

        Args:
            seen: the files.
            fields: what examples are made of.
            examples: different ones that the pass read.
        """
        types = file_systems_of(seen.devices.values(), mounts())
        connections = max(self._seen.connections, len(self._connected))
        read = _grown(
            self._before_pass, self._after, "read", examples, self._looked_bytes
        )
        is_read = bool(seen.in_use) or connections > 0 or self._reads_unseen(read)
        source: Literal["memory", "local", "network"] = "local" if is_read else "memory"
        if connections or any(is_network(item) for item in types):
            source = "network"
        return AccessFacts(
            source=source,
            files=len(seen.in_use),
            file_systems=types,
            connections=connections,
            read_bytes_per_example=read,
            storage_bytes_per_example=_grown(
                self._before_all, self._after, "from_storage", examples
            ),
            decoding=decoding_of([item.type for item in fields], is_read=is_read),
        )

    def _reads_unseen(self, read: float | None) -> bool:
        """Whether bytes are read that came from no child: from files, then."""
        is_much = read is not None and read >= LEAST_READ_BYTES
        return is_much and not children_of(os.getpid())


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFiles:
    """Files that a watch saw."""

    in_use: tuple[str, ...]
    """Opened, held open or mapped while examples were read."""
    in_use_bytes: int
    """Their sizes together."""
    devices: dict[int, str]
    """One file of each device that they lie on."""
    listed: tuple[str, ...]
    """Those in use, then those that were read when the dataset was built."""
    is_cut: bool
    """Whether there were more than are listed."""

    def write(self, folder: Path) -> None:
        """Write the list, for a cold cache."""
        write_files(folder, self.listed, is_cut=self.is_cut)


def say_access(
    watch: AccessWatch,
    order: ReferenceOrder,
    facts: DatasetFacts,
    scope: Scope,
    collated: Callable[[], Any],
) -> tuple[DatasetFacts, Scope]:
    """List the files, and return facts and scope with access and cache in them.

    Args:
        watch: what was seen; all was read.
        order: where the list goes, and what is asked of the cache.
        facts: what examples are made of.
        scope: how many there are.
        collated: returns a batch of the user's own collate_fn; None without one.
    """
    seen = watch.files()
    seen.write(Path(order.folder))
    access = watch.facts(seen, facts.fields, scope.distinct)
    if access.decoding == "outside" and _is_decoded(collated):
        access = replace(access, decoding="inside")
    data_bytes = whole_bytes(
        access,
        sizes_bytes=seen.in_use_bytes,
        examples=scope.distinct,
        epoch_examples=scope.epoch_examples,
        is_stream=scope.stream is not None,
    )
    cache = state_of_cache(
        order.request.cache, data_bytes=data_bytes, memory_bytes=memory_bytes()
    )
    return replace(facts, access=access), replace(scope, cache=cache)


def _is_decoded(collated: Callable[[], Any]) -> bool:
    """Whether a batch holds tensors or arrays, and no bytes or text."""
    values: list[Any] = []
    with suppress(Exception):  # what is wrong with a batch, others say
        values = [value for _, value in walk(collated())]
    is_raw = any(isinstance(value, (bytes, bytearray, str)) for value in values)
    return not is_raw and any(hasattr(value, "shape") for value in values)


def decoding_of(
    types: Sequence[str], *, is_read: bool
) -> Literal["inside", "outside", "none_seen"]:
    """Return where what is stored becomes tensors.

    Args:
        types: of an example's fields.
        is_read: whether something was read at all.
    """
    if not is_read:
        return "none_seen"
    others = set(types) - PLAIN
    return "outside" if others and others <= {"bytes", "str"} else "inside"


def _python_folders() -> set[str]:
    """Return the folders of the interpreter and of installed packages.

    Not its whole prefix: a virtual environment may be the project's own folder.
    """
    found = set(sysconfig.get_paths().values())
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}:
        found |= {
            os.path.join(prefix, name)  # noqa: PTH118  # a prefix of texts
            for name in ("bin", "conda-meta", "etc", "include", "lib", "lib64", "share")
        }
    found -= {sys.prefix, os.sep}
    return {f"{folder.rstrip('/')}/" for folder in found}


def bytes_read() -> tuple[int, int]:
    """Return the bytes that this process has read so far, and those of asking.

    Both are 0 where the system does not tell.
    """
    text = read_kernel_text(Path("/proc/self/io")) or ""
    return parse_counters(text.replace(":", "")).get("rchar", 0), len(text)


def _grown(
    before: FileBytes | None,
    after: FileBytes | None,
    name: Literal["read", "from_storage"],
    examples: int,
    ours: int = 0,
) -> float | None:
    """Return by how much a counter grew for each example; None where it is not told.

    Args:
        before: counters at the beginning.
        after: counters at the end.
        name: which one.
        examples: that were read meanwhile.
        ours: bytes of it that this module read.
    """
    if before is None or after is None:
        return None
    grown: int = getattr(after, name) - getattr(before, name) - ours
    return max(0, grown) / max(1, examples)
