"""What is put together about a machine, from captured trees and from this one."""

import dataclasses
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from autoloader.measure.machine import parse_cpu_model, parse_meminfo, read_machine
from autoloader.values.machine import Machine

GIB = 2**30

X86_CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC 7B13
cpu MHz\t\t: 2449.998
power management:

processor\t: 1
vendor_id\t: AuthenticAMD
model name\t: Another
"""

ARM_CPUINFO = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""

MEMINFO = """\
MemTotal:       16777216 kB
MemFree:          524288 kB
MemAvailable:   12582912 kB
Buffers:          247404 kB
HugePages_Total:       0
"""

V2_MOUNTS = "33 24 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"


class DriverMissingError(Exception):
    """Stands for the error of `pynvml` where the driver is not loaded."""

    value = 9


class NoNvml:
    """Stands for the module `pynvml` where the driver is not loaded."""

    NVMLError = DriverMissingError

    def nvmlInit(self, *handles: object) -> NoReturn:
        """Fail, as every call does without a driver."""
        raise DriverMissingError

    nvmlShutdown = nvmlSystemGetDriverVersion = nvmlDeviceGetCount = nvmlInit
    nvmlDeviceGetHandleByIndex = nvmlDeviceGetName = nvmlInit
    nvmlDeviceGetMemoryInfo = nvmlDeviceGetMigMode = nvmlInit


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write a captured tree below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def no_such_command(*arguments: object, **options: object) -> NoReturn:
    """Stand for `subprocess.run` where the program is absent."""
    raise FileNotFoundError


def test_a_container_is_read_with_its_limits(tmp_path: Path) -> None:
    """What the cgroup grants stands beside what the machine has."""
    root = plant(
        tmp_path,
        {
            "proc/cpuinfo": X86_CPUINFO,
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNTS,
            "sys/fs/cgroup/cpu.max": "50000 100000\n",
            "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory.stat": f"anon {GIB}\n",
        },
    )

    found = read_machine(root=root)

    assert found.cpu_model == "AMD EPYC 7B13"
    assert found.quota_cpus == 0.5
    assert found.effective_cpus == 0.5
    assert found.whole_cpus == 1
    assert found.memory_total_bytes == 16 * GIB
    assert found.memory_limit_bytes == 4 * GIB
    assert found.memory_available_bytes == 3 * GIB
    assert found.shm_total_bytes is None
    assert found.shm_free_bytes is None


def test_a_limit_above_the_machines_memory_changes_nothing(tmp_path: Path) -> None:
    """Neither limit nor what is left can exceed what the machine has."""
    root = plant(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": V2_MOUNTS,
            "sys/fs/cgroup/memory.max": f"{99 * GIB}\n",
        },
    )

    found = read_machine(root=root)

    assert found.memory_limit_bytes == 16 * GIB
    assert found.memory_available_bytes == 12 * GIB
    assert found.quota_cpus is None
    assert found.effective_cpus == found.affinity_cpus


def test_without_proc_the_totals_are_read_another_way(tmp_path: Path) -> None:
    """A system without `/proc` still tells its memory."""
    found = read_machine(root=tmp_path)

    assert found.memory_total_bytes >= found.memory_available_bytes > 0
    assert found.cpu_model


def test_missing_accelerators_are_explained(tmp_path: Path) -> None:
    """The reason is part of what is known about the machine."""
    found = read_machine(root=tmp_path, nvml=NoNvml())

    assert found.accelerators == ()
    assert found.accelerator_note == "the NVIDIA driver is not loaded"


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (X86_CPUINFO, "AMD EPYC 7B13"),
        (ARM_CPUINFO, "Arm Neoverse-N1"),
        (ARM_CPUINFO.replace("0xd0c", "0xfff"), "Arm implementer 0x41 part 0xfff"),
        (
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
            "POWER9, altivec supported",
        ),
        ("vendor_id       : IBM/S390\n", None),
        ("", None),
    ],
)
def test_the_cpu_is_named_as_its_architecture_names_it(
    text: str, model: str | None
) -> None:
    """The first CPU's name counts, and Arm's numbers stand in for a name."""
    assert parse_cpu_model(text) == model


def test_memory_is_read_from_meminfo() -> None:
    """Kibibytes become bytes; free memory alone is not what is available."""
    assert parse_meminfo(MEMINFO) == (16 * GIB, 12 * GIB)


def test_meminfo_without_available_memory_is_not_used() -> None:
    """Kernels before 3.14 do not tell it."""
    assert parse_meminfo("MemTotal: 16777216 kB\nMemFree: 524288 kB\n") is None


def test_macos_names_the_cpu_by_sysctl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no cpuinfo, but a variable of the kernel."""
    answer = subprocess.CompletedProcess([], 0, stdout="Apple M3 Pro\n")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: answer)

    found = read_machine(root=tmp_path)

    assert found.cpu_model == "Apple M3 Pro"


def test_a_macos_without_sysctl_falls_back_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that is absent leaves the architecture's name."""
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    monkeypatch.setattr(subprocess, "run", no_such_command)

    found = read_machine(root=tmp_path)

    assert found.cpu_model == "arm"


def test_without_affinity_python_counts_the_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither macOS nor Windows has an affinity to ask for."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 6, raising=False)

    found = read_machine(root=tmp_path)

    assert found.affinity_cpus == 6


def test_this_machine_can_be_read_and_stored() -> None:
    """Every fact comes out possible, and comes back from plain data."""
    found = read_machine()

    assert 1 <= found.whole_cpus <= found.logical_cpus
    assert found.memory_total_bytes >= found.memory_limit_bytes > 0
    assert found.memory_limit_bytes >= found.memory_available_bytes > 0
    assert found.accelerators or found.accelerator_note
    assert found.python == platform.python_version()
    assert Machine.from_dict(found.to_dict()) == found


def test_two_readings_of_a_machine_have_the_same_key() -> None:
    """The key serves to find a file again."""
    first, second = read_machine(), read_machine()

    assert first.key == second.key
    assert dataclasses.replace(first, memory_available_bytes=1).key == first.key


def test_importing_the_reader_loads_nothing_heavy() -> None:
    """A command that reads no machine pays for none of this."""
    program = (
        "import sys; before = set(sys.modules); import autoloader.measure.machine;"
        "heavy = {'torch', 'optuna', 'pandas', 'numpy', 'psutil', 'pynvml'};"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout == "[]\n"
