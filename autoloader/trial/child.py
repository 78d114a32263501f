"""One child process: started on inherited pipes, watched by pidfd, ended for good.

Knows nothing of what is asked; `trial.runner` does. The parent never waits for an end
of file, since pipe ends are inherited by workers.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autoloader.child.stages import Stage, StageBoard
from autoloader.child.wire import Decoder, send
from autoloader.trial.aftercare import end_session
from autoloader.trial.interpreter import interpreter_flags
from autoloader.trial.watchdog import Patience, Watchdog
from autoloader.values.job import CHILD_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TICK_S = 0.2
"""Longest time between two looks at the clock and the stage board."""

PATIENCE_S = 2.0
"""Time that a child has to leave by itself, and again when it is asked to."""

Tick = Callable[[Stage, int], None]


class ChildDied(Exception):  # an event that the caller turns into a value
    """The child (or the trial it had forked) ended without an answer."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        """Exit code; negative: the signal that ended it."""


class ChildTooLarge(Exception):  # an event that the caller turns into a value
    """The child and what came from it take more memory than they may."""

    def __init__(self, taken_bytes: int) -> None:
        super().__init__(taken_bytes)
        self.taken_bytes = taken_bytes


class Child:
    """A running child process.

    Args:
        role: `host` or `reference`.
        logs: folder for what it prints.
        tmp: short path that becomes its TMPDIR.
        more: variables that its environment has beside ours.

    Raises:
        OSError: no process can be started, or its logs not be made.
    """

    def __init__(
        self,
        role: str,
        *,
        logs: Path,
        tmp: Path,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.logs = logs
        orders_read, self._orders = os.pipe()
        try:
            self._answers, answers_write = os.pipe()
        except OSError:
            os.close(orders_read)
            os.close(self._orders)
            raise
        self._open = [self._orders, self._answers]
        os.set_blocking(self._answers, False)
        command = [
            sys.executable, *interpreter_flags(), "-m", "autoloader.child",
            role, str(orders_read), str(answers_write), str(os.getpid()),
        ]  # fmt: skip
        environment = {
            **os.environ,
            **(more or {}),
            "TMPDIR": str(tmp),
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            CHILD_VARIABLE: "1",
        }
        try:
            with _log(logs / "stdout.txt") as out, _log(logs / "stderr.txt") as err:
                self._process = subprocess.Popen(  # our own interpreter
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=environment,
                    pass_fds=(orders_read, answers_write),
                    start_new_session=True,
                )
        except OSError:
            self._close()
            raise
        finally:
            os.close(orders_read)
            os.close(answers_write)
        self._pidfd = _open_pidfd(self._process.pid)
        if self._pidfd is not None:
            self._open.append(self._pidfd)
        self._decoder = Decoder()
        self._messages: deque[dict[str, Any]] = deque()

    @property
    def pid(self) -> int:
        """Process id, which is its session's id as well."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def order(self, message: dict[str, Any]) -> None:
        """Send an order; a child that is gone is noticed when its answer is awaited."""
        with contextlib.suppress(BrokenPipeError):
            send(self._orders, message)

    def answer(
        self,
        board: StageBoard,
        *,
        patience: Patience,
        on_tick: Tick | None = None,
        too_large: Callable[[], int | None] = lambda: None,
    ) -> dict[str, Any]:
        """Return the next message.

        Args:
            board: where the child tells its progress.
            patience: how long it may go without any.
            on_tick: called with stage and count about five times a second.
            too_large: asked as often; the bytes that are taken, if they are too many.

        Raises:
            ChildDied: the process ended and nothing is left to read.
            ChildStopped: it is stopped, or a process that came from it is.
            ChildHung: it makes no progress.
            ChildTooLarge: it takes more memory than it may.
        """
        watchdog = Watchdog(self.pid, patience)
        while not self._messages:
            self._wait()
            if self._messages:
                break
            if not self.is_alive:
                self._read()
                if self._messages:
                    break
                raise ChildDied(self._process.returncode)
            now = board.read()
            watchdog.look(*now, board.turn())
            taken_bytes = too_large()
            if taken_bytes is not None:
                raise ChildTooLarge(taken_bytes)
            if on_tick is not None:
                on_tick(*now)
        return self._messages.popleft()

    def end(self) -> None:
        """End the process: close its orders, then terminate, then kill.

        May be asked for again, by one that was interrupted in it.
        """
        if self._orders in self._open:
            self._open.remove(self._orders)
            os.close(self._orders)
        for action in (self._process.poll, self._process.terminate, self._process.kill):
            action()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=PATIENCE_S)
                break
        self._close()

    def kill(self) -> None:
        """End the process at once, and all of its session."""
        self._process.kill()
        self.end()
        end_session(self.pid, patience_s=0.0)

    def _close(self) -> None:
        """Close what is open, each once: its number may be another file's by then."""
        while self._open:
            os.close(self._open.pop())

    def _wait(self) -> None:
        for_any = select.poll()  # select() knows no descriptor above 1,023
        for_any.register(self._answers, select.POLLIN)
        if self._pidfd is not None:
            for_any.register(self._pidfd, select.POLLIN)
        for_any.poll(1000 * TICK_S)
        self._read()

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._answers, 65536):
                self._messages.extend(self._decoder.feed(data))


def _log(path: Path) -> Any:
    """Open a log for appending, never through a link, readable by its owner only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab")


def _open_pidfd(pid: int) -> int | None:
    """Return what tells the end of a process; None: it is looked at now and then."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # no descriptor is left
        return None
