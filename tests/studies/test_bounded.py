"""Benches that ask others end them, and go on without the ones that fail or hang."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from autoloader.errors import DatasetError, UsageError
from scripts.peers.bounded import end, run, start
from scripts.peers.contestants import ask_loadtune
from scripts.peers.reading import PlainLoop
from scripts.studied.attempts import attempt

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(child.pid, flush=True)
child.wait()
"""

HANGS = "import time\n\ndef loader():\n    time.sleep(1000)\n"

READS = """
from torch.utils.data import DataLoader

def loader():
    return DataLoader([(float(i), i) for i in range(12)], batch_size=4)
"""


def test_ending_a_process_ends_what_it_started() -> None:
    """A tuner that hangs has workers."""
    process = start([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    if process.stdout is None:
        pytest.fail("the process has no stdout")
    child = psutil.Process(int(process.stdout.readline()))

    end(process)

    assert process.returncode < 0
    assert child.wait(timeout=60) is None  # it is gone; another's child has no code


def test_a_process_that_takes_too_long_is_ended() -> None:
    """Whoever asked goes on."""
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", "import time; time.sleep(1000)"], limit_s=0.1)


def test_what_ends_in_time_is_answered() -> None:
    """With its output and exit code."""
    done = run(
        [sys.executable, "-c", "print('said'); raise SystemExit(3)"],
        limit_s=600.0,
        stdout=subprocess.PIPE,
    )

    assert (done.returncode, done.stdout) == (3, "said\n")


def test_a_peer_that_hangs_recommends_nothing(tmp_path: Path) -> None:
    """The table says how long it was waited for."""
    advice = ask_loadtune(tmp_path / "dataset.py", _script(tmp_path), limit_s=0.1)

    assert advice.settings is None
    assert (advice.seconds, advice.words) == (0.1, "no answer in 0.1 s")


def test_a_loop_without_an_answer_has_no_rate(tmp_path: Path) -> None:
    """Neither has the next one that hangs: it is begun anew."""
    file = tmp_path / "dataset.py"
    file.write_text(HANGS)
    settings = {"batch_size": 4, "num_workers": 0}

    with PlainLoop(file, limit_s=0.1) as loop:
        rates = [loop.rate(settings) for _ in range(2)]

    assert rates == [None, None]


def test_a_loop_that_died_is_begun_anew(tmp_path: Path) -> None:
    """A dataset that cannot be built ends the loop; one that can is read."""
    file = tmp_path / "dataset.py"
    file.write_text("raise SystemExit(1)")
    settings = {"batch_size": 4, "num_workers": 0}

    with PlainLoop(file) as loop:
        before = loop.ids(settings)
        file.write_text(READS)
        after = loop.ids(settings)

    assert before == []
    assert sorted(after) == list(range(12))


def test_a_step_that_fails_is_told_and_the_others_are_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One study's fault costs no other study's figures."""
    taken: list[int] = []

    def fails() -> None:
        msg = "the dataset fails"
        raise DatasetError(msg, hint="look at it")

    def differs() -> None:
        msg = "other conditions"
        raise UsageError(msg)

    code = attempt([fails, lambda: taken.append(1), differs, lambda: taken.append(2)])

    assert code == UsageError.exit_code
    assert taken == [1, 2]
    said = capsys.readouterr().err
    assert said == "the dataset fails\n    look at it\nother conditions\n"


def test_steps_without_a_fault_end_with_0() -> None:
    """Nothing was said."""
    assert attempt([lambda: None]) == 0


def test_an_interrupt_ends_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """The same command goes on later."""
    taken: list[int] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    code = attempt([interrupted, lambda: taken.append(1)])

    assert (code, taken) == (130, [])
    assert capsys.readouterr().err == "interrupted; the same command goes on\n"


def _script(folder: Path) -> Path:
    """Return a stand-in for a Python whose tuner never ends."""
    script = folder / "python"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    return script
