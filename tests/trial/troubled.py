"""Datasets that get their process into trouble, each by itself."""

import os
import resource
import signal
import threading
from typing import Any

import torch
from torch.utils.data import Dataset

LENGTH = 600


class Plain(Dataset[Any]):
    """Ids and contents that follow from the index alone."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        return torch.full((2, 2), float(index)), index % 7


class Stopped(Plain):
    """Its process is stopped at example 33, as somebody may do from outside."""

    def __getitem__(self, index: int) -> Any:
        if index == 33:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().__getitem__(index)


class StoppedWhileBuilt(Plain):
    """Its process is stopped before it can be read."""

    def __init__(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Waits(Plain):
    """Waits at example 33 for what never comes."""

    def __getitem__(self, index: int) -> Any:
        if index == 33:
            self.wait_for_store()
        return super().__getitem__(index)

    def wait_for_store(self) -> None:
        """Wait for an answer that nobody gives."""
        threading.Event().wait()


class WaitsInTrial(Waits):
    """The same, once the reference is read: in a process that is forked."""

    def __init__(self) -> None:
        self.builder = os.getpid()

    def wait_for_store(self) -> None:
        """Wait for an answer that this process does not get."""
        if os.getpid() != self.builder:
            super().wait_for_store()


class SmallFiles(Plain):
    """Lets its process write no file of more than 4,000 bytes: a ledger is longer."""

    def __init__(self) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))


class SmallFilesInTrial(Plain):
    """The same, once the reference is read: in the first process that is forked."""

    def __init__(self) -> None:
        self.builder = os.getpid()

    def __getitem__(self, index: int) -> Any:
        if os.getpid() != self.builder:
            SmallFiles()
        return super().__getitem__(index)
