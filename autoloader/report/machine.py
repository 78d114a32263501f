"""What a machine offers, laid out for people.

Pure: a machine in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from autoloader.report import sentences
from autoloader.report.cleaning import clean
from autoloader.report.table import labelled
from autoloader.units import format_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from autoloader.values.machine import Machine


def draw(machine: Machine) -> RenderableType:
    """Return the machine's facts, one a line."""
    return labelled(
        (Text(label, style="label"), Text(clean(said)))
        for label, said in machine_words(machine)
    )


def machine_words(machine: Machine) -> tuple[tuple[str, str], ...]:
    """Return the machine's facts, each with its label."""
    return (
        ("processor", machine.cpu_model),
        ("CPUs", _cpus(machine)),
        ("workers", _workers(machine)),
        ("memory", _free(machine.memory_available_bytes, machine.memory_limit_bytes)),
        ("shared memory", _free(machine.shm_free_bytes, machine.shm_total_bytes)),
        ("open files", _open_files(machine)),
        ("accelerator", _accelerator(machine)),
        ("system", f"{machine.system}, {machine.kernel}, Python {machine.python}"),
        ("kind", machine.key),
    )


def _cpus(machine: Machine) -> str:
    quota = machine.quota_cpus
    limits = "no quota" if quota is None else f"a quota of {quota:g}"
    return (
        f"{machine.effective_cpus:g} effective: {machine.affinity_cpus} of "
        f"{machine.logical_cpus} allowed, {limits}"
    )


def _workers(machine: Machine) -> str:
    """Return what PyTorch says to many workers: by allowed CPUs, not by the quota."""
    is_blind = machine.effective_cpus < machine.affinity_cpus
    blind = ", quota or not" if is_blind else ""
    above = f"PyTorch warns above {machine.affinity_cpus}{blind}"
    return f"{above}; more pay where reading waits"


def _free(free: int | None, total: int | None) -> str:
    if free is None or total is None:
        return "none"
    return f"{format_bytes(free)} free of {format_bytes(total)}"


def _open_files(machine: Machine) -> str:
    limit = machine.open_files_limit
    return "no limit" if limit is None else f"at most {limit:,}"


def _accelerator(machine: Machine) -> str:
    found = sentences.accelerators(machine) if machine.accelerators else "none"
    note = machine.accelerator_note
    return found if note is None else f"{found}: {note}"
