"""What starts a night: units, lines and jobs that their own tools can read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoloader.cli import build_parser
from autoloader.retune_values import CHANGED_EXIT

NIGHTLY = Path(__file__).parents[1] / "scripts" / "nightly"

CODES = (0, 1, 3, 4, 5, 6, 10, 70, 130)
"""What `retune` exits with."""


def run(*command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, **more
    )


def lines_of(name: str) -> list[str]:
    """Return the lines of a crontab that are neither comments nor empty."""
    lines = (NIGHTLY / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_file_is_named_in_the_readme() -> None:
    """And nothing else is."""
    readme = (NIGHTLY / "README.md").read_text()
    there = {path.name for path in NIGHTLY.iterdir()} - {"README.md"}

    named = set(re.findall(r"`([\w.-]+)`", readme)) & {*there, ".timer"}

    assert there - named == {"autoloader-retune.timer"}
    assert ".timer" in named


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed"
)
def test_the_units_are_verified_by_systemd() -> None:
    """Both together: the timer starts the service."""
    units = [
        str(NIGHTLY / f"autoloader-retune.{kind}") for kind in ("service", "timer")
    ]

    found = run(
        "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units
    )

    assert found.returncode == 0, found.stderr
    assert "autoloader-retune" not in found.stderr


def test_the_service_takes_a_change_for_a_success_and_tries_a_noisy_night_again() -> (
    None
):
    """By the exit codes that the command has."""
    unit = (NIGHTLY / "autoloader-retune.service").read_text()

    assert f"\nSuccessExitStatus={CHANGED_EXIT}\n" in unit
    assert "\nRestartForceExitStatus=6\n" in unit


def test_the_cron_line_has_a_time_and_a_lock_and_a_command() -> None:
    """Five fields, each a number or a star; no sign that cron turns into a new line."""
    *variables, line = lines_of("crontab")

    fields, command = line.split(maxsplit=5)[:5], line.split(maxsplit=5)[5]

    assert all(re.fullmatch(r"[A-Z]+=\S+", item) for item in variables)
    assert all(re.fullmatch(r"\d+|\*", field) for field in fields)
    assert "%" not in command
    assert " flock -n " in command
    assert run("sh", "-n", "-c", command).returncode == 0


def test_the_scrontab_has_options_and_a_line() -> None:
    """An exclusive node, and the same five fields."""
    text = (NIGHTLY / "scrontab").read_text()
    (line,) = lines_of("scrontab")

    fields, command = line.split(maxsplit=5)[:5], line.split(maxsplit=5)[5]

    assert "\n#SCRON --exclusive\n" in text
    assert all(re.fullmatch(r"\d+|\*", field) for field in fields)
    assert run("sh", "-n", "-c", command).returncode == 0


def test_the_cron_job_is_one_at_a_time_and_knows_the_codes() -> None:
    """What trying again cannot help fails at once; a noisy night is tried again."""
    job = yaml.safe_load((NIGHTLY / "cronjob.yaml").read_text())
    pods = job["spec"]["jobTemplate"]["spec"]
    (container,) = pods["template"]["spec"]["containers"]
    rule = pods["podFailurePolicy"]["rules"][0]

    parsed = build_parser().parse_args(container["command"][1:])

    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    assert pods["template"]["spec"]["restartPolicy"] == "Never"
    assert (parsed.command, parsed.changed_exit) == ("retune", "0")
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert set(rule["onExitCodes"]["values"]) == {1, 2, 3, 4, 5}
    assert container["resources"]["requests"] == container["resources"]["limits"]
    mounts = {item["name"] for item in container["volumeMounts"]}
    assert mounts == {item["name"] for item in pods["template"]["spec"]["volumes"]}


def test_the_workflow_runs_on_a_machine_of_ones_own() -> None:
    """YAML takes `on` for true; each script is one that bash reads."""
    workflow = yaml.safe_load((NIGHTLY / "github-actions.yml").read_text())
    job = workflow["jobs"]["retune"]
    scripts = [step["run"] for step in job["steps"] if "run" in step]

    assert "self-hosted" in job["runs-on"]
    assert workflow[True]["schedule"] == [{"cron": "30 2 * * *"}]
    assert workflow["concurrency"]["cancel-in-progress"] is False
    assert len(scripts) == 2
    for script in scripts:
        found = run("bash", "-n", "-c", script)
        assert found.returncode == 0, found.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
def test_the_script_passes_shellcheck() -> None:
    """Quotes, above all."""
    found = run("shellcheck", str(NIGHTLY / "retune.sh"))

    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("code", CODES)
def test_the_script_says_what_is_to_be_done_and_hands_the_code_on(
    tmp_path: Path, code: int
) -> None:
    """Where nothing is to be done it exits with 0, and says nothing where all holds."""
    stand_in = tmp_path / "autoloader"
    stand_in.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nexit {code}\n')
    stand_in.chmod(0o755)

    found = run(
        str(NIGHTLY / "retune.sh"),
        "a b.yaml",
        "--only-verify",
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )

    asked = (tmp_path / "asked").read_text()
    assert asked == "retune --quiet a b.yaml --only-verify\n"
    assert found.returncode == (0 if code in {0, 10} else code)
    assert bool(found.stderr) is (code != 0)
    assert found.stderr.startswith("a b.yaml: " if code else "")


def test_the_script_needs_a_file() -> None:
    """As wrong use."""
    found = run(str(NIGHTLY / "retune.sh"))

    assert found.returncode == 2
    assert found.stderr == (
        "retune.sh needs the recommendation: retune.sh autoloader.yaml\n"
    )
