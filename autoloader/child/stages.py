"""Where a child stands, told through shared memory instead of messages.

Three 64-bit counters in a mapped file: the stage, units (batches or examples) done in
it, and how often a stage was begun: two epochs stand at the same batch, and whoever
looks five times a second sees nothing in between. The child writes without a system
call; the parent reads whenever it likes. This is all that a timed pass tells while it
runs.
"""

import mmap
import struct
from enum import IntEnum
from pathlib import Path

_LAYOUT = struct.Struct("=QQQ")


class Stage(IntEnum):
    """Stages a child goes through; a hang is reported with the last one."""

    STARTING = 0
    IMPORTING = 1
    BUILDING = 2
    READING = 3
    READING_AGAIN = 4
    WRITING = 5
    STARTING_WORKERS = 6
    LOADING = 7
    FILLING_QUEUE = 8
    WEIGHING = 9
    SHUTTING_DOWN = 10
    WAITING = 11
    COLLATING = 12
    COOLING = 13
    ACCESSING = 14
    TRANSFORMING = 15
    HANDING_OVER = 16
    PINNING = 17
    TRANSFERRING = 18
    STEPPING = 19
    MEETING = 20

    @property
    def words(self) -> str:
        """Return the stage as people read it."""
        return self.name.lower().replace("_", " ")


class StageBoard:
    """A mapped file with the current stage and its count of units."""

    def __init__(self, path: Path) -> None:
        """Open the board; the parent makes it with `create` first."""
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size)
        self._stage = Stage.STARTING
        self._done = 0
        self._turn = 0

    @classmethod
    def create(cls, path: Path) -> "StageBoard":
        """Make a fresh board at `path` and open it."""
        path.write_bytes(bytes(_LAYOUT.size))
        return cls(path)

    def enter(self, stage: Stage) -> None:
        """Note that a stage begins."""
        self.stand(stage, 0)

    def stand(self, stage: Stage, place: int) -> None:
        """Note which unit a stage begins to work on, before it does."""
        self._stage, self._done = stage, place
        self._turn += 1
        _LAYOUT.pack_into(self._map, 0, stage, place, self._turn)

    def advance(self) -> None:
        """Note that one more unit of the stage is done."""
        self._done += 1
        _LAYOUT.pack_into(self._map, 0, self._stage, self._done, self._turn)

    def counter(self) -> memoryview:
        """Return the counter of the stage's units, for a loop that calls nothing.

        It has one element, to be set to the units done; to be released before `close`.
        """
        return memoryview(self._map).cast("Q")[1:2]

    def read(self) -> tuple[Stage, int]:
        """Return the stage and how many of its units are done."""
        stage, done, _ = _LAYOUT.unpack_from(self._map, 0)
        return Stage(stage), done

    def turn(self) -> int:
        """Return how often a stage was begun, or a unit of it was named."""
        found: int = _LAYOUT.unpack_from(self._map, 0)[2]
        return found

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()
