"""Tell an example that is edited in place from one that is drawn at random.

Both differ when they are read again. In forks of a process that has read nothing yet,
with the same seed before each reading: an edit in place shows in the second reading of
an example, and not in the first one, whatever else was read before it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from autoloader.child.device import kind_in_use
from autoloader.child.digest import combine, leaves
from autoloader.child.seeding import seed_all
from autoloader.measure.descriptors import connected_sockets
from autoloader.measure.proc import process_stat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROBED = 8
"""Examples that are looked at: a random flip in place edits every second one."""

SLOW_S = 10.0
"""Time after which a fork begins no further reading: a slow dataset is not asked."""

PATIENCE_S = 60.0
"""Time after which a fork is ended, as it hangs. A slow one is never ended: it may be
writing a cache."""

IDLE_S = 6.0
"""Time without any CPU time after which a fork is ended: it waits for what a fork left
behind, a lock or a thread. One that writes or decodes takes some."""

LOOK_S = 0.5
"""Time between two looks at a fork."""


def edited_in_place(dataset: Any, indices: Sequence[Any], seed: int) -> Any | None:
    """Return the index of an example that reading changes; None where none was found.

    Args:
        dataset: that nothing was read of in this process.
        indices: of a few examples.
        seed: of the first one; the others follow.
    """
    if len(indices) < 2 or not _may_fork():
        return None
    probed = list(indices)[:PROBED]
    deadline = time.monotonic() + 2 * SLOW_S

    def read(index: Any, seed: int) -> int:
        if time.monotonic() > deadline:
            raise TimeoutError
        seed_all(seed)
        return combine(leaves(dataset[index]))

    def once() -> list[int]:
        return [read(index, seed + at) for at, index in enumerate(probed)]

    def twice() -> list[int]:
        read(indices[-1], seed)  # another one: what draws anew has moved on
        others = [index for index in probed if index != indices[-1]]
        seeds = {index: seed + at for at, index in enumerate(probed) if index in others}
        first = {index: read(index, seeds[index]) for index in others}
        again = {index: read(index, seeds[index]) for index in others}
        return [
            value
            for index in probed
            for value in (first.get(index, 0), again.get(index, 0))
        ]

    fresh = _in_fork(once)
    pairs = None if fresh is None else _in_fork(twice)
    if fresh is None or pairs is None:
        return None
    for at, index in enumerate(probed):
        first, again = pairs[2 * at], pairs[2 * at + 1]
        if first == fresh[at] and again != first:
            return index
    return None


def _may_fork() -> bool:
    """Whether a fork may read: no threads, no connections, no accelerator in use."""
    return (
        hasattr(os, "fork")
        and threading.active_count() == 1
        and kind_in_use() is None
        and connected_sockets(os.getpid()) == 0
    )


def _in_fork(work: Callable[[], list[int]]) -> list[int] | None:
    """Return what a fork of this process worked out; None where it fails or is slow."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        return _answer(reading, pid)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _answer(reading: int, pid: int) -> list[int] | None:
    """Return the numbers that a fork wrote, once it has closed its end.

    None where it hangs.
    """
    waiting = select.poll()  # select() knows no descriptor above 1,023
    waiting.register(reading, select.POLLIN)
    begun = time.monotonic()
    data, used, since = b"", -1.0, begun
    while (now := time.monotonic()) - begun < PATIENCE_S:
        if waiting.poll(1000 * min(LOOK_S, PATIENCE_S)):
            part = os.read(reading, 65536)
            if not part:
                break
            data += part
            continue
        stat = process_stat(pid)
        spent = 0.0 if stat is None else stat.user_s + stat.system_s
        if stat is None or spent != used:
            used, since = spent, now
        elif now - since > IDLE_S:
            return None
    else:
        return None
    return list(json.loads(data)) if data else None
