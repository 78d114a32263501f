"""A dataset that reads plainly, until a plan makes one of its processes stop or break.

The plan is a file; the process that it means says so in another one, so that a plan is
carried out once. What a process is for is told by where its output goes.
"""

import ctypes
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

LENGTH = 64
EXAMPLE_S = {True: 0.001, False: 0.006}
"""Seconds of an example in a worker, and elsewhere: with one it is the fastest, on a
machine that has no CPU to spare as well."""
PATIENCE_S = 120.0
MOST_BYTES = 3 << 30
STEP_BYTES = 32 << 20


class CodecError(Exception):
    """What a dataset of somebody's may raise."""


class Planned(Dataset[Any]):
    """Ids, contents and labels that follow from the index alone.

    Args:
        folder: holds `plan`, `reached`, `go`, and `read-PID` of every reading process.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._pid = 0
        self._read = 0
        self._plan: dict[str, Any] | None = None
        if pass_of_process() == "host":
            self._follow()

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        if self._pid != os.getpid():
            self._pid, self._read, self._plan = os.getpid(), 0, None
            (self._folder / f"read-{self._pid}").touch()
        wrong = self._follow()
        self._read += 1
        time.sleep(EXAMPLE_S[_is_worker()])
        return torch.full((3, 4), float(index)), (index + wrong) % 7

    def _follow(self) -> bool:
        """Do what the plan says, if this is its process and moment.

        Returns:
            Whether the example is to be wrong.
        """
        if self._plan is None:
            self._plan = _read(self._folder / "plan")
        plan = self._plan
        if plan is None or self._read < plan["after"]:
            return False
        if plan["pass"] != pass_of_process() or plan["in_worker"] != _is_worker():
            return False
        return self._claim() and _do(plan["do"], self._folder)

    def _claim(self) -> bool:
        """Say who is here; False where a plan was carried out already."""
        if (self._folder / "reached").exists():
            return False
        own = self._folder / f"claim-{os.getpid()}"
        own.write_text(json.dumps({"pid": os.getpid(), "session": os.getsid(0)}))
        try:
            os.link(own, self._folder / "reached")
        except FileExistsError:
            return False
        finally:
            own.unlink()
        return True


def loader(folder: str) -> DataLoader[Any]:
    """Return a loader with one worker: its settings and PyTorch's are always tried."""
    return DataLoader(Planned(folder), batch_size=8, num_workers=1, prefetch_factor=2)


def pass_of_process() -> str:
    """Return `reference`, `host`, `gate`, `memory` or `timed`."""
    return Path("/proc/self/fd/1").readlink().parent.name.rpartition("-")[2]


def _is_worker() -> bool:
    return get_worker_info() is not None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return found


def _do(deed: str, folder: Path) -> bool:
    match deed:
        case "hold":
            _hold(folder / "go")
        case "raise":
            msg = "the codec is not there"
            raise CodecError(msg)
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), 9)
        case "segfault":
            ctypes.string_at(0)
        case "allocate":
            _allocate()
        case "close":
            os.closerange(3, 1024)
        case "hang":
            threading.Event().wait()
        case _:
            pass
    return deed == "wrong"


def _hold(go: Path) -> None:
    """Wait for leave to go on."""
    end = time.monotonic() + PATIENCE_S
    while not go.exists() and time.monotonic() < end:
        time.sleep(0.005)


def _allocate() -> None:
    """Take memory, all of it written to, until somebody ends it."""
    taken = []
    for _ in range(MOST_BYTES // STEP_BYTES):
        taken.append(b"\1" * STEP_BYTES)
        time.sleep(0.02)
