"""What else kept the machine busy while a pass ran.

CPU time of all programs less that of the pass itself, and time that a hypervisor took:
both as CPU seconds a second, so that 1.0 is one CPU.
"""

import os
import time
from dataclasses import dataclass

from autoloader.measure.proc import children_of, machine_cpu_times


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLoad:
    """Load that was not the pass's own."""

    foreign_cpu: float
    """CPU seconds a second of other programs."""
    stolen_cpu: float
    """CPU seconds a second that the hypervisor gave to others."""


class LoadMeter:
    """Compares the machine's CPU time with that of this process and its children."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._machine = machine_cpu_times()
        self._own_s = _own_cpu_s()

    def stop(self) -> OtherLoad:
        """Return the other load since the meter was made; zeros where it is unknown.

        Call it while kept workers still run or after they were waited for: CPU time of
        children counts either way.
        """
        seconds = time.monotonic() - self._begun
        now, own_s = machine_cpu_times(), _own_cpu_s() - self._own_s
        if now is None or self._machine is None or seconds <= 0:
            return OtherLoad(foreign_cpu=0.0, stolen_cpu=0.0)
        busy_s = (now.user_s + now.system_s) - (
            self._machine.user_s + self._machine.system_s
        )
        stolen_s = now.steal_s - self._machine.steal_s
        return OtherLoad(
            foreign_cpu=round(max(0.0, busy_s - own_s) / seconds, 3),
            stolen_cpu=round(max(0.0, stolen_s) / seconds, 3),
        )


def _own_cpu_s() -> float:
    times = os.times()
    reaped = times.children_user + times.children_system
    living = sum(child.user_s + child.system_s for child in children_of(os.getpid()))
    return times.user + times.system + reaped + living
