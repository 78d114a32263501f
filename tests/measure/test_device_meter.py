"""Accelerators are looked at while the timed loop runs, by what their driver tells."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from autoloader.measure.accelerator import read_accelerators
from autoloader.measure.device_meter import (
    SLOWED_BY,
    SM_CLOCK,
    DeviceLook,
    DeviceMeter,
    look_of_nvml,
    reasons_of,
)
from scripts.accelerator.recorded import RecordedNvml, record_nvml

RECORDED = Path(__file__).parent / "nvml"


def library(name: str) -> Any:
    """Return what answers as a recording says, with the library's own errors."""
    return RecordedNvml.read(RECORDED / f"{name}.json", pynvml)


def a_look(
    utilisation: float | None = 0.5, *, uuid: str = "GPU-1", **others: Any
) -> DeviceLook:
    """Return a look at a device."""
    known: dict[str, Any] = {"clock_mhz": 1000, "most_clock_mhz": 2000, **others}
    return DeviceLook(name="A GPU", uuid=uuid, utilisation=utilisation, **known)


def meter_of(looks: Sequence[Sequence[DeviceLook]]) -> DeviceMeter:
    """Return a meter that sees these one after the other."""
    left = iter(looks)
    return DeviceMeter(lambda: next(left))


def test_the_busiest_device_counts_by_its_mean() -> None:
    """Others wait for another job, or for none."""
    meter = meter_of(
        [
            [a_look(0.0), a_look(0.5, uuid="GPU-2")],
            [a_look(0.1), a_look(1.0, uuid="GPU-2")],
            [],
        ]
    )

    for steps in range(3):
        meter.note(steps)

    assert meter.share == pytest.approx(0.75)


def test_what_was_seen_before_the_timed_loop_does_not_count() -> None:
    """Its steps begin anew."""
    meter = meter_of([[a_look(0.1)], [a_look(0.9)], [a_look(0.7)]])

    for steps in (2, 0, 5):
        meter.note(steps)

    assert meter.share == pytest.approx(0.8)


def test_another_pass_forgets_the_last_one() -> None:
    """Each has a share of its own, or none."""
    meter = meter_of([[a_look(0.1)], []])
    meter.note(1)

    meter.begin()

    assert meter.share is None
    assert meter.device("1") is None


def test_a_device_is_found_as_pytorch_writes_its_id() -> None:
    """Without the driver's prefix, in small letters; another's figures are left out."""
    meter = DeviceMeter(look_of_nvml(library("two_devices")))
    meter.begin()
    meter.note(1)

    first = meter.device("1f2e3d4c-0000-1111-2222-333344445555")
    second = meter.device("GPU-aaaabbbb-0000-1111-2222-333344445555")

    assert first is not None
    assert (first.utilisation, first.clock_mhz, first.slowed_by) == (0.25, 1410, ())
    assert (first.link_generation, first.link_width) == (5, 16)
    assert first.other_processes == 0
    assert second is not None
    assert second.slowed_by == ("its power limit", "heat")
    assert (second.link_generation, second.most_link_generation) == (3, 5)
    assert second.other_processes == 2


def test_of_two_devices_none_is_taken_for_the_one_that_ran() -> None:
    """Where PyTorch does not tell which it was, or names a part of one."""
    meter = DeviceMeter(look_of_nvml(library("two_devices")))
    meter.note(1)

    assert meter.device(None) is None
    assert meter.device("MIG-1f2e3d4c") is None
    assert meter.share == 0.8


def test_the_only_device_is_the_one_that_ran() -> None:
    """No id is needed then."""
    meter = DeviceMeter(look_of_nvml(library("old_driver")))
    meter.begin()
    meter.note(1)

    found = meter.device(None)

    assert found is not None
    assert found.name == "Tesla T4"
    assert found.slowed_by == ("its power limit",)
    assert found.link_width is None
    assert found.other_processes == 1


def test_a_device_that_is_cut_into_parts_tells_little() -> None:
    """Nothing is raised for what it refuses, nor for what this user may not see."""
    meter = DeviceMeter(look_of_nvml(library("cut_into_parts")))
    meter.begin()
    meter.note(1)

    found = meter.device(None)

    assert found is not None
    assert found.name == "NVIDIA A100-SXM4-80GB"
    assert found.utilisation is None
    assert found.clock_mhz is None
    assert found.slowed_by == ()
    assert found.other_processes is None
    assert meter.share is None


def test_links_are_told_by_the_highest_that_was_seen() -> None:
    """At rest they are slower, to save power."""
    looks = [
        [a_look(link_generation=generation, link_width=16, processes=3)]
        for generation in (1, 4, 1)
    ]
    meter = meter_of([[a_look(processes=0)], *looks])
    meter.begin()
    for steps in range(3):
        meter.note(steps)

    found = meter.device("1")

    assert found is not None
    assert found.looks == 3
    assert found.link_generation == 4
    assert found.other_processes == 0  # those of the pass itself do not count


@pytest.mark.parametrize("code", [4, 9, 12, 18, 999])
def test_a_library_that_cannot_be_loaded_tells_nothing(code: int) -> None:
    """No driver, no library, no permission: nothing is raised."""
    refused = RecordedNvml({"nvmlInit()": {"error": code}}, pynvml)

    assert list(look_of_nvml(refused)()) == []


def test_a_device_that_is_lost_meanwhile_is_left_out() -> None:
    """The others are still told of."""
    nvml = library("two_devices")
    nvml._calls["nvmlDeviceGetHandleByIndex(0)"] = {"error": 15}

    found = look_of_nvml(nvml)()

    assert [item.uuid for item in found] == ["GPU-aaaabbbb-0000-1111-2222-333344445555"]


def test_a_library_that_breaks_down_meanwhile_tells_nothing() -> None:
    """The driver was unloaded, say."""
    nvml = library("two_devices")
    look = look_of_nvml(nvml)
    nvml._calls["nvmlDeviceGetCount()"] = {"error": 1}

    assert list(look()) == []


def test_recorded_devices_are_listed() -> None:
    """Name, memory and driver, and what is not told of one that is cut into parts."""
    two, note = read_accelerators(library("two_devices"))
    cut, cut_note = read_accelerators(library("cut_into_parts"))

    assert [item.name for item in two] == ["NVIDIA H100 80GB HBM3"] * 2
    assert two[0].memory_bytes == 85520809984
    assert note is None
    assert cut[0].driver == "535.161.08"
    assert cut_note is not None
    assert cut_note.startswith("device 0 is cut into parts (MIG)")


def test_bits_are_those_of_the_library() -> None:
    """By the names that it has for them."""
    names = {
        "SwPowerCap": "its power limit",
        "HwSlowdown": "its hardware (heat, or too little power)",
        "SwThermalSlowdown": "heat",
        "HwThermalSlowdown": "heat, by its hardware",
        "HwPowerBrakeSlowdown": "the power supply's brake",
    }

    found = {
        getattr(pynvml, f"nvmlClocksEventReason{name}"): words
        for name, words in names.items()
    }

    assert found == SLOWED_BY
    assert reasons_of(pynvml.nvmlClocksEventReasonGpuIdle) == ()
    assert pynvml.NVML_CLOCK_SM == SM_CLOCK


def test_what_is_recorded_is_answered_again(tmp_path: Path) -> None:
    """A recording of a recording says the same, its errors too."""
    for name in ("two_devices", "cut_into_parts", "old_driver"):
        record_nvml(tmp_path / "again.json", library(name))

        again = RecordedNvml.read(tmp_path / "again.json", pynvml)

        assert list(look_of_nvml(again)()) == list(look_of_nvml(library(name))())
        assert read_accelerators(again) == read_accelerators(library(name))


@pytest.mark.parametrize("code", [4, 9, 12])
def test_a_library_that_cannot_be_loaded_is_recorded_as_such(
    code: int, tmp_path: Path
) -> None:
    """Its reason is answered again."""
    refused = RecordedNvml({"nvmlInit()": {"error": code}}, pynvml)
    record_nvml(tmp_path / "refused.json", refused)

    again = RecordedNvml.read(tmp_path / "refused.json", pynvml)

    assert read_accelerators(again) == read_accelerators(refused)
    assert read_accelerators(again)[1] is not None


def test_the_real_library_has_what_is_asked_for() -> None:
    """By the names of the recordings."""
    calls = {
        call.partition("(")[0]
        for name in ("two_devices", "old_driver")
        for call in library(name)._calls
    }

    assert [name for name in calls if not hasattr(pynvml, name)] == []


def test_processes_are_counted_by_their_number_alone() -> None:
    """In a container their ids are those of another world."""
    nvml = library("old_driver")
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: (
        [SimpleNamespace(pid=7, usedGpuMemory=None)] * 3
    )

    (found,) = look_of_nvml(nvml)()

    assert found.processes == 3
