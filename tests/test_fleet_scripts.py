"""The job array of a fleet: what it starts, and what it makes of the exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from autoloader.cli import build_parser
from tests.waiting import wait_for

FLEET = Path(__file__).parents[1] / "scripts" / "fleet"

SCRIPT = FLEET / "slurm-array.sh"


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """Return a training's folder whose `autoloader` and `scontrol` note their calls."""
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name, body in (
        ("autoloader", 'pwd > "$FLEET_FOLDER/pwd"; exit "$CODE"'),
        ("scontrol", "exit 0"),
    ):
        text = f'#!/bin/sh\nprintf "%s\\n" "$@" > "$FLEET_FOLDER/{name}"\n{body}\n'
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return tmp_path


def variables(training: Path, **more: str) -> dict[str, str]:
    """Return the environment of a task."""
    return {**os.environ, "USER": "me", "FLEET_FOLDER": str(training), **more}


def run(training: Path, code: int, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script, whose tune ends with a code."""
    return subprocess.run(
        [str(SCRIPT)], env=variables(training, CODE=str(code), **more),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_every_file_is_named_in_the_readme() -> None:
    """And nothing else is."""
    readme = (FLEET / "README.md").read_text()
    there = {path.name for path in FLEET.iterdir()} - {"README.md"}

    assert set(re.findall(r"`([\w.-]+\.sh)`", readme)) == there


def test_a_task_tunes_in_a_folder_of_its_node(training: Path) -> None:
    """With flags that the command has, and one place for what is found."""
    done = run(training, 0)

    assert done.returncode == 0, done.stderr
    flags = (training / "autoloader").read_text().splitlines()
    args = build_parser().parse_args(flags)
    assert args.storage == "postgresql+psycopg://me@db.cluster/fleet"
    assert args.dataset == f"{training}/train.py:dataset"
    assert args.out == f"{training}/settings/"
    assert args.wait
    here = Path((training / "pwd").read_text().strip())
    assert here.parent == training / "nodes"
    assert done.stdout.startswith("done: ")


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 6, 70, 130])
def test_a_task_ends_with_the_code_of_its_tune(training: Path, code: int) -> None:
    """And says something of it."""
    done = run(training, code, SLURM_JOB_ID="7", SLURM_RESTART_COUNT="0")

    assert done.returncode == code
    assert done.stdout.count("\n") == 1
    was_requeued = (training / "scontrol").exists()
    assert was_requeued == (code in {6, 130})


def test_a_task_is_put_back_into_the_queue_twice_at_most(training: Path) -> None:
    """A node that is always noisy must not be tried for ever."""
    again = run(training, 6, SLURM_JOB_ID="7_3", SLURM_RESTART_COUNT="1")
    assert (training / "scontrol").read_text() == "requeue\n7_3\n"
    (training / "scontrol").unlink()

    no_more = run(training, 6, SLURM_JOB_ID="7_3", SLURM_RESTART_COUNT="2")

    assert (again.returncode, no_more.returncode) == (6, 6)
    assert not (training / "scontrol").exists()


def test_the_end_of_the_time_is_handed_on(training: Path) -> None:
    """The tune is told by SIGTERM, and the task ends with its code."""
    program = training / ".venv/bin/autoloader"
    program.write_text(
        "#!/bin/bash\ntrap 'exit 130' TERM\n"
        'touch "$FLEET_FOLDER/ready"\nwhile true; do sleep 0.05; done\n'
    )
    task = subprocess.Popen(
        [str(SCRIPT)], env=variables(training), stdout=subprocess.PIPE, text=True
    )
    wait_for((training / "ready").exists, "the tune")

    task.send_signal(signal.SIGTERM)
    task.communicate(timeout=60)

    assert task.returncode == 130
