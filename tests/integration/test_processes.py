"""Nothing survives, nothing is lost: kills, interrupts and torn lines."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoloader.measure.proc import process_stat, processes_of_session
from tests.waiting import wait_for

pytestmark = pytest.mark.alone

DATASETS = Path(__file__).parents[1] / "datasets.py"
SHM = Path("/dev/shm")  # where leftovers would lie


class Tune:
    """A running `autoloader tune` in a folder of its own."""

    def __init__(self, folder: Path, name: str = "Slow", *flags: str) -> None:
        self.folder = folder
        self.command = [
            sys.executable, "-m", "autoloader", "tune",
            "--dataset", f"{DATASETS}:{name}", "--batch-size", "8",
            "--num-workers", "0:3", "--budget", "40s", *flags,
        ]  # fmt: skip
        self.process = subprocess.Popen(
            self.command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def sessions(self) -> list[int]:
        """Return the sessions of host and trials, as the run noted them."""
        lines = [
            line
            for book in self.folder.glob(".autoloader/*/trials/sessions.jsonl")
            for line in book.read_text().splitlines()
        ]
        return [json.loads(line)["session"] for line in lines]

    def trial_with_workers(self) -> tuple[int, int]:
        """Return host and trial, once a trial has workers."""
        sessions = self.sessions()
        for trial in sessions[1:]:
            if len(processes_of_session(trial)) > 1:
                return sessions[0], trial
        return ()  # type: ignore[return-value]  # falsy: not yet

    def outcomes(self) -> list[dict[str, Any]]:
        """Return the trials on disk; a torn line is left out."""
        found = []
        for path in self.folder.glob(".autoloader/*/outcomes.jsonl"):
            for line in path.read_text().splitlines():
                record = json.loads(line) if line.endswith("}") else {}
                if record.get("record") == "trial":
                    found.append(record["outcome"])
        return found

    def finish(self) -> tuple[int, str, str]:
        """Wait for the end; return exit code, stdout and stderr."""
        out, err = self.process.communicate(timeout=180)
        return self.process.returncode, out, err


@pytest.fixture
def shm_before() -> Iterator[set[str]]:
    """Give what lay in shared memory before; afterwards nothing of ours is new."""
    before = {entry.name for entry in SHM.iterdir()}
    yield before
    left = {entry.name for entry in SHM.iterdir()} - before
    assert not [name for name in left if name.startswith("torch_")]


def all_gone(sessions: list[int]) -> bool:
    """Whether no process of these sessions runs."""
    living = [stat for sid in sessions for stat in processes_of_session(sid)]
    return not [stat for stat in living if stat.state not in "ZX"]


@pytest.mark.slow
def test_nothing_outlives_a_killed_parent(tmp_path: Path, shm_before: set[str]) -> None:
    """`kill -9` of the parent takes host, trial and workers with it."""
    run = Tune(tmp_path)
    wait_for(run.trial_with_workers, "a trial with workers")
    sessions = run.sessions()

    os.kill(run.process.pid, signal.SIGKILL)
    run.finish()

    wait_for(lambda: all_gone(sessions), "the end of every process")


@pytest.mark.parametrize(
    "victim",
    [
        pytest.param("host", marks=pytest.mark.slow),
        pytest.param("trial", marks=pytest.mark.full),
    ],
)
def test_the_study_goes_on_after_a_killed_child(
    victim: str, tmp_path: Path, shm_before: set[str]
) -> None:
    """`kill -9` of host or trial is a crash of that trial, and others are measured."""
    run = Tune(tmp_path)
    host, trial = wait_for(run.trial_with_workers, "a trial with workers")

    os.kill(host if victim == "host" else trial, signal.SIGKILL)
    wait_for(lambda: all_gone([trial]), "the end of the trial's session")
    code, _, err = run.finish()

    assert code in {0, 6}, err
    outcomes = run.outcomes()
    (crashed,) = [item for item in outcomes if item["status"] == "crashed"]
    assert crashed["failure"]["signal"] == "SIGKILL"
    assert sum(item["status"] == "measured" for item in outcomes) >= 2


def test_an_interrupt_ends_everything_and_the_same_command_goes_on(
    tmp_path: Path, shm_before: set[str]
) -> None:
    """Ctrl-C ends with 130; after a torn last line too, no trial is done twice."""
    run = Tune(tmp_path)
    wait_for(run.outcomes, "a first outcome")
    wait_for(run.trial_with_workers, "a trial with workers")
    sessions = run.sessions()

    run.process.send_signal(signal.SIGINT)
    code, _, err = run.finish()
    assert code == 130
    assert "interrupted; the same command goes on where it stood" in err
    assert all_gone(sessions)
    done = run.outcomes()
    (path,) = tmp_path.glob(".autoloader/*/outcomes.jsonl")
    with path.open("a") as file:
        file.write('{"schema": 1, "record": "tri')
    again = Tune(tmp_path)
    code, out, err = again.finish()

    assert code in {0, 6}, err
    assert f"going on with the study: {len(done)} trials" in err
    configs = [json.dumps(item["config"], sort_keys=True) for item in again.outcomes()]
    first = [json.dumps(item["config"], sort_keys=True) for item in done]
    assert configs[: len(first)] == first
    assert out


def test_a_second_tune_of_the_same_study_is_refused(tmp_path: Path) -> None:
    """Two at once would measure each other; nothing of the first is lost."""
    run = Tune(tmp_path)
    wait_for(run.outcomes, "a first outcome")

    code, _, err = Tune(tmp_path).finish()
    run.process.send_signal(signal.SIGINT)
    run.finish()

    assert code == 2
    assert "another autoloader measures on this machine: tune, process " in err
    assert run.outcomes()


@pytest.mark.slow
def test_a_dying_worker_is_a_result_and_the_study_ends_with_one(tmp_path: Path) -> None:
    """Configs with workers crash at example 33; the one without is measured."""
    code, _, err = (run := Tune(tmp_path, "Dies")).finish()

    assert code in {0, 6}, err
    by_status = {item["status"]: item for item in run.outcomes()}
    assert by_status["measured"]["config"]["num_workers"] == 0
    assert by_status["crashed"]["failure"]["signal"] == "SIGKILL"
    assert not by_status["crashed"]["readings"]


@pytest.mark.slow
def test_a_losing_loader_never_gets_a_speed(tmp_path: Path) -> None:
    """Refused configs name the example and have no reading."""
    code, out, err = (run := Tune(tmp_path, "losing_loader")).finish()

    assert code in {0, 6}, err
    refused = [item for item in run.outcomes() if item["status"] == "refused"]
    assert refused
    assert all(item["verdict"]["findings"][0]["ids"] == [33] for item in refused)
    assert not any(item["readings"] for item in refused)
    assert "missing_ids" in out


def test_no_temporary_folder_is_left(tmp_path: Path) -> None:
    """A check leaves neither its TMPDIR nor a process of its own."""
    pid = subprocess.Popen(
        [sys.executable, "-m", "autoloader", "check", "--dataset", f"{DATASETS}:Honest",
         "--batch-size", "8", "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip

    code = pid.wait(timeout=120)

    assert code == 0
    assert not list(Path("/tmp").glob(f"autoloader-{pid.pid}-*"))
    assert process_stat(pid.pid) is None
