"""Interrupts: the first ends what runs, later ones wait until it has ended.

What was started is being ended then (processes, folders), which must not be broken off
by whoever asks twice.
"""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


def ending_signals() -> list[signal.Signals]:
    """Return the signals by which people, schedulers and terminals end a command."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):
        numbers.append(signal.SIGHUP)
    return numbers


@contextlib.contextmanager
def command_interrupted_once() -> Iterator[None]:
    """Turn all that ends a command into one KeyboardInterrupt."""
    with _once(ending_signals()):
        yield


@contextlib.contextmanager
def call_interrupted_once() -> Iterator[None]:
    """Raise one KeyboardInterrupt in a script or a notebook, where Python does.

    Another handler than Python's own is the user's, and stays, as do other signals.
    """
    is_pythons = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _once([signal.SIGINT] if is_pythons else []):
        yield


@contextlib.contextmanager
def _once(numbers: list[signal.Signals]) -> Iterator[None]:
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        if not seen:
            seen.append(number)
            raise KeyboardInterrupt

    try:
        previous = {number: signal.signal(number, interrupt) for number in numbers}
    except ValueError:  # not the main thread: the caller's handlers stay
        previous = {}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
