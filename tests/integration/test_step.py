"""The training step in real processes: apart, kept fed, told what limits it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoloader.measure.planning import wave_plan
from autoloader.measure.stepping import computes_s, loop_shares, waits_s
from autoloader.trial.reference import read_reference
from autoloader.trial.step_runner import StepRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec
from autoloader.values.step import StepReading

pytestmark = [pytest.mark.alone, pytest.mark.slow]

TESTS = Path(__file__).parents[1]

RIGHT = Verdict(
    passed=True, examples=64, of=320, epochs=2, compared="rows", count_path=(0,)
)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StepRunner]:
    """Return what runs a convnet on images that take a while to make."""
    folder = tmp_path_factory.mktemp("step")
    tmp = folder / "tmp"
    tmp.mkdir()
    source = SourceSpec(spec=f"{TESTS / 'steps.py'}:Images")
    reference = read_reference(
        ReferenceOrder(
            source=source, request=ScopeRequest(examples=64), folder=str(folder)
        ),
        logs=folder,
        tmp=tmp,
    )
    with StepRunner(
        source,
        reference,
        step=f"{TESTS / 'steps.py'}:Convnet",
        folder=folder / "steps",
        tmp=tmp,
    ) as found:
        yield found


@pytest.mark.parametrize(("workers", "kept"), [(0, False), (2, True)])
def test_wait_and_compute_are_the_whole_loop_of_a_convnet(
    runner: StepRunner, workers: int, *, kept: bool
) -> None:
    """Within 2 % of its time, whoever feeds it."""
    config = LoaderConfig.canonical(
        num_workers=workers, batch_size=16, persistent_workers=kept
    )

    found = runner.step(config, verdict=RIGHT, plan=wave_plan(workers))

    assert isinstance(found, StepReading), found
    parts_s = sum(waits_s(found)) + sum(computes_s(found))
    assert parts_s == pytest.approx(found.done_s[-1], rel=1e-4)
    assert found.done_s[-1] == pytest.approx(found.total_s, rel=0.02, abs=0.15)
    assert set(found.counts) == {16}
    shares = loop_shares(found)
    assert shares is not None
    assert shares.compute_s > 0
    if not workers:  # the clock of the loop, with nothing to shut down after it
        assert parts_s == pytest.approx(found.total_s, rel=0.02)
        assert shares.wait_share > 0.1


def tune(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a short tune of a dataset that takes next to no time."""
    command = [
        sys.executable, "-m", "autoloader", "tune", "--dataset",
        f"{TESTS / 'datasets.py'}:Honest", "--batch-size", "8", "--num-workers", "0:2",
        "--prefetch-factor", "2", "--persistent-workers", "no", "--budget", "30s",
        *flags,
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def test_a_slow_step_gets_no_workers_and_is_told_that_it_is_the_limit(
    tmp_path: Path,
) -> None:
    """In the file, in JSON, and with loops apart from loaders."""
    step = f"{TESTS / 'steps.py'}:slow"

    done = tune(tmp_path, "--step", step, "--target", "step", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    assert printed["dataloader"]["num_workers"] == 0
    assert printed["step"]["limited_by"] == "step"
    file = yaml.safe_load((tmp_path / "autoloader.yaml").read_text())
    assert file["dataloader"]["num_workers"] == 0
    assert file["target"]["met"] is True
    section = file["step"]
    assert section["limited_by"] == "step"
    assert section["alone"]["step_s"] == pytest.approx(0.05, rel=0.2)
    chosen = section["loops"]["chosen"]
    assert chosen["wait_share"]["mean"] < 0.05
    assert chosen["steps_per_s"] == pytest.approx(20, rel=0.2)
    stored = (tmp_path / ".autoloader").glob("*/outcomes.jsonl")
    assert '"came_s"' in next(stored).read_text()
