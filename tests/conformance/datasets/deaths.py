"""Workers that die, leave, or say much: what is told of them must be their reason."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

from tests.conformance.marked import Marked, in_worker, strikes

# Deaths


class KilledWithoutWarning(Marked):
    """Its worker is killed, as the kernel does where memory is short."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or end this worker."""
        if strikes(index):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class AsksForTooMuchMemory(Marked):
    """Asks for more memory than there is, in a worker."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or fail to allocate."""
        if strikes(index):
            np.empty(1 << 60, np.uint8)
        return super().__getitem__(index)


class LeavesCleanly(Marked):
    """Its worker leaves with exit code 0, as if all were done."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or leave."""
        if strikes(index):
            os._exit(0)
        return super().__getitem__(index)


def leaves_with_timeout() -> DataLoader[Any]:
    """Return a loader whose own timeout hides that a worker has left."""
    return DataLoader(LeavesCleanly(), batch_size=8, num_workers=2, timeout=100)


class CallsExit(Marked):
    """Ends the program in a worker, after saying why."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or end the program."""
        if strikes(index):
            print("giving up", file=sys.stderr, flush=True)
            os._exit(17)
        return super().__getitem__(index)


class DiesAtItsEnd(Marked):
    """Its worker is killed at the last example of the second epoch, if it is kept."""

    def __init__(self) -> None:
        self.read = 0

    def __getitem__(self, index: int) -> Any:
        """Return the example; a kept worker dies late."""
        self.read += in_worker()
        if self.read > 90:  # of two workers each reads about 50 an epoch
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().__getitem__(index)


class NeedsMainThread(Marked):
    """Sets a signal handler at each reading, which only a main thread may."""

    def __getitem__(self, index: int) -> Any:
        """Return the example."""
        old = signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, old)
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("read outside the main thread")
        return super().__getitem__(index)


class OpensPool(Marked):
    """Spreads its work over processes of its own, which a worker may not have."""

    def __getitem__(self, index: int) -> Any:
        """Return the example; its label is worked out elsewhere."""
        found = super().__getitem__(index)
        if index == 33:
            with multiprocessing.Pool(1) as pool:
                found["label"] = pool.map(abs, [found["label"]])[0]
        return found


# Noise


class Chatty(Marked):
    """Prints more than a pipe holds, at each reading."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, and say much of nothing."""
        print("x" * 4000, flush=True)
        print("y" * 4000, file=sys.stderr, flush=True)
        return super().__getitem__(index)


class HoldsHalfReadLoader(Marked):
    """Has begun a loader of its own, whose workers are not those of a later fork."""

    def __init__(self) -> None:
        self.begun: Any = iter(DataLoader(Marked(), batch_size=4, num_workers=1))
        next(self.begun)

    def __getitem__(self, index: int) -> Any:
        """Return the example; the old loader is collected on the way, with noise."""
        if in_worker() and self.begun is not None:
            self.begun = None
            gc.collect()
        return super().__getitem__(index)


class Sleeps(Marked):
    """Sleeps for ever in a worker: it never looks whether its parent lives."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, or nothing for a long time."""
        if in_worker():
            print("asleep", flush=True)
            time.sleep(1_000_000)
        return super().__getitem__(index)


class RunsProgram(Marked):
    """Waits in a worker for a program that it has started."""

    def __getitem__(self, index: int) -> Any:
        """Return the example, once the program is done."""
        if in_worker():
            with subprocess.Popen(["sleep", "1000000"]):
                print("asleep", flush=True)
        return super().__getitem__(index)
