"""What a full queue takes is weighed whole: on real loaders, with sizes that are known.

Each loader runs in this very process; its workers are forked from it.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from autoloader.child.stages import Stage, StageBoard
from autoloader.child.weighing import (
    accelerator_bytes,
    is_last,
    memory_pass,
    pinned_bytes,
    steady,
    wait_until_full,
)
from autoloader.measure.memory import MemoryMeter, Weight
from autoloader.values.config import LoaderConfig

pytestmark = pytest.mark.alone  # what others run moves what is weighed


MIB = 1 << 20
BATCH_BYTES = 36 * MIB
"""Larger than what the C library keeps of freed memory for itself, which is 32 MiB."""

WORKERS, PREFETCH = 2, 4

BUILT = (WORKERS * PREFETCH + 1) * BATCH_BYTES
"""All in flight, and the one in hand."""

linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)
forks = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


class Made(Dataset[Any]):
    """Makes examples as they are asked for, so that it takes nothing itself."""

    def __init__(self, make: Callable[[int], Any], size: int) -> None:
        self._make, self._size = make, size

    def __len__(self) -> int:
        """Return more examples than a queue holds."""
        return 64

    def __getitem__(self, index: int) -> Any:
        """Return an example of the size."""
        return self._make(self._size)


def as_tensor(size: int) -> torch.Tensor:
    """Return an example that is stacked in shared memory."""
    return torch.ones(size, dtype=torch.uint8)


def as_array(size: int) -> np.ndarray:
    """Return an example that a collate_fn of one's own leaves as it is."""
    return np.ones(size, dtype=np.uint8)


def as_bytes(size: int) -> bytes:
    """Return an example that is pickled."""
    return b"\1" * size


def as_it_is(examples: list[Any]) -> list[Any]:
    """Collate nothing: arrays and bytes are pickled into a pipe."""
    return examples


def cloned(examples: list[torch.Tensor]) -> torch.Tensor:
    """Stack in memory of the worker's own: its queue's thread moves it."""
    return torch.stack(examples).clone()


@contextmanager
def strategy(name: str) -> Iterator[None]:
    """Let tensors travel as open files, or as named ones."""
    choose: Any = torch.multiprocessing.set_sharing_strategy
    before = torch.multiprocessing.get_sharing_strategy()  # type: ignore[no-untyped-call]
    choose(name)
    try:
        yield
    finally:
        choose(before)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[StageBoard]:
    """Give a board that nobody reads."""
    made = StageBoard.create(tmp_path / "stage")
    yield made
    made.close()


def full_weight(
    make: Callable[[int], Any],
    size: int,
    board: StageBoard,
    collate: Callable[[list[Any]], Any] | None = None,
) -> Weight:
    """Return what this process and the workers take with a full queue."""
    gc.collect()  # what other tests left must not go between two weighings
    loader = DataLoader(
        Made(make, size),
        batch_size=1,
        num_workers=WORKERS,
        prefetch_factor=PREFETCH,
        collate_fn=collate,
    )
    iterator = iter(loader)
    held = next(iterator)
    assert wait_until_full(iterator, board)
    meter = MemoryMeter(trial_pid=os.getpid(), host_pid=None)
    weight = steady(meter.weigh, meter.is_at_rest)
    del iterator, held
    return weight


@linux_only
@forks
@pytest.mark.parametrize("sharing", ["file_descriptor", "file_system"])
@pytest.mark.parametrize("collate", [None, cloned])
def test_queued_tensors_are_weighed_whole(
    sharing: str, collate: Callable[[list[Any]], Any] | None, board: StageBoard
) -> None:
    """They are mapped by nobody; the one in hand is, and was not touched yet."""
    with strategy(sharing):
        if sharing == "file_system":  # starts a process that keeps account of names
            full_weight(as_tensor, 1, board)
        small = full_weight(as_tensor, 1, board, collate)
        large = full_weight(as_tensor, BATCH_BYTES, board, collate)

    assert large.queued_bytes == pytest.approx(BUILT, rel=0.02)
    assert large.total_bytes - small.total_bytes == pytest.approx(BUILT, rel=0.05)


@linux_only
@forks
@pytest.mark.parametrize("make", [as_array, as_bytes])
def test_queued_objects_are_weighed_whole(
    make: Callable[[int], Any], board: StageBoard
) -> None:
    """They wait in the workers' own memory, since a pipe holds a few pages."""
    small = full_weight(make, 1, board, as_it_is)
    large = full_weight(make, BATCH_BYTES, board, as_it_is)

    assert large.queued_bytes < MIB
    assert large.total_bytes - small.total_bytes == pytest.approx(BUILT, rel=0.05)


def weights(*totals: int) -> Callable[[], Weight]:
    """Return what weighs these, one after the other."""
    left = iter(totals)
    return lambda: Weight(total_bytes=next(left), queued_bytes=0, resident_bytes=0)


def test_what_still_changes_is_weighed_again() -> None:
    """The last of two that agree counts, not the first."""
    found = steady(weights(300, 500, 400, 400, 1), lambda: True, pause_s=0.0)

    assert found.total_bytes == 400


def test_what_is_still_at_work_is_weighed_again() -> None:
    """Two weighings can agree because a worker waits for a CPU in between."""
    rest = iter([False, False, True])

    found = steady(weights(300, 300, 200, 200), lambda: next(rest), pause_s=0.0)

    assert found.total_bytes == 200


def test_of_what_never_settles_the_most_counts() -> None:
    """The time for it is limited."""
    ticks = iter([0.0, 1.0, 1.5, 9.0])

    found = steady(
        weights(300, 500, 400),
        lambda: True,
        pause_s=0.0,
        clock=lambda: next(ticks),
    )

    assert found.total_bytes == 500


@forks
def test_the_last_batch_of_workers_is_known_when_it_is_in_hand() -> None:
    """They are weighed before the epoch ends them."""
    iterator = iter(DataLoader(TensorDataset(torch.arange(5)), num_workers=2))

    known = []
    for _ in range(5):
        next(iterator)
        known.append(is_last(iterator))

    assert known == [False, False, False, False, True]


def test_without_workers_the_last_batch_is_not_known() -> None:
    """The epoch's end ends no process: it is weighed afterwards."""
    iterator = iter(DataLoader(TensorDataset(torch.arange(1))))

    next(iterator)

    assert not is_last(iterator)


def test_without_workers_there_is_no_queue_to_wait_for(board: StageBoard) -> None:
    """It counts as full."""
    assert wait_until_full(iter(DataLoader(TensorDataset(torch.arange(3)))), board)


def test_batches_that_are_pinned_already_lie_in_another_queue(
    board: StageBoard,
) -> None:
    """A thread takes them from the workers' queue early."""
    arriving = SimpleNamespace(qsize=lambda: 1)
    pinned = SimpleNamespace(qsize=lambda: 3)
    iterator = SimpleNamespace(
        _worker_result_queue=arriving, _data_queue=pinned, _tasks_outstanding=4
    )

    assert wait_until_full(iterator, board)


def test_each_epoch_says_that_it_starts_workers(board: StageBoard) -> None:
    """They may begin with a new interpreter, which takes long on a loaded machine."""
    stood: list[Stage] = []
    context: Any = SimpleNamespace(
        order=SimpleNamespace(
            config=LoaderConfig.canonical(num_workers=0, batch_size=1),
            examples=3,
            epochs=2,
        ),
        board=board,
        host_pid=None,
        entries=lambda: range(3),
        loader=lambda _entries: DataLoader(TensorDataset(torch.arange(3))),
        most_batches=lambda: None,
        calls=SimpleNamespace(begin=lambda _number: stood.append(board.read()[0])),
    )

    found = memory_pass(context)

    assert stood == [Stage.STARTING_WORKERS] * 2
    assert len(found["epoch_end_bytes"]) == 2


def a_library(
    *, has_cuda: bool, has_accelerator: bool, host: dict[str, int] | None = None
) -> Any:
    """Return what looks like torch, with 7 bytes on the accelerator."""
    cuda = SimpleNamespace(
        is_available=lambda: has_cuda, max_memory_allocated=lambda: 5
    )
    if host is not None:
        cuda.host_memory_stats = lambda: host
    accelerator = SimpleNamespace(
        is_available=lambda: has_accelerator, max_memory_allocated=lambda: 7
    )
    return SimpleNamespace(cuda=cuda, accelerator=accelerator)


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (a_library(has_cuda=True, has_accelerator=True), 7),
        (a_library(has_cuda=True, has_accelerator=False), 5),
        (a_library(has_cuda=False, has_accelerator=False), None),
        (SimpleNamespace(cuda=a_library(has_cuda=True, has_accelerator=True).cuda), 5),
        (torch, None if not torch.cuda.is_available() else 0),
    ],
)
def test_memory_on_the_accelerator_is_asked_for(
    library: Any, expected: int | None
) -> None:
    """By the name that this version of PyTorch has for it; None without one."""
    assert accelerator_bytes(library) == expected


@pytest.mark.parametrize(
    ("host", "has_cuda", "expected"),
    [
        ({"allocated_bytes.peak": 64, "allocated_bytes.current": 0}, True, 64),
        ({"allocated_bytes.peak": 64}, False, None),
        ({"allocated_bytes.peak": 0}, True, None),
        ({}, True, None),
        (None, True, None),
    ],
)
def test_pinned_memory_is_told_where_something_was_pinned(
    host: dict[str, int] | None, has_cuda: bool, expected: int | None
) -> None:
    """PyTorch tells since 2.7, once CUDA is in use."""
    library = a_library(has_cuda=has_cuda, has_accelerator=has_cuda, host=host)

    assert pinned_bytes(library) == expected


def test_a_device_without_an_account_of_its_memory_tells_none() -> None:
    """The pass goes on: what the machine's memory was is known."""

    def refuse() -> int:
        raise RuntimeError("Allocator for mps is not a DeviceAllocator.")

    library = a_library(has_cuda=False, has_accelerator=True)
    library.accelerator.max_memory_allocated = refuse

    assert accelerator_bytes(library) is None
