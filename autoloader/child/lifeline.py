"""Let no process outlive the one that made it.

Every process that comes from a child of ours, DataLoader workers included, asks the
kernel for SIGKILL on its parent's death. Without it, workers of a killed trial were
seen to live on: they look for their parent only between batches. The kernel ties the
request to the *thread* that forked, so forks from other threads are left alone.

Python's own modules only: what is started afresh runs this file (`child.spawned`).
"""

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int, *, may_be_between: bool = False) -> None:
    """Ask for SIGKILL when the parent dies, and leave at once if it is dead already.

    Args:
        parent_pid: the process that started this one.
        may_be_between: whether a program may stand between the two: the script that
            `multiprocessing.set_executable` names. It is that one's death then.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    now = os.getppid()
    if now == parent_pid or (may_be_between and now != 1 and _is_there(parent_pid)):
        return
    os._exit(1)


def _is_there(pid: int) -> bool:
    """Whether a process of this number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def pass_on() -> None:
    """Make every later fork of this process, and of its forks, die with its parent."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    forking = [0]

    def before() -> None:
        in_main = threading.current_thread() is threading.main_thread()
        forking[0] = os.getpid() if in_main else 0

    def in_child() -> None:
        if forking[0]:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != forking[0]:
                os._exit(1)

    os.register_at_fork(before=before, after_in_child=in_child)
