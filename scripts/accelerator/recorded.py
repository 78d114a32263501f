"""Record what NVIDIA's management library answers, and answer from a recording.

A recording is a JSON object: under `calls`, each call with its plain arguments
(`nvmlDeviceGetName(0)`; a device is its number) and what came of it: a value, a mapping
of a structure's fields, or `{"error": CODE}`. `device` and `driver` say of what.
"""

from __future__ import annotations

import importlib
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

OF_LIBRARY = ("nvmlSystemGetDriverVersion", "nvmlDeviceGetCount")

OF_DEVICE: tuple[tuple[str, tuple[int, ...], tuple[str, ...]], ...] = (
    ("nvmlDeviceGetName", (), ()),
    ("nvmlDeviceGetUUID", (), ()),
    ("nvmlDeviceGetMemoryInfo", (), ("total",)),
    ("nvmlDeviceGetMigMode", (), ()),
    ("nvmlDeviceGetUtilizationRates", (), ("gpu", "memory")),
    ("nvmlDeviceGetClockInfo", (1,), ()),
    ("nvmlDeviceGetMaxClockInfo", (1,), ()),
    ("nvmlDeviceGetCurrentClocksEventReasons", (), ()),
    ("nvmlDeviceGetCurrentClocksThrottleReasons", (), ()),
    ("nvmlDeviceGetCurrPcieLinkGeneration", (), ()),
    ("nvmlDeviceGetMaxPcieLinkGeneration", (), ()),
    ("nvmlDeviceGetCurrPcieLinkWidth", (), ()),
    ("nvmlDeviceGetMaxPcieLinkWidth", (), ()),
)
"""Calls about a device: further arguments, and fields of what they return; none: it is
a plain value. Processes are recorded by their number alone."""

PROCESSES = "nvmlDeviceGetComputeRunningProcesses"


def record_nvml(path: Path, nvml: Any = None) -> None:
    """Write what the library of this machine answers.

    Args:
        path: of the recording.
        nvml: the module; None imports `pynvml`.
    """
    library = importlib.import_module("pynvml") if nvml is None else nvml
    try:
        library.nvmlInit()
    except library.NVMLError as exc:
        calls: dict[str, Any] = {"nvmlInit()": {"error": exc.value}}
    else:
        calls = _calls(library)
        library.nvmlShutdown()
    text = json.dumps({"calls": calls}, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")


def _calls(library: Any) -> dict[str, Any]:
    """Return what a library that is loaded answers."""
    calls = {f"{name}()": _answer(library, name, (), ()) for name in OF_LIBRARY}
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        for name, others, fields in OF_DEVICE:
            said = ", ".join(map(str, (index, *others)))
            calls[f"{name}({said})"] = _answer(library, name, (handle, *others), fields)
        calls[f"{PROCESSES}({index})"] = _processes(library, handle)
    return calls


def _answer(library: Any, name: str, arguments: tuple[Any, ...], fields: Any) -> Any:
    function = getattr(library, name, None)
    if function is None:
        return {"error": library.NVML_ERROR_FUNCTION_NOT_FOUND}
    try:
        found = function(*arguments)
    except library.NVMLError as exc:
        return {"error": exc.value}
    if fields:
        return {field: int(getattr(found, field)) for field in fields}
    return found.decode() if isinstance(found, bytes) else found


def _processes(library: Any, handle: Any) -> Any:
    try:
        return {"processes": len(getattr(library, PROCESSES)(handle))}
    except library.NVMLError as exc:
        return {"error": exc.value}


class RecordedNvml:
    """Stands for the module `pynvml`: answers as it was recorded.

    Args:
        calls: of a recording.
        errors: the real module, whose error classes are raised.
    """

    def __init__(self, calls: dict[str, Any], errors: Any) -> None:
        self._calls = calls
        self._errors = errors
        self.NVMLError: type[Exception] = errors.NVMLError
        self.opened = 0

    @classmethod
    def read(cls, path: Path, errors: Any) -> RecordedNvml:
        """Return the library of a recording."""
        return cls(json.loads(path.read_text(encoding="utf-8"))["calls"], errors)

    def nvmlInit(self) -> None:
        """Load the library, or fail as it was recorded."""
        self._told("nvmlInit()", None)
        self.opened += 1

    def nvmlShutdown(self) -> None:
        """Let go of it."""
        self.opened -= 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        """Return the device's number for a handle, or fail as it was recorded."""
        return self._told(f"nvmlDeviceGetHandleByIndex({index})", index)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            said = ", ".join(map(str, arguments))
            return self._told(f"{name}({said})")

        return call

    def _told(self, call: str, *default: Any) -> Any:
        found = self._calls.get(call, *default)
        if found is None and not default:  # an older driver does not have it
            raise self._errors.NVMLError(self._errors.NVML_ERROR_FUNCTION_NOT_FOUND)
        if not isinstance(found, dict):
            return found
        if "error" in found:
            raise self._errors.NVMLError(found["error"])
        if "processes" in found:
            return [SimpleNamespace(pid=0)] * found["processes"]
        return SimpleNamespace(**found)
