"""Free examples in real processes: the rate that a real loader does not exceed."""

from pathlib import Path

import pytest

from autoloader.measure.planning import wave_plan
from autoloader.measure.stage_costs import cached_rate
from autoloader.measure.throughput import steady_rate
from autoloader.values.ceiling import CeilingReading
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure, Reading, Verdict
from tests.integration.test_runner import DATASETS, runner_of

LIMITED = DATASETS.with_name("limited.py")

TWO_WORKERS = LoaderConfig.canonical(num_workers=2, batch_size=16)


@pytest.mark.slow
def test_a_slow_decode_is_far_below_what_its_loader_gives(tmp_path: Path) -> None:
    """Workers and their CPU seconds are real, and so is the taking over."""
    plan = wave_plan(2)
    with runner_of(f"{LIMITED}:few", tmp_path) as runner:
        verdict = runner.gate(TWO_WORKERS, examples=32)
        assert isinstance(verdict, Verdict)
        read = runner.time(TWO_WORKERS, verdict=verdict, purpose="search", plan=plan)
        free = runner.ceiling(TWO_WORKERS, plan=plan)

    assert isinstance(read, Reading)
    assert isinstance(free, CeilingReading)
    assert cached_rate(free) > 5 * steady_rate(read)
    assert free.main_cpu_s > 0
    assert free.workers_cpu_s > 0
    assert free.batch_bytes == 16 * (64 * 4 + 8)


@pytest.mark.slow
def test_a_collate_fn_that_fails_in_workers_is_a_failure_of_the_pass(
    tmp_path: Path,
) -> None:
    """Told as of any other pass, with its phase."""
    with runner_of(f"{LIMITED}:refusing_loader", tmp_path) as runner:
        found = runner.ceiling(TWO_WORKERS, plan=wave_plan(2))

    assert isinstance(found, Failure)
    assert found.phase == "ceiling"
    assert found.kind == "worker_exception"
