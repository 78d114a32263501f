"""One interrupt ends what runs; further ones do not break the ending off."""

import os
import signal
import threading
from contextlib import AbstractContextManager
from types import FrameType

import pytest

from autoloader.commands.interrupts import (
    call_interrupted_once,
    command_interrupted_once,
)


def send(number: signal.Signals) -> None:
    """Send this process a signal, which is handled before this returns."""
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    "once",
    [command_interrupted_once(), call_interrupted_once()],
    ids=["command", "call"],
)
def test_a_second_interrupt_does_not_break_off_the_ending(
    once: AbstractContextManager[None],
) -> None:
    """Behind it, an interrupt is one again."""
    ended = []

    def run() -> None:
        with once:
            try:
                send(signal.SIGINT)
            finally:
                send(signal.SIGINT)
                ended.append("all")

    with pytest.raises(KeyboardInterrupt):
        run()

    assert ended == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_ends_a_command_is_an_interrupt_of_it() -> None:
    """A scheduler's signal, and that of a terminal that is closed."""
    before = signal.getsignal(signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt), command_interrupted_once():
            send(number)

    assert signal.getsignal(signal.SIGTERM) is before


def test_a_call_leaves_the_users_own_handler_and_other_signals() -> None:
    """A script that handles interrupts itself goes on doing so."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)

    previous = signal.signal(signal.SIGINT, note)
    terminating = signal.getsignal(signal.SIGTERM)
    try:
        with call_interrupted_once():
            assert signal.getsignal(signal.SIGTERM) is terminating
            send(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, previous)

    assert seen == [signal.SIGINT]


def test_another_thread_than_the_main_one_has_no_handlers() -> None:
    """A server's, say: what is called there runs all the same."""
    ran = []

    def run() -> None:
        with command_interrupted_once(), call_interrupted_once():
            ran.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert ran == [True]
