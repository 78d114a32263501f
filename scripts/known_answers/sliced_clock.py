"""A clock that stands still while its process is stopped. Nothing of the package here.

`install` replaces `time.perf_counter` of this process and of what it forks by one that
leaves out the seconds which `slices.py` has kept the processes of its side stopped.
Without the environment that names the side nothing is replaced.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

CLOCK, SIDE = "SLICED_CLOCK", "SLICED_SIDE"
"""Environment variables: a file of one float64 (seconds) a side, and which is ours."""

SIDES = 2
BYTES = 8


def install() -> None:
    """Leave stopped seconds out of `time.perf_counter`, where a side is named."""
    path = os.environ.get(CLOCK)
    if path is None:
        return
    place = int(os.environ[SIDE])
    with Path(path).open("rb") as file:
        held = mmap.mmap(file.fileno(), SIDES * BYTES, access=mmap.ACCESS_READ)
    stopped_s = memoryview(held).cast("d")
    real = time.perf_counter

    def clock() -> float:
        while True:
            before = stopped_s[place]
            now = real()
            if stopped_s[place] == before:  # else stopped between the two readings
                return now - before

    time.perf_counter = clock
