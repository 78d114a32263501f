"""Reads what this machine offers, once, into a `Machine`.

It puts together what the readers of this folder find. What changes while a trial runs
belongs in the samplers. psutil and NVML are loaded only when they are asked.
"""

import os
import platform
import re
import sys
from pathlib import Path

from autoloader.measure.accelerator import Nvml, read_accelerators
from autoloader.measure.cgroup import cpu_quota, memory_left, memory_limit
from autoloader.measure.proc import read_kernel_text, shm_space
from autoloader.values.machine import Machine, smaller_of_affinity_and_quota

# (implementer, part) of /proc/cpuinfo, as lscpu names them (util-linux, lscpu-arm.c).
_ARM_CORES = {
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0b"): "Arm Cortex-A76",
    ("0x41", "0xd0c"): "Arm Neoverse-N1",
    ("0x41", "0xd40"): "Arm Neoverse-V1",
    ("0x41", "0xd49"): "Arm Neoverse-N2",
    ("0x41", "0xd4f"): "Arm Neoverse-V2",
}


def read_machine(*, root: Path = Path("/"), nvml: Nvml | None = None) -> Machine:
    """Return what this machine offers to this process now.

    Args:
        root: The root of the file system that holds `/proc`, `/sys` and `/dev/shm`.
        nvml: The module to ask for accelerators; None imports `pynvml`.
    """
    logical = os.cpu_count() or 1
    affinity = _affinity_cpus() or logical
    quota = cpu_quota(root)
    total, available = _memory(root)
    limit, left = memory_limit(root), memory_left(root)
    shm = shm_space(root / "dev/shm")
    accelerators, note = read_accelerators(nvml)
    return Machine(
        cpu_model=_cpu_model(root),
        logical_cpus=logical,
        affinity_cpus=affinity,
        quota_cpus=quota,
        effective_cpus=smaller_of_affinity_and_quota(affinity, quota),
        memory_total_bytes=total,
        memory_limit_bytes=total if limit is None else min(total, limit),
        memory_available_bytes=available if left is None else min(available, left),
        shm_total_bytes=shm.total_bytes if shm else None,
        shm_free_bytes=shm.free_bytes if shm else None,
        open_files_limit=_open_files_limit(),
        accelerators=accelerators,
        accelerator_note=note,
        system=f"{platform.system()} {platform.machine()}",
        kernel=platform.release(),
        python=platform.python_version(),
    )


def parse_cpu_model(text: str) -> str | None:
    """Read the processor's name out of `/proc/cpuinfo`.

    Returns:
        The name; for an Arm core without one, what its maker's numbers mean, or the
        numbers themselves; None where the text has neither.
    """
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    # "model name" on x86, "cpu" on POWER.
    if name := facts.get("model name") or facts.get("cpu"):
        return name
    implementer, part = facts.get("CPU implementer"), facts.get("CPU part")
    if implementer is None or part is None:
        return None
    unnamed = f"Arm implementer {implementer} part {part}"
    return _ARM_CORES.get((implementer, part), unnamed)


def parse_meminfo(text: str) -> tuple[int, int] | None:
    """Read `/proc/meminfo`.

    Returns:
        Total and available memory in bytes; None where either is absent.
    """
    kib = dict(re.findall(r"^(Mem\w+):\s+(\d+) kB$", text, re.MULTILINE))
    if "MemTotal" not in kib or "MemAvailable" not in kib:
        return None
    return 1024 * int(kib["MemTotal"]), 1024 * int(kib["MemAvailable"])


def _memory(root: Path) -> tuple[int, int]:
    known = parse_meminfo(read_kernel_text(root / "proc/meminfo") or "")
    if known is not None:
        return known
    import psutil

    memory = psutil.virtual_memory()
    return memory.total, memory.available


def _affinity_cpus() -> int | None:
    """Return the CPUs that this process may run on, None where nobody tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    # Python 3.13 and later, where the system has no affinity.
    count = getattr(os, "process_cpu_count", os.cpu_count)()
    return count if isinstance(count, int) else None


def _open_files_limit() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _cpu_model(root: Path) -> str:
    return (
        parse_cpu_model(read_kernel_text(root / "proc/cpuinfo") or "")
        or _cpu_model_of_macos()
        or platform.processor()
        or platform.machine()
        or "unknown"
    )


def _cpu_model_of_macos() -> str | None:
    if platform.system() != "Darwin":
        return None
    import subprocess

    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None
