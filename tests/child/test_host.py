"""What the host does around a pass: what it refuses first, and whom it asks last."""

import errno
import faulthandler
import io
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from autoloader.child import host
from autoloader.child.__main__ import leave_worker_counts_unsaid
from autoloader.errors import StoredFileError
from autoloader.measure.proc import thread_count
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassOrder
from autoloader.values.outcome import Failure

Ending = Callable[[Exception, Path], dict[str, Any]]


def order_of(workers: int, kind: str = "gate") -> PassOrder:
    """Return an order for a pass with so many workers."""
    return PassOrder(
        kind=kind,
        config=LoaderConfig.canonical(num_workers=workers, batch_size=8),
        logs="logs",
        tmp="tmp",
        reference="reference",
        examples=24,
    )


def test_workers_without_shared_memory_are_refused_by_name(tmp_path: Path) -> None:
    """PyTorch would say that some file does not exist."""
    place = tmp_path / "shm"

    found = host._without_shared_memory(order_of(2), Path("logs"), place)

    assert found == Failure(
        kind="start_failed",
        phase="gate",
        message=f"workers need shared memory, and {place} is not there",
        hint=f"mount -t tmpfs tmpfs {place}, or docker run --shm-size; num_workers=0 "
        "needs none",
        log="logs",
    )


def test_shared_memory_that_is_closed_to_this_user_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, and of no use."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    found = host._without_shared_memory(order_of(1), Path("logs"), tmp_path)

    assert found is not None
    assert found.message == (
        f"workers need shared memory, and {tmp_path} cannot be written"
    )


@pytest.mark.parametrize(
    ("order", "has_place"),
    [
        (order_of(0), False),
        (order_of(2, kind="share"), False),
        (order_of(2), True),
    ],
)
def test_what_needs_no_shared_memory_or_has_it_is_run(
    order: PassOrder, has_place: bool, tmp_path: Path
) -> None:
    """One process alone, and the share of one worker, do without."""
    place = tmp_path if has_place else tmp_path / "none"

    assert host._without_shared_memory(order, Path("logs"), place) is None


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ending]:
    """Give what ends a pass with an exception; its handler of signals is put back."""

    def end(exc: Exception, folder: Path) -> dict[str, Any]:
        def run(_context: object) -> None:
            raise exc

        monkeypatch.setattr(host, "run_pass", run)
        context: Any = SimpleNamespace(order=order_of(0), unpicklable=lambda: None)
        return host._result_of(context, folder)

    handler = signal.getsignal(signal.SIGCHLD)
    yield end
    signal.signal(signal.SIGCHLD, handler)


class NoRoom(io.StringIO):
    """A log on a disk that is full."""

    def write(self, _text: str) -> int:
        """Refuse."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_does_not_hide_what_was_raised(
    ending: Ending, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its traceback finds no room in the log."""
    monkeypatch.setattr(sys, "stderr", NoRoom())

    found = ending(ValueError("the index is damaged"), tmp_path)

    assert found["event"] == "failed"
    assert found["failure"]["message"] == "ValueError: the index is damaged"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_closed_log_does_not_hide_what_was_raised(
    is_there: bool, ending: Ending, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dataset may close or take away what errors are printed to."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if is_there else None)

    host._flush()
    found = ending(ValueError("the index is damaged"), tmp_path)

    assert found["failure"]["message"] == "ValueError: the index is damaged"


def test_what_is_ours_and_finds_no_room_is_no_failure_of_the_trial(
    ending: Ending, tmp_path: Path
) -> None:
    """The parent raises it again: no other trial would be better off."""
    exc = StoredFileError("arrived.json cannot be used", hint="free some space")

    found = ending(exc, tmp_path)

    assert found == {
        "event": "error",
        "kind": "StoredFileError",
        "message": "arrived.json cannot be used",
        "hint": "free some space",
    }


def wait_deeply(log: Path, ups: Any, depth: int) -> None:
    """Listen, and wait at the bottom of many calls."""
    if depth:
        wait_deeply(log, ups, depth - 1)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    faulthandler.register(signal.SIGUSR2, file=file, chain=False)
    ups.send_bytes(b"up")
    while True:
        signal.pause()


@pytest.mark.parametrize(
    ("words", "stacks"),
    [("DataLoader timed out after 5 seconds", 3), ("the file is truncated", 0)],
)
def test_workers_tell_where_they_stand_when_the_loader_gave_up(
    words: str, stacks: int, tmp_path: Path
) -> None:
    """One after the other, and only where it was the time that ended it."""
    log = tmp_path / "stderr.txt"
    log.touch()
    receiving, sending = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=wait_deeply, args=(log, sending, 50)) for _ in range(3)
    ]
    try:
        for worker in workers:
            worker.start()
            assert receiving.recv_bytes() == b"up"

        host._ask_workers_for_stacks(RuntimeError(words), log)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()

    found = log.read_text(encoding="utf-8").split("Current thread 0x")[1:]
    assert [stack.count(" in wait_deeply\n") for stack in found] == [51] * stacks


def too_many_workers() -> DataLoader[Any]:
    """Make a loader that PyTorch warns of; none of its workers is started."""
    data = TensorDataset(torch.arange(3))
    return DataLoader(data, num_workers=len(os.sched_getaffinity(0)) + 1)


def test_advice_on_numbers_of_workers_is_left_unsaid() -> None:
    """That alone: what else is worth a warning is told as ever."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        leave_worker_counts_unsaid()

        too_many_workers()
        warnings.warn("the index is older than the data", UserWarning, stacklevel=1)

    assert [str(item.message) for item in seen] == ["the index is older than the data"]


def test_a_filter_of_the_users_comes_before_ours() -> None:
    """What would end their training ends the trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leave_worker_counts_unsaid()

        with pytest.raises(UserWarning, match="This DataLoader will create"):
            too_many_workers()


@pytest.fixture
def idle_host() -> Any:
    """Return a host that has built its dataset and touched nothing."""
    anything: Any = None
    threads = thread_count(os.getpid()) or 1
    return host._Host(anything, anything, anything, 0, threads, 1, anything, step=None)


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_dataset_that_uses_the_accelerator_is_not_forked(
    kind: str, idle_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork of it could not use the device any more."""
    monkeypatch.setattr(getattr(torch, kind), "is_initialized", lambda: True)

    assert idle_host.why_not_fork() == f"{kind.upper()} is initialised"


def test_what_opened_cuda_without_pytorch_is_not_forked(
    idle_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library of its own did, in the dataset."""
    monkeypatch.setattr(host, "_holds", lambda device: device == host.CUDA_DEVICE)

    assert idle_host.why_not_fork() == "CUDA is initialised"


def test_asking_whether_there_is_a_device_is_no_use_of_it(tmp_path: Path) -> None:
    """NVIDIA's management library leaves the driver's other files open."""
    for number, opened in enumerate(("nvidiactl", "nvidia0", "nvidia-uvm-tools")):
        (tmp_path / f"{number}").symlink_to(f"/dev/{opened}")
    (tmp_path / "ended").write_text("no link: it was closed meanwhile")

    before = host._holds(host.CUDA_DEVICE, tmp_path)
    (tmp_path / "9").symlink_to("/dev/nvidia-uvm")

    assert not before
    assert host._holds(host.CUDA_DEVICE, tmp_path)
    assert not host._holds(host.CUDA_DEVICE, tmp_path / "none")
