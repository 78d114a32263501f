"""Say whether others had the machine while a pass ran.

Pure: what `measure.load` counted in, a judgement out. Nothing is judged by its rate: a
slow reading on a quiet machine is a reading.
"""

from autoloader.values.outcome import Reading
from autoloader.values.step import StepReading

BUSY_SHARE = 0.15
"""Part of the CPUs that others may take before a reading counts as disturbed."""

IDLE_SHARE = 0.10
"""Part of the CPUs that must have been idle for others not to matter: a pass that left
CPUs idle was not short of them."""


def taken_cpu(reading: Reading | StepReading) -> float:
    """Return the CPU seconds a second that others had: programs and hypervisor."""
    return reading.foreign_cpu + reading.stolen_cpu


def is_spoiled(reading: Reading | StepReading, cpus: float) -> bool:
    """Whether others took CPUs that the pass was short of.

    Args:
        reading: of a timed pass, or of one with the training step.
        cpus: logical CPUs of the machine.
    """
    taken = taken_cpu(reading)
    idle = cpus - _own_cpu(reading) - taken
    return taken > BUSY_SHARE * cpus and idle < IDLE_SHARE * cpus


def _own_cpu(reading: Reading | StepReading) -> float:
    """Return the CPU seconds a second of the pass, of all its ranks."""
    others = reading.others if isinstance(reading, Reading) else ()
    return reading.own_cpu + sum(item.own_cpu for item in others)
