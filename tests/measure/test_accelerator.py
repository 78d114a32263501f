"""What is read from NVIDIA's management library, and what is said without it."""

import sys
from types import SimpleNamespace
from typing import NoReturn

import pytest

from autoloader.measure.accelerator import Nvml, read_accelerators
from autoloader.values.machine import Accelerator

LIBRARY_NOT_FOUND = 12
DRIVER_NOT_LOADED = 9
NO_PERMISSION = 4
VERSION_MISMATCH = 18
NOT_SUPPORTED = 3
GPU_IS_LOST = 15


class FakeNvmlError(Exception):
    """Stands for `pynvml.NVMLError`."""

    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


def failing(code: int) -> NoReturn:
    """Raise the library's error."""
    raise FakeNvmlError(code)


class FakeNvml:
    """Stands for the module `pynvml` with two devices."""

    NVMLError = FakeNvmlError
    names: tuple[str | bytes, ...] = ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3")
    opened = 0

    def nvmlInit(self) -> None:
        """Count how often the library is held."""
        self.opened += 1

    def nvmlShutdown(self) -> None:
        """Count it back."""
        self.opened -= 1

    def nvmlSystemGetDriverVersion(self) -> str | bytes:
        """Return a version as newer releases of the module do."""
        return "560.35.03"

    def nvmlDeviceGetCount(self) -> int:
        """Return how many names there are."""
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> object:
        """Return the index for a handle."""
        return index

    def nvmlDeviceGetName(self, handle: object, /) -> str | bytes:
        """Return a device's name."""
        assert isinstance(handle, int)
        return self.names[handle]

    def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> SimpleNamespace:
        """Return 80 GiB."""
        return SimpleNamespace(total=80 * 2**30)

    def nvmlDeviceGetMigMode(self, handle: object, /) -> list[int]:
        """Return that no device is cut into parts, nor will be."""
        return [0, 0]


H100 = Accelerator(
    name="NVIDIA H100 80GB HBM3",
    kind="cuda",
    memory_bytes=80 * 2**30,
    driver="560.35.03",
)


def test_devices_are_listed_with_memory_and_driver() -> None:
    """A working driver leaves no note, and the library is let go of."""
    nvml = FakeNvml()

    devices, note = read_accelerators(nvml)

    assert devices == (H100, H100)
    assert note is None
    assert nvml.opened == 0


def test_names_may_come_as_bytes() -> None:
    """Older releases of the module do not decode."""

    class Older(FakeNvml):
        names = (b"Tesla T4",)

        def nvmlSystemGetDriverVersion(self) -> bytes:
            return b"450.80.02"

    devices, _ = read_accelerators(Older())

    assert [(device.name, device.driver) for device in devices] == [
        ("Tesla T4", "450.80.02")
    ]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            LIBRARY_NOT_FOUND,
            "the NVIDIA driver's library libnvidia-ml is not installed",
        ),
        (DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded"),
        (
            NO_PERMISSION,
            "the NVIDIA driver's devices may not be opened by this user",
        ),
        (
            VERSION_MISMATCH,
            "the loaded NVIDIA driver and its library have different versions",
        ),
        (999, "the NVIDIA driver's library says: NVML error 999"),
    ],
)
def test_a_driver_that_does_not_start_is_a_note(code: int, sentence: str) -> None:
    """The sentence says why; what was never opened is not closed."""

    class Broken(FakeNvml):
        def nvmlInit(self) -> None:
            failing(code)

    nvml = Broken()

    devices, note = read_accelerators(nvml)

    assert devices == ()
    assert note == sentence
    assert nvml.opened == 0


def test_a_library_that_cannot_be_loaded_is_a_note() -> None:
    """A file of the wrong architecture fails in the loader, not in the library."""

    class Foreign(FakeNvml):
        def nvmlInit(self) -> None:
            raise OSError("wrong ELF class")

    devices, note = read_accelerators(Foreign())

    assert devices == ()
    assert note == "the NVIDIA driver's library says: wrong ELF class"


def test_a_driver_that_fails_after_its_start_is_closed() -> None:
    """The library is let go of on every way out."""

    class Fails(FakeNvml):
        def nvmlDeviceGetCount(self) -> int:
            failing(NO_PERMISSION)

    nvml = Fails()

    devices, note = read_accelerators(nvml)

    assert devices == ()
    assert note == "the NVIDIA driver's devices may not be opened by this user"
    assert nvml.opened == 0


def test_a_driver_without_devices_is_a_note() -> None:
    """No device is told apart from no driver."""

    class Empty(FakeNvml):
        names = ()

    devices, note = read_accelerators(Empty())

    assert devices == ()
    assert note == "the NVIDIA driver lists no device"


def test_a_lost_device_does_not_hide_the_others() -> None:
    """The rest is listed, and the note names the one that is missing."""

    class OneLost(FakeNvml):
        def nvmlDeviceGetHandleByIndex(self, index: int, /) -> object:
            return failing(GPU_IS_LOST) if index == 0 else index

    devices, note = read_accelerators(OneLost())

    assert devices == (H100,)
    assert note == (
        "device 0 cannot be read: the NVIDIA driver's library says: NVML error 15"
    )


def test_a_device_without_memory_of_its_own_is_still_listed() -> None:
    """Boards that share the host's memory answer that the question is not supported."""

    class Shared(FakeNvml):
        def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> SimpleNamespace:
            failing(NOT_SUPPORTED)

        def nvmlSystemGetDriverVersion(self) -> str:
            failing(NOT_SUPPORTED)

    devices, note = read_accelerators(Shared())

    assert [(device.memory_bytes, device.driver) for device in devices] == [
        (None, None)
    ] * 2
    assert note is None


def test_a_device_that_is_cut_into_parts_is_a_note() -> None:
    """It is listed whole, and the note says what that hides."""

    class Cut(FakeNvml):
        def nvmlDeviceGetMigMode(self, handle: object, /) -> list[int]:
            return [int(handle == 1), 0]

    devices, note = read_accelerators(Cut())

    assert devices == (H100, H100)
    assert note == (
        "device 1 is cut into parts (MIG): name and memory are those of the whole, and "
        "how busy a part is, is not told"
    )


def test_a_failing_shutdown_does_not_lose_the_reading() -> None:
    """Devices that were read are told, whatever the library does afterwards."""

    class Stuck(FakeNvml):
        def nvmlShutdown(self) -> None:
            failing(999)

    devices, note = read_accelerators(Stuck())

    assert devices == (H100, H100)
    assert note is None


def test_a_missing_package_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the package is tuned for its CPUs."""
    monkeypatch.setitem(sys.modules, "pynvml", None)

    devices, note = read_accelerators()

    assert devices == ()
    assert note == "the package nvidia-ml-py is not installed"


def test_this_machines_accelerators_can_be_read() -> None:
    """With the real library there are devices or a reason, and never an error."""
    devices, note = read_accelerators()

    assert devices or note


def test_the_real_module_has_what_is_used() -> None:
    """The names of the Protocol exist in the package, so that the fake is honest."""
    pynvml = pytest.importorskip("pynvml")
    used = [name for name in vars(Nvml) if name.startswith(("nvml", "NVML"))]

    missing = [name for name in used if not hasattr(pynvml, name)]

    assert used
    assert missing == []
