"""What a machine offers to data loading, as one frozen value.

Only the value, its plain-data form and its hardware key stand here. How the facts are
read belongs in `autoloader.measure.machine`.
"""

import hashlib
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from autoloader.values.decode import Stored

_CPU_NOISE = re.compile(r"\((?:r|tm)\)|\b\d+-core\b|\bprocessor\b|\bcpu\b")

_LONGEST_NAME = 120
"""Letters of a key as a file name: what is added to it must fit into 255 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator(Stored):
    """One device that batches are moved to."""

    name: str
    """The product name, as the driver gives it."""

    kind: str
    """The device type in PyTorch's words, such as `cuda`."""

    memory_bytes: int | None
    """The device's whole memory in bytes; None where the driver does not tell."""

    driver: str | None
    """The driver's version; None where the driver does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Stored):
    """The CPUs, memory, limits and accelerators that this process may use."""

    cpu_model: str
    """The processor's name, as the system gives it."""

    logical_cpus: int
    """Logical CPUs of the machine, at least 1."""

    affinity_cpus: int
    """Logical CPUs that this process may run on, at least 1."""

    quota_cpus: float | None
    """CPUs' worth of time that the cgroups grant; None where they set no quota."""

    effective_cpus: float
    """CPUs that this process can really use: the smaller of affinity and quota."""

    memory_total_bytes: int
    """The machine's whole memory in bytes."""

    memory_limit_bytes: int
    """The smaller of the machine's memory and the cgroups' limit, in bytes."""

    memory_available_bytes: int
    """Bytes that cgroups and machine left for new use when this was read."""

    shm_total_bytes: int | None
    """Size of `/dev/shm` in bytes; None where there is none."""

    shm_free_bytes: int | None
    """Bytes free in `/dev/shm` when this was read; None where there is none."""

    open_files_limit: int | None
    """Files that this process may hold open at once; None where nothing limits it."""

    accelerators: tuple[Accelerator, ...]
    """The accelerators found, in the driver's order."""

    accelerator_note: str | None
    """Why accelerators are missing, in one sentence; None where all were read."""

    system: str
    """Operating system and architecture, such as `Linux x86_64`."""

    kernel: str
    """The kernel's release."""

    python: str
    """The version of the Python that read this."""

    def __post_init__(self) -> None:
        """Check that the CPU counts are possible and agree with each other."""
        for name in ("logical_cpus", "affinity_cpus"):
            count = getattr(self, name)
            if count < 1:
                msg = f"{name} must be at least 1, got {count}"
                raise ValueError(msg)
        if self.quota_cpus is not None and not self.quota_cpus > 0:
            msg = f"quota_cpus must be more than 0, got {self.quota_cpus}"
            raise ValueError(msg)
        smaller = smaller_of_affinity_and_quota(self.affinity_cpus, self.quota_cpus)
        if self.effective_cpus != smaller:
            msg = (
                "effective_cpus must be the smaller of affinity and quota, "
                f"{smaller:g}, got {self.effective_cpus:g}"
            )
            raise ValueError(msg)

    @property
    def whole_cpus(self) -> int:
        """The effective CPUs as a count of processes: rounded up, at least 1."""
        return max(1, math.ceil(self.effective_cpus))

    def cpus_of_a_rank(self, ranks: int) -> int | None:
        """Return the CPUs that one rank may use; None where it has all of them."""
        return None if ranks == 1 else max(1, self.affinity_cpus // ranks)

    @property
    def key(self) -> str:
        """A short name for this kind of hardware, safe in file names.

        It holds the CPU model, the effective CPUs and the accelerators' names, and
        nothing that changes from one reading to the next:
        `amd-epyc-7b13-2cpu-none`.
        """
        cpus = f"{round(self.effective_cpus, 2):g}".replace(".", "_")
        model = _slug(_CPU_NOISE.sub(" ", self.cpu_model.lower()))
        counts = Counter(_slug(device.name) for device in self.accelerators)
        devices = [
            name if count == 1 else f"{count}x-{name}"
            for name, count in sorted(counts.items())
        ]
        return "-".join([model, f"{cpus}cpu", *(devices or ["none"])])

    @property
    def file_name(self) -> str:
        """Name of this kind of hardware's own recommendation in a folder of several.

        The key; where it is long, cut, with a digest that keeps kinds apart.
        """
        key = self.key
        if len(key) > _LONGEST_NAME:
            digest = hashlib.sha256(key.encode()).hexdigest()[:8]
            key = f"{key[: _LONGEST_NAME - 9]}-{digest}"
        return f"{key}.yaml"


def smaller_of_affinity_and_quota(affinity: int, quota: float | None) -> float:
    """Return the effective CPUs of a process.

    Args:
        affinity: Logical CPUs that the process may run on.
        quota: CPUs' worth of time granted; None where nothing limits it.
    """
    return float(affinity) if quota is None else min(float(affinity), quota)


def _slug(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-") or "unknown"
