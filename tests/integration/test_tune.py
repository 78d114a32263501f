"""The whole journey on a small waiting dataset: flags in, a usable file out."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from torch.utils.data import DataLoader

import autoloader
from tests.datasets import Slow

pytestmark = pytest.mark.alone

DATASETS = Path(__file__).parents[1] / "datasets.py"


def tune(
    folder: Path, *flags: str, name: str = "Slow"
) -> subprocess.CompletedProcess[str]:
    """Run a short tune in a folder of its own."""
    command = [
        sys.executable, "-m", "autoloader", "tune", "--dataset", f"{DATASETS}:{name}",
        "--batch-size", "8", "--num-workers", "0:2", "--prefetch-factor", "2",
        "--budget", "30s", *flags,
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Tune once, with a target that waiting in two workers reaches with ease."""
    folder = tmp_path_factory.mktemp("tuned")
    done = tune(folder, "--target", "300", "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_the_file_works_without_the_package(tuned: tuple[Path, dict[str, Any]]) -> None:
    """`DataLoader(dataset, **yaml["dataloader"])` delivers the whole dataset."""
    folder, _ = tuned

    data = yaml.safe_load((folder / "autoloader.yaml").read_text())
    loader = DataLoader(Slow(0.0), **data["dataloader"])

    assert sum(len(labels) for _, labels in loader) == 101


def test_the_file_works_with_the_package(tuned: tuple[Path, dict[str, Any]]) -> None:
    """`load` gives the same settings and a loader of them."""
    folder, _ = tuned

    found = autoloader.load(folder / "autoloader.yaml")
    loader = found.dataloader(Slow(0.0), shuffle=True)

    assert found.is_met
    assert loader.num_workers == found.settings["num_workers"]
    assert sum(len(labels) for _, labels in loader) == 101


def test_the_file_says_what_was_verified(tuned: tuple[Path, dict[str, Any]]) -> None:
    """All examples, two epochs, and the target with its readings."""
    folder, _ = tuned

    data = yaml.safe_load((folder / "autoloader.yaml").read_text())

    assert data["verified"]["examples"] == data["verified"]["of"] == 101
    assert data["verified"]["epochs"] == 2
    assert data["target"]["met"] is True
    assert data["target"]["examples_per_s"] == 300
    assert data["measured"]["epoch_rate"]["low"] > 0.97 * 300
    assert data["compared"]["pytorch_default"]["epoch_rate"]["median"] < 300
    assert data["dataloader"]["num_workers"] > 0


def test_the_json_is_the_only_thing_on_stdout(
    tuned: tuple[Path, dict[str, Any]],
) -> None:
    """One object, with the same settings as the file."""
    folder, printed = tuned

    data = yaml.safe_load((folder / "autoloader.yaml").read_text())

    assert printed["dataloader"] == data["dataloader"]


@pytest.mark.full
def test_a_finished_study_begins_anew_and_keeps_the_old_outcomes(
    tuned: tuple[Path, dict[str, Any]],
) -> None:
    """Asked again, nothing of the first run is lost or mixed in."""
    folder, _ = tuned
    (path,) = folder.glob(".autoloader/*/outcomes.jsonl")
    before = path.read_text()

    done = tune(folder, "--target", "300", "--trials", "2")

    assert done.returncode in {0, 4, 6}, done.stderr
    assert path.with_name("outcomes.1.jsonl").read_text() == before
    numbers = [
        json.loads(line).get("outcome", {}) for line in path.read_text().splitlines()
    ]
    assert len([item for item in numbers if item and item["number"] > 1]) == 0


def test_an_unreachable_target_leaves_the_old_file_alone(tmp_path: Path) -> None:
    """Exit 4, the best config and the rate it reached are told."""
    old = tmp_path / "autoloader.yaml"
    old.write_text("kept: true\n")

    done = tune(tmp_path, "--target", "1000000")

    assert done.returncode == 4, done.stderr
    assert old.read_text() == "kept: true\n"
    assert "1,000,000 examples/s" in done.stdout


@pytest.mark.full
def test_best_effort_writes_a_file_that_says_not_met(tmp_path: Path) -> None:
    """The exit code stays 4, the file is marked."""
    done = tune(tmp_path, "--target", "1000000", "--best-effort")

    data = yaml.safe_load((tmp_path / "autoloader.yaml").read_text())
    assert done.returncode == 4
    assert data["target"]["met"] is False


@pytest.mark.slow
def test_an_exhaustive_tune_tries_and_counts_every_config(tmp_path: Path) -> None:
    """However short the budget: no time is named that its search would end by."""
    done = tune(tmp_path, "--target", "300", "--exhaustive", "--budget", "5s")

    lines = done.stderr.splitlines()
    trials = [line for line in lines if line.startswith("trial ")]
    assert "search: 5 configs (all of them, however long it takes)" in lines
    assert trials[0].partition("; ")[2].startswith("1 of 5 configs, about ")
    assert trials[-1].endswith("; 5 of 5 configs")
    assert len(trials) == 5
