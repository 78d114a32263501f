"""Who used the machine during a pass: ourselves, our children, others, the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autoloader.measure.load import LoadMeter, file_bytes

BURNING = "import time\nwhile True: pass"

STARTING = f"""
import subprocess, sys
command = [sys.executable, "-c", {BURNING!r}]
none = subprocess.DEVNULL
print(subprocess.Popen(command, stdout=none, stderr=none).pid)
"""
"""Starts it and ends, so that it is nobody's child here."""


def burn(seconds: float) -> None:
    """Use a CPU for so many of its own seconds."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_own_work_is_own_and_not_foreign() -> None:
    """What this process burns is not another program's."""
    meter = LoadMeter()

    burn(0.3)

    load = meter.stop()
    assert load.own_cpu > 0
    assert load.foreign_cpu >= 0
    assert load.stolen_cpu >= 0
    assert load.throttled_cpu >= 0


@pytest.mark.parametrize("waited_for", [True, False])
def test_work_of_a_child_is_own(waited_for: bool) -> None:
    """Be it that it still runs, as kept workers do, or that it was waited for."""
    meter = LoadMeter()
    child = subprocess.Popen([sys.executable, "-c", BURNING])
    wait_until_burned(child.pid, 0.3)
    if waited_for:
        child.kill()
        child.wait()

    load = meter.stop()

    child.kill()
    child.wait()
    assert load.own_cpu > 0.05


def test_work_of_a_stranger_is_foreign() -> None:
    """A process that is no descendant of ours takes CPU time from us."""
    parent = subprocess.run(
        [sys.executable, "-c", STARTING], capture_output=True, check=True, text=True
    )
    stranger = int(parent.stdout)
    try:
        meter = LoadMeter()
        wait_until_burned(stranger, 0.5)
        load = meter.stop()
    finally:
        os.kill(stranger, signal.SIGKILL)

    assert load.foreign_cpu > 0.05


def test_bytes_read_are_those_of_a_process_and_its_children(tmp_path: Path) -> None:
    """A child that was waited for counts as well."""
    before = file_bytes(os.getpid())
    if before is None:
        pytest.skip("this system does not tell")
    file = tmp_path / "data"
    file.write_bytes(bytes(3_000_000))
    file.read_bytes()
    subprocess.run(
        [sys.executable, "-c", f"open({str(file)!r}, 'rb').read()"], check=True
    )

    after = file_bytes(os.getpid())

    assert after is not None
    assert 6_000_000 <= after.read - before.read < 30_000_000
    assert after.from_storage >= before.from_storage


def test_bytes_that_are_read_while_the_meter_runs_are_in_the_load(
    tmp_path: Path,
) -> None:
    """What was read before is not, and a child's are."""
    file = tmp_path / "data"
    file.write_bytes(bytes(3_000_000))
    file.read_bytes()
    meter = LoadMeter()
    subprocess.run(
        [sys.executable, "-Sc", f"open({str(file)!r}, 'rb').read()"], check=True
    )

    load = meter.stop()

    if load.read_bytes is None:
        pytest.skip("this system does not tell")
    assert 3_000_000 <= load.read_bytes < 6_000_000


def test_nothing_is_told_of_a_process_that_is_gone(tmp_path: Path) -> None:
    """Nor where there is no /proc."""
    assert file_bytes(1, tmp_path) is None


def wait_until_burned(pid: int, seconds: float) -> None:
    """Wait until a process has used so many CPU seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    while True:
        text = Path(f"/proc/{pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= seconds:
            return
        time.sleep(0.01)
