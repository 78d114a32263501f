"""Who a process is, and of whom it can be said that it is dead."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from autoloader.measure.holders import is_seen_dead, this_process
from autoloader.measure.proc import process_stat


def test_this_process_says_who_it_is() -> None:
    """And that it lives."""
    here = this_process()

    assert here.host == socket.gethostname()
    assert here.pid == os.getpid()
    assert here.boot
    assert here.namespace.startswith("pid:")
    assert not is_seen_dead(here, here)


def test_a_pid_that_is_anothers_now_is_of_a_dead_process() -> None:
    """Pids come round again; the time of the start does not."""
    here = this_process()

    assert is_seen_dead(replace(here, start_ticks=here.start_ticks - 1), here)


def test_a_process_that_ended_is_dead_though_nobody_fetched_it() -> None:
    """A zombie measures nothing."""
    here = this_process()
    ended = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    found = process_stat(ended.pid)
    assert found is not None
    holder = replace(here, pid=ended.pid, start_ticks=found.start_ticks)
    assert not is_seen_dead(holder, here)

    ended.kill()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

    assert is_seen_dead(holder, here)
    ended.wait()
    assert is_seen_dead(holder, here)


def test_nothing_is_said_of_processes_that_cannot_be_seen_here() -> None:
    """Of another machine, another boot, another container: only leases tell."""
    here = this_process()
    gone = replace(here, pid=2**22 + 1)

    assert is_seen_dead(gone, here)
    assert not is_seen_dead(replace(gone, boot="another"), here)
    assert not is_seen_dead(replace(gone, namespace="pid:[1]"), here)


def test_a_system_that_does_not_tell_names_nobody_dead(tmp_path: Path) -> None:
    """Without /proc there is no telling one process from another."""
    here = this_process(tmp_path)

    assert (here.boot, here.namespace, here.start_ticks) == ("", "", 0)
    assert not is_seen_dead(replace(here, pid=2**22 + 1), here, tmp_path)
