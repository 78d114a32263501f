"""How busy accelerators are while a training loop runs, as NVIDIA's library tells.

Looked at from the parent, a few times a second: nothing of it runs in the timed
process. Which devices there are is `measure.accelerator`'s.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Look = Callable[[], Sequence[float] | None]


class UtilisationMeter:
    """Takes the mean of what the driver tells of each device.

    Args:
        look: tells the part of the time (0-1) that each device worked of late; None
            where it is not told. None asks NVIDIA's library.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look_of_nvml() if look is None else look
        self._seen: list[Sequence[float]] = []
        self._steps = -1

    def begin(self) -> None:
        """Forget what was seen: another pass begins."""
        self._seen, self._steps = [], -1

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
        if not self._seen:
            return None
        devices: list[tuple[float, ...]] = list(zip(*self._seen, strict=False))
        return max(sum(shares) / len(shares) for shares in devices)


def look_of_nvml(nvml: Any = None) -> Look:
    """Return what asks NVIDIA's library; it tells nothing where that cannot be asked.

    Args:
        nvml: the module; None imports `pynvml`.
    """
    try:
        found = importlib.import_module("pynvml") if nvml is None else nvml
    except ImportError:
        return lambda: None
    try:
        found.nvmlInit()
    except (found.NVMLError, OSError):
        return lambda: None

    def look() -> Sequence[float] | None:
        try:
            handles = map(found.nvmlDeviceGetHandleByIndex, range(_count(found)))
            rates = map(found.nvmlDeviceGetUtilizationRates, handles)
            return [rate.gpu / 100 for rate in rates]
        except found.NVMLError:  # a device that was cut into parts tells none
            return None

    return look


def _count(nvml: Any) -> int:
    count: int = nvml.nvmlDeviceGetCount()
    return count
