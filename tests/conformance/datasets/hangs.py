"""What waits for ever in a worker, most of it for something that a fork left behind."""

import os
import threading
import time
from functools import cache
from typing import Any

import torch
from torch.utils.data import DataLoader

from tests.conformance.marked import Marked, in_worker, strikes


class WaitsForever(Marked):
    """Waits in a worker for what never comes."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or nothing."""
        if strikes(index):
            self.wait_for_store()
        return super().__getitem__(index)

    def wait_for_store(self) -> None:
        """Wait for an answer that nobody gives."""
        threading.Event().wait()


def waits_with_timeout() -> DataLoader[Any]:
    """Return a loader that gives up by itself, after 3 seconds."""
    return DataLoader(WaitsForever(), batch_size=8, num_workers=2, timeout=3)


def _wait_at_start(_worker: int) -> None:
    time.sleep(1_000_000)


def waits_at_start() -> DataLoader[Any]:
    """Return a loader whose worker_init_fn never ends."""
    return DataLoader(Marked(), batch_size=8, worker_init_fn=_wait_at_start)


class WaitsInSecondEpoch(Marked):
    """Waits for ever in a kept worker's second epoch."""

    def __init__(self) -> None:
        self.read = 0

    def __getitem__(self, index: int) -> Any:
        """Return the example, or nothing, once more than an epoch was read."""
        self.read += in_worker()
        if self.read > 70:  # of two workers each reads about 50 an epoch
            time.sleep(1_000_000)
        return super().__getitem__(index)


class PausesNowAndThen(Marked):
    """Is slow for a few seconds, as a remote store is, and does not hang."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, late."""
        if strikes(index):
            time.sleep(4)
        return super().__getitem__(index)


# Locks


class Desk:
    """A thread that holds a lock, and lets go of it when it is asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = threading.Event()
        self._is_held = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()
        self._is_held.wait()

    def _serve(self) -> None:
        while True:
            with self.lock:
                self._is_held.set()
                self.asked.wait()
                self.asked.clear()
            time.sleep(0.001)


@cache
def desk() -> Desk:
    """Return the desk of this process."""
    return Desk()


class AsksAtDesk(Marked):
    """Needs a lock that a thread of another process held when it was forked."""

    def __init__(self) -> None:
        desk()

    def __getitem__(self, index: int) -> Any:
        """Return the example, once the lock is free."""
        there = desk()
        while not there.lock.acquire(timeout=0.05):
            there.asked.set()
        try:
            return super().__getitem__(index)
        finally:
            there.lock.release()


class HoldsItsLock(Marked):
    """Has taken a lock before its workers start, and waits for it in each of them."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.lock.acquire()

    def __getitem__(self, index: int) -> Any:
        """Return the example; whoever has not taken the lock waits for it."""
        if os.getpid() != self.owner:
            self.lock.acquire()
        return super().__getitem__(index)


# Pools of threads


class RaisesThreadCount(Marked):
    """Has used OpenMP's threads, and asks for them again in a worker."""

    def __init__(self) -> None:
        torch.set_num_threads(2)
        self.sum = float(torch.ones(4_000_000).exp_().mean())

    def __getitem__(self, index: int) -> Any:
        """Return the example, after some work of two threads."""
        torch.set_num_threads(2)
        torch.ones(4_000_000).exp_().mean()
        return super().__getitem__(index)


class KeepsThreadCount(RaisesThreadCount):
    """Has used OpenMP's threads, and leaves workers their one thread."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, after some work of as many threads as there are."""
        torch.ones(400_000).exp_().mean()
        return Marked.__getitem__(self, index)
