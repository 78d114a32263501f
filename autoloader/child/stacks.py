"""Make a process write where all its threads stand, when it is asked by SIGUSR2.

Python's own modules only: what is started afresh runs this file (`child.spawned`).
"""

import faulthandler
import signal


def announce_stacks() -> None:
    """Write all stacks to stderr on SIGUSR2, in this process and in what it forks."""
    if hasattr(signal, "SIGUSR2"):
        faulthandler.register(signal.SIGUSR2, file=2, all_threads=True)
