"""What a run prints, and where: advice that is not the user's stays away."""

import os
from pathlib import Path

import pytest

from tests.limits.running import HERE, after, run
from tests.limits.small import OWN_WARNING

ADVICE = "This DataLoader will create"
"""How PyTorch begins when a loader has more workers than there are CPUs."""


@pytest.mark.full
def test_advice_on_numbers_of_workers_stays_away_and_warnings_of_the_data_do_not(
    tmp_path: Path,
) -> None:
    """More workers than CPUs are tried on purpose; what the dataset says is kept."""
    one_cpu = f"exec taskset -c {min(os.sched_getaffinity(0))}"
    ran = run(
        "check", "--dataset", f"{HERE / 'small.py'}:Warns", "--batch-size", "8",
        "--config", "num_workers=2", "--json",
        folder=tmp_path, prefix=after(f'{one_cpu} "$@"'),
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert ADVICE not in ran.err
    assert OWN_WARNING not in ran.err
    paths = (tmp_path / ".autoloader").rglob("*.txt")
    logs = {path: path.read_text("utf-8") for path in paths}
    kept = {path.parent.name for path, log in logs.items() if OWN_WARNING in log}
    assert kept == {"reference", "0001-gate"}
    assert not any(ADVICE in log for log in logs.values())
