"""Send batches that are ready: to a worker and back, to pinned memory, to a device.

The examples are not read again: what a batch costs on its way is told apart from what
making it costs.
"""

from __future__ import annotations

import copy
import pickle
import time
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from torch.utils.data import DataLoader, Dataset

from autoloader.child.device import Device, device_kind, moved
from autoloader.child.stages import Stage
from autoloader.values.diagnosis import BatchCost
from autoloader.values.scope import UNPINNED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.child.stages import StageBoard

SENT = 24
"""Batches that are sent at most."""

LONGEST_S = 3.0
"""Seconds after which no more are sent."""

STARTING = 2
"""Batches that are left out: the worker starts, and the first ones fill its queue."""


class Ready(Dataset[Any]):
    """Hands out copies of batches that are there already.

    Copies, since a tensor that was sent once lies in shared memory ever after, and
    costs nothing the second time.
    """

    def __init__(self, batches: Sequence[Any]) -> None:
        self._batches = batches

    def __len__(self) -> int:
        """Return how many are handed out."""
        return SENT + STARTING

    def __getitem__(self, place: int) -> Any:
        """Return a copy of one of the batches, in turns."""
        return copy.deepcopy(self._batches[place % len(self._batches)])


def as_it_is(batch: Any) -> Any:
    """Return the batch: it is collated already."""
    return batch


def hand_over(
    batches: Sequence[tuple[Any, int]], board: StageBoard, start_method: str | None
) -> tuple[BatchCost, ...]:
    """Send batches from a worker to this process, one after the other.

    The seconds hold a copy within the worker, which a collate_fn that writes to shared
    memory at once does not need.

    Args:
        batches: each with its number of examples.
        board: is told which one is awaited.
        start_method: how the worker is started; None: as Python does.

    Raises:
        Exception: a batch cannot be sent, with pickle's own words.
    """
    for batch, _examples in batches:
        _try_to_pickle(batch)
    loader: DataLoader[Any] = DataLoader(
        Ready([batch for batch, _ in batches]),
        batch_size=None,
        num_workers=1,
        collate_fn=as_it_is,
        multiprocessing_context=start_method,
    )
    costs: list[BatchCost] = []
    board.stand(Stage.HANDING_OVER, 0)
    deadline = time.monotonic() + LONGEST_S
    before = time.perf_counter()
    for place, _batch in enumerate(loader):
        now = time.perf_counter()
        if place >= STARTING:
            examples = batches[place % len(batches)][1]
            costs.append(BatchCost(seconds=now - before, cpu_s=None, examples=examples))
        if costs and time.monotonic() > deadline:
            break
        board.stand(Stage.HANDING_OVER, place + 1)
        before = time.perf_counter()
    return tuple(costs)


def _try_to_pickle(batch: Any) -> None:
    """Raise what a worker would only print, while this process waits for ever.

    As bytes first, where a tensor stays what it is; what only multiprocessing can
    send, in its way.
    """
    try:
        pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001  # the user's class: whatever it raises
        ForkingPickler.dumps(copy.deepcopy(batch))


def why_no_device() -> str | None:
    """Return why nothing can be pinned or moved; None where there is an accelerator."""
    return None if device_kind() is not None else "no accelerator"


def why_not_pinned() -> str | None:
    """Return why nothing is pinned for the accelerator that is here; None: it is."""
    kind = device_kind()
    return f"PyTorch pins nothing for {kind}" if kind in UNPINNED else None


def pin(
    batches: Sequence[tuple[Any, int]], board: StageBoard
) -> tuple[tuple[BatchCost, ...], list[tuple[Any, int]]]:
    """Copy batches to pinned memory as DataLoader does; return what they are then."""
    from torch.utils.data._utils.pin_memory import pin_memory

    pinned: list[tuple[Any, int]] = []

    def copy_one(batch: Any) -> None:
        pinned.append((pin_memory(batch), batches[len(pinned)][1]))  # type: ignore[no-untyped-call]

    return _timed(batches, board, Stage.PINNING, copy_one), pinned


def transfer(
    batches: Sequence[tuple[Any, int]], board: StageBoard
) -> tuple[BatchCost, ...]:
    """Copy batches to the accelerator, and wait for each."""
    device = Device.here()

    def send_one(batch: Any) -> None:
        moved(batch, device.kind)
        device.synchronize()

    device.synchronize()  # which starts the device, off the clock
    return _timed(batches, board, Stage.TRANSFERRING, send_one)


def _timed(
    batches: Sequence[tuple[Any, int]],
    board: StageBoard,
    stage: Stage,
    act: Callable[[Any], None],
) -> tuple[BatchCost, ...]:
    """Do something with each batch against the clock."""
    costs: list[BatchCost] = []
    for place, (batch, examples) in enumerate(batches):
        board.stand(stage, place)
        wall, cpu = time.perf_counter(), time.process_time()
        act(batch)
        seconds, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
        costs.append(BatchCost(seconds=seconds, cpu_s=cpu_s, examples=examples))
    return tuple(costs)
