"""Be one of several ranks: PyTorch's process group, and where all of them wait.

While a dataset is built there is a group that answers who one is and talks to nobody,
so that the host stays safe to fork. Each pass joins a group of its own (gloo, on the
loopback), as a training script would: its workers are forked from a process that has
one.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import distributed

from autoloader.child.stages import Stage
from autoloader.errors import UsageError
from autoloader.values.ranks import RankPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.child.stages import StageBoard

INTERFACE = "GLOO_SOCKET_IFNAME"
"""Variable by which gloo is told its network device."""

LOOPBACK_DEVICE = "lo"

LOOK_AFTER_S = 0.02
"""Time between two looks whether all are there."""

LATE_S = 0.0005
"""Time between two looks whether the barrier is open: ranks start no further apart."""

TOLD_AFTER_S = 0.1
"""Time after which a rank that waits says that it is alive."""

TIMEOUT = timedelta(hours=24)
"""Of the group. Who waits is not who hangs: the parent looks after each rank."""


class RankLost(Exception):  # another rank is at fault
    """Another rank ended while this one waited for it."""


def stand_for_rank() -> None:
    """Make a group that answers which rank this is; nothing where it is none.

    Raises:
        UsageError: this PyTorch has no process groups.
    """
    place = RankPlace.of(os.environ)
    if place is None:
        return
    if not distributed.is_available():
        msg = "this PyTorch was built without torch.distributed, which --ranks needs"
        raise UsageError(msg, hint="without --ranks one training process is measured")
    os.environ.setdefault(INTERFACE, LOOPBACK_DEVICE)
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group(
        "fake", store=FakeStore(), rank=place.rank, world_size=place.ranks
    )


class Meeting:
    """Where the ranks of a pass meet.

    Args:
        folder: of this pass, the same for all ranks; None: a rank is alone.
        board: told that this one waits.
        place: which rank it is; None: as the environment says.
    """

    def __init__(
        self, folder: str | None, board: StageBoard, place: RankPlace | None = None
    ) -> None:
        found = place or RankPlace.of(os.environ)
        self._place = None if folder is None else found
        self._folder = Path(folder or ".")
        self._board = board

    def join(self) -> None:
        """Wait until all ranks are there, and make a group of them.

        Raises:
            RankLost: another one ended meanwhile.
        """
        place = self._place
        if place is None:
            return
        self._board.enter(Stage.MEETING)
        (self._folder / f"here-{place.rank}").touch()
        self._until(self._are_all_here, LOOK_AFTER_S)
        from torch.distributed import FileStore  # type: ignore[attr-defined]

        if distributed.is_initialized():
            distributed.destroy_process_group()
        store: Any = FileStore(str(self._folder / "store"), place.ranks)
        distributed.init_process_group(
            "gloo",
            store=store,
            rank=place.rank,
            world_size=place.ranks,
            timeout=TIMEOUT,
        )
        self.wait()

    def wait(self) -> None:
        """Return when every rank is here: all of them leave at the same moment.

        Raises:
            RankLost: another one ended meanwhile.
        """
        if self._place is None:
            return
        self._board.enter(Stage.MEETING)
        try:
            work: Any = distributed.barrier(async_op=True)
            self._until(work.is_completed, LATE_S)
            work.wait()
        except RuntimeError as exc:  # gloo: the other end is closed
            msg = f"another rank ended while this one waited for it: {exc}"
            raise RankLost(msg) from exc

    def _are_all_here(self) -> bool:
        place = self._place
        ranks = 0 if place is None else place.ranks
        return all((self._folder / f"here-{rank}").exists() for rank in range(ranks))

    def _until(self, is_so: Callable[[], bool], pause_s: float) -> None:
        """Wait, and say every now and then that this is no hang."""
        told_s = time.monotonic()
        while not is_so():
            time.sleep(pause_s)
            if time.monotonic() - told_s > TOLD_AFTER_S:
                self._board.advance()
                told_s = time.monotonic()
