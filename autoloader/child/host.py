"""Serve orders: read the reference once, or hold the dataset and fork trials from it.

The host builds the dataset and then touches nothing, so that every trial starts from
the same untouched state. It forks from its main thread, waits for the trial, and tells
how it ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from autoloader.child.context import TrialContext
from autoloader.child.device import kind_in_use
from autoloader.child.epochs import EpochCalls
from autoloader.child.failures import failure_of
from autoloader.child.lifeline import die_with_parent
from autoloader.child.loader import LoaderParts
from autoloader.child.meeting import Meeting, stand_for_rank
from autoloader.child.passes import run_pass
from autoloader.child.reference import run_reference
from autoloader.child.seeding import seed_all
from autoloader.child.source import load_source
from autoloader.child.stacks import announce_stacks
from autoloader.child.stages import Stage, StageBoard
from autoloader.child.stagewise import run_stages
from autoloader.child.stepping import NamedStep, load_step
from autoloader.child.wire import receive, send
from autoloader.errors import AutoloaderError, StoredFileError
from autoloader.files import refusals_named
from autoloader.measure.descriptors import connected_sockets, readable_offsets
from autoloader.measure.proc import thread_count
from autoloader.measure.stacks import ask_one_by_one
from autoloader.values.diagnosis import StagesOrder
from autoloader.values.job import PassOrder, ReferenceOrder
from autoloader.values.outcome import Failure
from autoloader.values.scope import DatasetFacts, Scope, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


ATTEMPTS = 8
"""Times that reading a failure is tried again when another one interrupts it."""

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # the system's own place for it
"""Where workers' locks and their batches lie."""

CUDA_DEVICE = "/dev/nvidia-uvm"
"""What CUDA opens, whoever begins to use it. NVIDIA's management library, by which
`torch.cuda.is_available` asks, opens others of the driver's, and a fork stays safe."""

OPEN_FILES = Path("/proc/self/fd")


def serve_reference(orders: int, answers: int) -> None:
    """Take one order, read the reference, answer, end."""
    message = next(receive(orders))
    _serve_once(
        message,
        answers,
        lambda board: run_reference(ReferenceOrder.from_dict(message["order"]), board),
    )


def serve_stages(orders: int, answers: int) -> None:
    """Take one order, read examples stage by stage, answer, end."""
    message = next(receive(orders))
    _serve_once(
        message,
        answers,
        lambda board: run_stages(StagesOrder.from_dict(message["order"]), board),
    )


def _serve_once(
    message: dict[str, Any],
    answers: int,
    act: Callable[[StageBoard], dict[str, Any]],
) -> None:
    """Do what was ordered, and answer with its result or its error."""
    board = StageBoard(Path(message["board"]))
    announce_stacks()
    try:
        result = act(board)
    except AutoloaderError as exc:
        result = _error(exc)
    except Exception as exc:  # noqa: BLE001  # the child's main: it becomes an answer
        result = _bug(exc)
    send(answers, result)


def serve_host(orders: int, answers: int) -> None:
    """Build the dataset, then run one pass an order until the pipe closes."""
    messages = receive(orders)
    opening = next(messages)
    board = StageBoard(Path(opening["board"]))
    announce_stacks()
    try:
        host = _Host.open(opening, answers, board)
    except AutoloaderError as exc:
        send(answers, _error(exc))
        return
    except Exception as exc:  # noqa: BLE001  # the child's main: it becomes an answer
        send(answers, _bug(exc))
        return
    board.enter(Stage.WAITING)
    send(answers, {"event": "ready", "unsafe": host.why_not_fork()})
    host.serve(messages)


class _Host:
    """The built dataset and how trials come from it."""

    def __init__(
        self,
        parts: LoaderParts,
        facts: DatasetFacts,
        scope: Scope,
        answers: int,
        threads_of_imports: int,
        torch_threads: int,
        calls: EpochCalls,
        step: NamedStep | None,
    ) -> None:
        self._calls = calls
        self._step = step
        self._parts = parts
        self._facts = facts
        self._scope = scope
        self._answers = answers
        self._threads_of_imports = threads_of_imports
        self._torch_threads = torch_threads
        self._offsets = readable_offsets(os.getpid())

    @classmethod
    def open(cls, opening: dict[str, Any], answers: int, board: StageBoard) -> _Host:
        _keep_to_cpus(opening["cpus"])
        # one thread: OpenMP's pool, once made, does not survive a fork
        torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        board.enter(Stage.IMPORTING)
        stand_for_rank()
        source = SourceSpec.from_dict(opening["source"])
        named = opening.get("step")
        step = None if named is None else load_step(named, source)
        threads = [1]  # those that imports alone make; more come from the dataset

        def count_threads() -> None:
            threads[0] = thread_count(os.getpid()) or 1
            board.enter(Stage.BUILDING)

        parts = LoaderParts.of(load_source(source, on_imported=count_threads))
        facts = DatasetFacts.from_dict(opening["facts"])
        return cls(
            replace(parts, is_of_own_class=facts.own_class),
            facts,
            Scope.from_dict(opening["scope"]),
            answers,
            threads[0],
            torch_threads,
            EpochCalls.of(parts.dataset, opening["scope"]["on_epoch"]),
            step,
        )

    def why_not_fork(self) -> str | None:
        """Return why forking this process is unsafe, or None where it is safe."""
        pid = os.getpid()
        if not hasattr(os, "fork") or sys.platform == "darwin":
            return "this system does not fork safely"
        in_use = kind_in_use()
        if in_use is not None:
            return f"{in_use} is initialised"
        if _holds(CUDA_DEVICE):
            return "CUDA is initialised"
        if threading.active_count() > 1:
            return "the dataset started threads"
        if (thread_count(pid) or 1) > self._threads_of_imports:
            return "the dataset started threads"
        if connected_sockets(pid):
            return "the dataset holds an open connection"
        if readable_offsets(pid) != self._offsets:
            return "an earlier trial moved the offset of an open file of the dataset"
        return None

    def serve(self, messages: Iterator[dict[str, Any]]) -> None:
        for message in messages:
            order = PassOrder.from_dict(message["order"])
            if order.in_process:
                self._run(order, message["board"], host_pid=None)
                return
            self._fork(order, message["board"])

    def _fork(self, order: PassOrder, board: str) -> None:
        _flush()
        host_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with_parent(host_pid)
            os.setsid()
            try:
                self._run(order, board, host_pid=host_pid)
            finally:
                os._exit(70)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        event = {
            "event": "exited",
            "pid": pid,
            "code": code,
            "unsafe": self.why_not_fork(),
        }
        send(self._answers, event)

    def _run(self, order: PassOrder, board_path: str, *, host_pid: int | None) -> None:
        """Run one pass in this process, answer, and end the process."""
        send(self._answers, {"event": "started", "pid": os.getpid()})
        board = StageBoard(Path(board_path))
        logs = Path(order.logs)
        try:
            with refusals_named(logs):
                _redirect(logs)
        except StoredFileError as exc:
            send(self._answers, _error(exc))
            os._exit(0)
        announce_stacks()
        os.environ["TMPDIR"] = order.tmp
        tempfile.tempdir = None
        torch.set_num_threads(self._torch_threads)
        seed_all(self._scope.seed)
        context = TrialContext(
            order,
            self._parts,
            self._facts,
            self._scope,
            board,
            host_pid,
            self._calls,
            self._threads_of_imports,
            Meeting(order.meeting, board),
            self._step,
        )
        result = _result_of(context, logs)
        send(self._answers, result)
        _flush()
        _end_workers()
        os._exit(0)


def _result_of(context: TrialContext, logs: Path) -> dict[str, Any]:
    """Run the pass and return its result, or its failure, as a message.

    PyTorch raises a worker's death from a signal handler: it can come a second time
    while the first is being read, which must not hide it.
    """
    unable = _without_shared_memory(context.order, logs)
    if unable is not None:
        return {"event": "failed", "failure": unable.to_dict()}
    error: Exception | None = None
    for _attempt in range(ATTEMPTS):
        try:
            if error is None:
                return {"event": "result", **run_pass(context)}
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _ask_workers_for_stacks(error, logs / "stderr.txt")
            _print(error)
            failure = failure_of(
                error,
                phase=context.order.kind,
                logs=logs,
                unpicklable=context.unpicklable(),
            )
            return {"event": "failed", "failure": failure.to_dict()}
        except StoredFileError as exc:  # what is written here is ours, and is needed
            return _error(exc)
        except Exception as exc:  # noqa: BLE001  # the child's main: it is an outcome
            error = error or exc
    msg = f"what ended the pass cannot be read: {error!r}"
    raise RuntimeError(msg) from error


def _flush() -> None:
    """Write out what was printed, as far as it can be (see `_print`)."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _print(exc: BaseException) -> None:
    """Print an exception into the log.

    That it was raised is hidden neither by a full disk nor by a dataset that closes
    what it would be printed to, or takes it away.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        traceback.print_exception(exc)


def _without_shared_memory(
    order: PassOrder, logs: Path, place: Path = SHARED_MEMORY
) -> Failure | None:
    """Return why workers cannot be had on this system, or None where they can.

    PyTorch's own words for it are `No such file or directory`, of no file.
    """
    has_workers = order.config.num_workers and order.kind != "share"
    if not has_workers or not sys.platform.startswith("linux"):
        return None
    if os.access(place, os.W_OK | os.X_OK):
        return None
    what = "cannot be written" if place.exists() else "is not there"
    return Failure(
        kind="start_failed",
        phase=order.kind,
        message=f"workers need shared memory, and {place} {what}",
        hint=f"mount -t tmpfs tmpfs {place}, or docker run --shm-size; num_workers=0 "
        "needs none",
        log=str(logs),
    )


def _ask_workers_for_stacks(error: Exception, log: Path) -> None:
    """Have workers say where they stand, where the loader's own timeout ended it."""
    if "timed out" in str(error):
        workers = multiprocessing.active_children()
        pids = [process.pid for process in workers if process.pid is not None]
        ask_one_by_one(pids, log)


def _keep_to_cpus(count: int | None) -> None:
    """Restrict this process and what it forks to the first `count` CPUs."""
    if count is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def _redirect(logs: Path) -> None:
    """Send what the trial and its workers print to files of their own."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    for name, descriptor in (("stdout.txt", 1), ("stderr.txt", 2)):
        file = os.open(logs / name, flags, 0o600)
        os.dup2(file, descriptor)
        os.close(file)


def _end_workers() -> None:
    """End workers that a failed pass left, since `os._exit` runs no handlers."""
    for process in multiprocessing.active_children():
        process.kill()
        process.join()


def _holds(device: str, folder: Path = OPEN_FILES) -> bool:
    """Return whether a device file is open in this process."""
    if not folder.is_dir():
        return False
    for entry in folder.iterdir():
        try:
            if str(entry.readlink()) == device:
                return True
        except OSError:
            continue
    return False


def _error(exc: AutoloaderError) -> dict[str, Any]:
    return {
        "event": "error",
        "kind": type(exc).__name__,
        "message": exc.message,
        "hint": exc.hint,
    }


def _bug(exc: Exception) -> dict[str, Any]:
    _print(exc)
    message = f"a child process failed: {type(exc).__name__}: {exc}"
    return {"event": "error", "kind": "ProtocolError", "message": message, "hint": None}
