"""Which accelerators the machine has, as NVIDIA's management library tells.

The library is asked without a CUDA context, so that nothing is left on a device and a
later fork stays safe. Utilisation and a trial's device memory do not belong here.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from autoloader.values.machine import Accelerator

Answer = TypeVar("Answer")

# Codes of nvmlReturn_t in nvml.h, which are part of the library's binary interface.
_REASONS = {
    4: "the NVIDIA driver's devices may not be opened by this user",
    9: "the NVIDIA driver is not loaded",
    12: "the NVIDIA driver's library libnvidia-ml is not installed",
    18: "the loaded NVIDIA driver and its library have different versions",
}


CUT = (
    "is cut into parts (MIG): name and memory are those of the whole, and how busy a "
    "part is, is not told"
)
"""What is said of such a device."""


class NvmlMemory(Protocol):
    """What the library tells about a device's memory."""

    @property
    def total(self) -> int:
        """The whole memory in bytes."""


class Nvml(Protocol):
    """The part of the module `pynvml` that is used here."""

    @property
    def NVMLError(self) -> type[Exception]:
        """What every call below raises."""

    def nvmlInit(self) -> object:
        """Load the library and connect to the driver."""

    def nvmlShutdown(self) -> object:
        """Let go of the library."""

    def nvmlSystemGetDriverVersion(self) -> str | bytes:
        """Return the driver's version."""

    def nvmlDeviceGetCount(self) -> int:
        """Return the number of devices."""

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> object:
        """Return what the calls about one device take."""

    def nvmlDeviceGetName(self, handle: object, /) -> str | bytes:
        """Return the product name."""

    def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> NvmlMemory:
        """Return the device's memory."""

    def nvmlDeviceGetMigMode(self, handle: object, /) -> Sequence[int]:
        """Return whether it is cut into parts: now, and from the next start on."""


def read_accelerators(
    nvml: Nvml | None = None,
) -> tuple[tuple[Accelerator, ...], str | None]:
    """Return the accelerators, and why some or all of them are missing.

    Args:
        nvml: The module to ask; None imports `pynvml`.

    Returns:
        The devices in the driver's order, and one sentence on what could not be read;
        None where all were read. Nothing is raised.
    """
    found, why = load_nvml(nvml)
    if found is None:
        return (), why
    try:
        return _devices(found)
    except (found.NVMLError, OSError) as exc:
        return (), _reason(exc)
    finally:
        _answer(found, found.nvmlShutdown)


def load_nvml(nvml: Nvml | None = None) -> tuple[Nvml | None, str | None]:
    """Return NVIDIA's library, loaded, or why it cannot be; nothing is raised.

    Args:
        nvml: The module; None imports `pynvml`.
    """
    if nvml is None:
        try:
            nvml = cast("Nvml", importlib.import_module("pynvml"))
        except ImportError:
            return None, "the package nvidia-ml-py is not installed"
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError, OSError) as exc:
        return None, _reason(exc)
    return nvml, None


def _devices(nvml: Nvml) -> tuple[tuple[Accelerator, ...], str | None]:
    count = nvml.nvmlDeviceGetCount()
    if count == 0:
        return (), "the NVIDIA driver lists no device"
    driver = _answer(nvml, nvml.nvmlSystemGetDriverVersion)
    devices: list[Accelerator] = []
    note: str | None = None
    for index in range(count):
        try:
            devices.append(_device(nvml, index, driver))
            if _is_cut(nvml, index):
                note = f"device {index} {CUT}"
        except nvml.NVMLError as exc:
            note = f"device {index} cannot be read: {_reason(exc)}"
    return tuple(devices), note


def _device(nvml: Nvml, index: int, driver: str | bytes | None) -> Accelerator:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    # Devices that share the host's memory have none of their own to tell of.
    memory = _answer(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
    return Accelerator(
        name=text_of(nvml.nvmlDeviceGetName(handle)),
        kind="cuda",
        memory_bytes=memory,
        driver=None if driver is None else text_of(driver),
    )


def _is_cut(nvml: Nvml, index: int) -> bool:
    """Return whether a device is cut into parts, each of them a device to PyTorch."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    modes = _answer(nvml, lambda: nvml.nvmlDeviceGetMigMode(handle))
    return modes is not None and bool(modes[0])


def _answer(nvml: Nvml, ask: Callable[[], Answer]) -> Answer | None:
    try:
        return ask()
    except nvml.NVMLError:
        return None


def _reason(exc: Exception) -> str:
    code = getattr(exc, "value", None)
    if isinstance(code, int) and code in _REASONS:
        return _REASONS[code]
    return f"the NVIDIA driver's library says: {exc}"


def text_of(name: str | bytes) -> str:
    """Return a name as text: older releases of the module do not decode."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
