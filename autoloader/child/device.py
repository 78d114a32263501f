"""The accelerator as PyTorch sees it: which there is, its clock, and what it was asked.

Which one there is, is asked without a context on it, so that a later fork stays safe.
All else is for the process of a trial, which owns its context: what the driver tells
without PyTorch is `measure.accelerator`'s and `measure.device_meter`'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


def device_kind(library: Any = torch) -> str | None:
    """Return the type of the accelerator that PyTorch uses here; None without one.

    By each device's own `is_available`: that of CUDA asks NVIDIA's library where
    `PYTORCH_NVML_BASED_CUDA_CHECK` is set, as it is in every process of ours, and a
    fork stays safe. `torch.accelerator.is_available` of 2.6 would ask CUDA itself.

    Args:
        library: the torch module.
    """
    try:
        found = library.accelerator.current_accelerator()
    except RuntimeError:  # of 2.6, where there is none
        return None
    if found is None:
        return None
    module = library.get_device_module(found)
    ask = getattr(module, "is_available", library.accelerator.is_available)
    return str(found.type) if ask() else None


def kind_in_use(library: Any = torch) -> str | None:
    """Return which accelerator this process has a context on, in capitals; None: none.

    Args:
        library: the torch module.
    """
    for kind in ("cuda", "xpu"):
        ask = getattr(getattr(library, kind, None), "is_initialized", None)
        if ask is not None and ask():
            return kind.upper()
    return None


def uuid_in_use(library: Any = torch) -> str | None:
    """Return the id of the device that this process has a context on; None: none.

    Args:
        library: the torch module.
    """
    if kind_in_use(library) is None:
        return None
    return Device.here(library).facts()["uuid"]


@dataclass(frozen=True, slots=True)
class Device:
    """What batches are moved to, with the module of PyTorch that knows it."""

    kind: str
    """Type in PyTorch's words; `cpu` where there is no accelerator."""
    module: Any
    """Such as `torch.cuda`."""

    @classmethod
    def here(cls, library: Any = torch) -> Device:
        """Return the accelerator; the CPU where there is none.

        Args:
            library: the torch module.
        """
        kind = device_kind(library)
        if kind is None:
            return cls("cpu", library.cpu)
        return cls(kind, library.get_device_module(kind))

    @property
    def is_accelerator(self) -> bool:
        """Whether anything is moved at all."""
        return self.kind != "cpu"

    def facts(self) -> dict[str, str | None]:
        """Return its kind, name and unique id; None for what it does not tell.

        Makes a context on it.
        """
        ask = getattr(self.module, "get_device_properties", None)
        found = None
        if self.is_accelerator and ask is not None:
            with contextlib.suppress(RuntimeError, AssertionError):
                found = ask(self.module.current_device())
        name, uuid = getattr(found, "name", None), getattr(found, "uuid", None)
        return {
            "kind": self.kind,
            "name": None if name is None else str(name),
            "uuid": None if uuid is None else str(uuid),
        }

    def synchronize(self) -> None:
        """Wait until all that was asked of it is done."""
        if self.is_accelerator:
            self.module.synchronize()

    def copies(self) -> Copies:
        """Return what moves batches to it."""
        return Copies(self)


class Copies:
    """Moves batches on a stream of their own, and keeps two events of each copy.

    A device without streams or timed events (Apple's has one stream) copies on the
    stream that all else uses: how long that takes is not told then, and `untimed` says
    why.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._events: list[tuple[Any, Any]] = []
        self._stream: Any = None
        self.untimed: str | None = None
        """Why the device does not tell how long a copy takes; None: it does."""
        module = device.module
        if not device.is_accelerator:
            self.untimed = "no accelerator: nothing was moved"
        elif not (hasattr(module, "Stream") and hasattr(module, "stream")):
            self.untimed = f"{device.kind} has no streams: copies wait for all else"
        else:
            self._stream = module.Stream()
            self._check_events()

    def _check_events(self) -> None:
        try:
            self._event()
        except (AttributeError, TypeError, RuntimeError, NotImplementedError):
            self.untimed = f"{self._device.kind} has no events that tell the time"

    def _event(self) -> Any:
        return self._device.module.Event(enable_timing=True)

    def send(self, batch: Any) -> tuple[Any, Any]:
        """Ask for a copy of a batch; return it, and its last event (None: none)."""
        device = self._device
        if self.untimed is not None:
            with self._on_stream():
                return moved(batch, device.kind), None
        begin, end = self._event(), self._event()
        with self._on_stream():
            begin.record()
            found = moved(batch, device.kind)
            end.record()
        self._events.append((begin, end))
        return found, end

    def _on_stream(self) -> AbstractContextManager[Any]:
        if self._stream is None:
            return contextlib.nullcontext()
        context: AbstractContextManager[Any] = self._device.module.stream(self._stream)
        return context

    def seconds(self, last: int) -> list[float] | None:
        """Return what each of the last copies took by the device's clock.

        None where it does not tell; `untimed` says why then. Waits for the device.

        Args:
            last: how many.
        """
        if self.untimed is not None:
            return None
        self._device.synchronize()
        try:
            # elapsed_time tells milliseconds
            times = [begin.elapsed_time(end) / 1000 for begin, end in self._events]
        except (RuntimeError, NotImplementedError):
            self.untimed = f"events of {self._device.kind} do not tell the time"
            return None
        return times[len(times) - last :]


def moved(value: Any, device: str) -> Any:
    """Return a batch with all its tensors on a device, as training moves it."""
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [moved(item, device) for item in value]
    return value


def tensors_of(value: Any, depth: int = 8) -> Iterator[torch.Tensor]:
    """Yield the tensors of a batch, those in attributes of a class of the user's too.

    Args:
        value: the batch.
        depth: containers within each other that are looked into.
    """
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and not isinstance(value, (str, bytes)):
        parts: list[Any] = []
        if isinstance(value, Mapping):
            parts = list(value.values())
        elif isinstance(value, (list, tuple)):
            parts = list(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            parts = list(vars(value).values())
        for part in parts:
            yield from tensors_of(part, depth - 1)
