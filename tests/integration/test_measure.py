"""Given configs side by side in real processes: rankings, doubts, faults, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import autoloader
from tests.waiting import wait_for

DATASETS = Path(__file__).parents[1] / "datasets.py"


def command(name: str, *flags: str) -> list[str]:
    """Return the command that measures one of the datasets, in batches of 8."""
    return [
        sys.executable, "-m", "autoloader", "measure", "--dataset",
        f"{DATASETS}:{name}", "--batch-size", "8", *flags,
    ]  # fmt: skip


def measure(folder: Path, name: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Measure in a folder of its own."""
    return subprocess.run(
        command(name, *flags),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return what the one study in the folder has stored."""
    (path,) = folder.glob(".autoloader/measure-*/outcomes.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.full
def test_two_configs_are_compared_and_every_reading_is_kept(tmp_path: Path) -> None:
    """Three waiting workers are faster than none, in JSON and in the table."""
    done = measure(
        tmp_path, "Slow", "--config", "num_workers=3", "--rounds", "3", "--json"
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert [item["source"] for item in found["configs"]] == ["pytorch_default", "given"]
    (pair,) = found["pairs"]
    assert pair["verdict"] == "different"
    assert pair["ratio"]["high"] < 1
    assert found["statements"][0].startswith("B is ")

    frame = autoloader.readings(found["study"])
    kept = [len(item["readings"]) for item in found["configs"]]
    assert frame.groupby("trial").size().tolist() == kept
    counted = frame[frame["replaced_because"].isna() & (frame["purpose"] == "race")]
    assert counted["trial"].tolist() == [0, 1, 1, 0, 0, 1]
    assert frame.attrs["machine"]["key"]
    assert frame.attrs["scope"]["examples"] == 101


@pytest.mark.slow
def test_a_config_that_loses_ids_has_no_speed(tmp_path: Path) -> None:
    """It is named with its finding; one config alone compares nothing."""
    done = measure(tmp_path, "losing_loader", "--config", "num_workers=2", "--quiet")

    assert done.returncode == 1, done.stderr
    assert "refused" in done.stdout
    assert "missing_ids" in done.stdout
    assert "nothing was compared" in done.stdout
    stored = [item["outcome"] for item in lines_of(tmp_path)]
    assert [item["status"] for item in stored] == ["measured", "refused"]
    assert stored[1]["readings"] == []


def test_without_anything_to_compare_nothing_is_left_behind(tmp_path: Path) -> None:
    """A bare dataset has no settings of its own."""
    done = measure(tmp_path, "Honest")

    assert done.returncode == 2
    assert "there is nothing to compare: no --config" in done.stderr
    assert list(tmp_path.glob(".autoloader/measure-*")) == []


def working_in(folder: Path) -> list[int]:
    """Return the processes whose working folder it is: parent, host, trials."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd() == str(folder):
                found.append(process.pid)
    return found


@pytest.mark.slow
def test_an_interrupted_run_keeps_its_readings_and_no_process(tmp_path: Path) -> None:
    """Ctrl-C in the rounds: exit 130, and the sentence says where they are."""
    log = tmp_path / "stderr.txt"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command("Slow", "--config", "num_workers=2", "--rounds", "500"),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            wait_for(lambda: "round 1:" in log.read_text(), "a round")
            before = working_in(tmp_path)
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
        finally:
            process.kill()
            process.wait()

    (path,) = tmp_path.glob(".autoloader/measure-*/outcomes.jsonl")
    said = log.read_text().splitlines()[-1]
    assert code == 130
    assert len(before) > 1
    assert "readings so far: " in said
    assert said.endswith(str(path))
    assert len(autoloader.readings(path)) >= 4
    assert working_in(tmp_path) == []


@contextmanager
def busy_cpus() -> Iterator[None]:
    """Keep every CPU that this process may use busy."""
    with ExitStack() as stack:
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            code = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
            process = subprocess.Popen([sys.executable, "-c", code])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


@pytest.mark.full
def test_a_loaded_machine_ranks_right_or_says_that_it_cannot_tell(
    tmp_path: Path,
) -> None:
    """Four workers that wait are faster than one; equal ones are not, or by a hair.

    Of runs, one in 150 may call the equal ones different: that is the stated error.
    """
    configs = ("num_workers=1", "num_workers=4", "num_workers=4")
    flags = [part for text in configs for part in ("--config", text)]

    with busy_cpus():
        done = measure(
            tmp_path, "Slow", "--arg", "seconds=0.01", *flags, "--rounds", "6", "--json"
        )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    verdicts = {(item["a"], item["b"]): item for item in found["pairs"]}
    for four in "BC":
        assert verdicts["A", four]["verdict"] == "different"
        assert verdicts["A", four]["ratio"]["high"] < 1
    equal = verdicts["B", "C"]
    assert equal["verdict"] != "different" or 0.9 < equal["ratio"]["median"] < 1.1
