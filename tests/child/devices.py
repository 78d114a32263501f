"""Devices that are not there: modules like those of PyTorch, on the CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch

from autoloader.child.device import Device


class FakeEvent:
    """Notes when it was recorded, by a clock of its own."""

    def __init__(self, module: "FakeModule") -> None:
        self._module = module
        self.at_ms: float | None = None

    def record(self) -> None:
        """Note the device's time."""
        self._module.now_ms += self._module.copy_ms / 2
        self.at_ms = self._module.now_ms
        self._module.streams.append(self._module.stream_now)

    def synchronize(self) -> None:
        """Wait for it."""
        self._module.waited.append(self)

    def elapsed_time(self, end: "FakeEvent") -> float:
        """Return milliseconds to another event."""
        assert self.at_ms is not None
        assert end.at_ms is not None
        return end.at_ms - self.at_ms


class FakeModule:
    """Stands for `torch.cuda`: a copy takes ten milliseconds by its clock."""

    copy_ms = 20.0

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.stream_now: object = "default"
        self.streams: list[object] = []
        self.waited: list[FakeEvent] = []
        self.synchronized = 0

    def Stream(self) -> str:
        """Return another stream than the default one."""
        return "copies"

    @contextmanager
    def stream(self, stream: object) -> Iterator[None]:
        """Make a stream the current one."""
        before, self.stream_now = self.stream_now, stream
        yield
        self.stream_now = before

    def Event(self, *, enable_timing: bool) -> FakeEvent:
        """Return an event that tells the time."""
        assert enable_timing
        return FakeEvent(self)

    def synchronize(self) -> None:
        """Wait for all that was asked for."""
        self.synchronized += 1

    def current_device(self) -> int:
        """Return the first device."""
        return 0

    def get_device_properties(self, index: int) -> SimpleNamespace:
        """Return what it is called."""
        return SimpleNamespace(name=f"GPU {index}", uuid="1f2e")


class OnCpu(Device):
    """A device that is said to be an accelerator, whose tensors stay where they are."""

    __slots__ = ()

    @property
    def is_accelerator(self) -> bool:
        """Whether anything is moved: yes, it is said."""
        return True


def a_device(module: Any = None) -> Device:
    """Return an accelerator that is none."""
    return OnCpu("cpu", FakeModule() if module is None else module)


def a_library(
    kind: str | None,
    *,
    is_there: bool = True,
    is_in_use: bool = False,
    is_older: bool = False,
) -> Any:
    """Return what looks like torch, with an accelerator of a kind, or none.

    Args:
        kind: of the accelerator that it was built for.
        is_there: whether there is one at run time.
        is_in_use: whether this process has a context on it.
        is_older: whether it raises where it was built for none, as 2.6 does.
    """

    def current() -> Any:
        if kind is None and is_older:
            raise RuntimeError(
                "Cannot access accelerator device when none is available."
            )
        return None if kind is None else SimpleNamespace(type=kind)

    def refused() -> bool:
        raise AssertionError("asks CUDA itself in 2.6: a fork is not safe any more")

    module = SimpleNamespace(
        is_available=lambda: is_there, is_initialized=lambda: is_in_use
    )
    others = {} if kind is None else {kind: module}
    return SimpleNamespace(
        accelerator=SimpleNamespace(current_accelerator=current, is_available=refused),
        get_device_module=lambda _device: module,
        cpu=torch.cpu,
        **others,
    )
