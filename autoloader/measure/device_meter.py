"""Look at accelerators while a training loop runs, as NVIDIA's library tells of them.

Looked at from the parent, a few times a second: nothing of it runs in the timed
process, and no context is made on a device. Which devices there are is
`measure.accelerator`'s; what is worth a caution `measure.device_doubts`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from autoloader.measure.accelerator import load_nvml, text_of
from autoloader.values.device import DeviceSeen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Look = Callable[[], Sequence["DeviceLook"]]

SM_CLOCK = 1
"""Clock of the cores: nvmlClockType_t of nvml.h."""

SLOWED_BY = {
    0x4: "its power limit",
    0x8: "its hardware (heat, or too little power)",
    0x20: "heat",
    0x40: "heat, by its hardware",
    0x80: "the power supply's brake",
}
"""Bits of nvmlClocksEventReasons that hold clocks back against the user's wish. Others
tell that it rests, or that somebody chose the clocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLook:
    """What the driver tells of one device at one moment; None: it does not tell."""

    name: str
    uuid: str | None
    utilisation: float | None
    """Part of the last fraction of a second (0-1) in which any core worked."""
    clock_mhz: int | None
    most_clock_mhz: int | None
    slowed_by: tuple[str, ...] = ()
    """What holds its clocks back, in words."""
    link_generation: int | None = None
    most_link_generation: int | None = None
    link_width: int | None = None
    most_link_width: int | None = None
    processes: int | None = None
    """Processes that compute on it."""


class DeviceMeter:
    """Gathers what the driver tells of each device during a pass.

    Args:
        look: tells what each device does now; nothing where that is not told. None asks
            NVIDIA's library.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look_of_nvml() if look is None else look
        self._seen: list[Sequence[DeviceLook]] = []
        self._before: Sequence[DeviceLook] = ()
        self._steps = -1

    def begin(self) -> None:
        """Forget what was seen: another pass begins, whose process is not there yet."""
        self._seen, self._steps = [], -1
        self._before = self._look()

    def note(self, steps: int) -> None:
        """Look once while a loop runs.

        Args:
            steps: done in it; fewer than before: another loop has begun, which is the
                one that is timed, and what was seen before it does not count.
        """
        if steps < self._steps:
            self._seen = []
        self._steps = steps
        found = self._look()
        if found:
            self._seen.append(found)

    @property
    def share(self) -> float | None:
        """Mean utilisation (0-1) of the busiest device; None where none was told."""
        found = [device.utilisation for device in self._devices()]
        return max((share for share in found if share is not None), default=None)

    def device(self, uuid: str | None) -> DeviceSeen | None:
        """Return what was seen of one device; None where it is not known which it was.

        Args:
            uuid: of the device, as PyTorch or the driver writes it; None: not known,
                which is enough where there is only one.
        """
        devices = self._devices()
        if uuid is None:
            return devices[0] if len(devices) == 1 else None
        wanted = _bare(uuid)
        return next(
            (item for item in devices if item.uuid and _bare(item.uuid) == wanted), None
        )

    def _devices(self) -> list[DeviceSeen]:
        """Return what was seen of each device, those that were there at each look."""
        if not self._seen:
            return []
        before = {look.uuid: look.processes for look in self._before}
        return [
            _seen_of(looks, before.get(looks[0].uuid))
            for looks in zip(*self._seen, strict=False)
        ]


def _seen_of(looks: Sequence[DeviceLook], others: int | None) -> DeviceSeen:
    """Return all looks at one device as one."""
    last = looks[-1]
    return DeviceSeen(
        name=last.name,
        uuid=last.uuid,
        looks=len(looks),
        utilisation=_mean([look.utilisation for look in looks]),
        clock_mhz=_mean([look.clock_mhz for look in looks]),
        most_clock_mhz=last.most_clock_mhz,
        slowed_by=tuple(dict.fromkeys(why for look in looks for why in look.slowed_by)),
        link_generation=_most([look.link_generation for look in looks]),
        most_link_generation=last.most_link_generation,
        link_width=_most([look.link_width for look in looks]),
        most_link_width=last.most_link_width,
        other_processes=others,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _most(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _bare(uuid: str) -> str:
    """Return an id as PyTorch writes it: the driver puts `GPU-` before it."""
    return uuid.removeprefix("GPU-").lower()


def look_of_nvml(nvml: Any = None) -> Look:
    """Return what asks NVIDIA's library; it tells nothing where that cannot be asked.

    Args:
        nvml: the module; None imports `pynvml`.
    """
    found, _reason = load_nvml(nvml)
    if found is None:
        return lambda: ()

    def look() -> Sequence[DeviceLook]:
        looks: list[DeviceLook] = []
        for index in range(_told(found, "nvmlDeviceGetCount") or 0):
            handle = _told(found, "nvmlDeviceGetHandleByIndex", index)
            if handle is not None:
                looks.append(look_at(found, handle))
        return looks

    return look


def look_at(nvml: Any, handle: Any) -> DeviceLook:
    """Return what the library tells of a device now; what it refuses is None.

    Args:
        nvml: the module, loaded.
        handle: of the device.
    """

    def ask(name: str, *others: Any) -> Any:
        return _told(nvml, name, handle, *others)

    rates = ask("nvmlDeviceGetUtilizationRates")  # none of a device cut into parts
    uuid, processes = ask("nvmlDeviceGetUUID"), ask(_PROCESSES)
    return DeviceLook(
        name=text_of(ask("nvmlDeviceGetName") or "unknown"),
        uuid=None if uuid is None else text_of(uuid),
        utilisation=None if rates is None else rates.gpu / 100,
        clock_mhz=ask("nvmlDeviceGetClockInfo", SM_CLOCK),
        most_clock_mhz=ask("nvmlDeviceGetMaxClockInfo", SM_CLOCK),
        slowed_by=reasons_of(_bits(ask)),
        link_generation=ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        most_link_generation=ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        link_width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
        most_link_width=ask("nvmlDeviceGetMaxPcieLinkWidth"),
        processes=None if processes is None else len(processes),
    )


_PROCESSES = "nvmlDeviceGetComputeRunningProcesses"


def reasons_of(bits: int) -> tuple[str, ...]:
    """Return what holds clocks back, in words."""
    return tuple(words for bit, words in SLOWED_BY.items() if bits & bit)


def _bits(ask: Callable[[str], Any]) -> int:
    """Return why clocks are as they are; older drivers have another name for it."""
    found = ask("nvmlDeviceGetCurrentClocksEventReasons")
    if found is None:
        found = ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    return 0 if found is None else int(found)


def _told(nvml: Any, name: str, *arguments: Any) -> Any:
    """Return what the library answers; None where it, or an older module, does not."""
    function = getattr(nvml, name, None)
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None
