"""Nothing of a killed loader is left in shared memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.list_g import HAZARDS
from tests.conformance.running import run

SHM = Path("/dev/shm")  # where named files of tensors lie


def named() -> set[str]:
    """Return the names of PyTorch's files in shared memory."""
    return {entry.name for entry in SHM.iterdir() if entry.name.startswith("torch_")}


@pytest.mark.full
def test_a_killed_loader_leaves_no_shared_memory(tmp_path: Path) -> None:
    """Named files of tensors outlive a killed worker, and are removed after it."""
    (hazard,) = (item for item in HAZARDS if item.id == "file-system-strategy-leaks")
    (dying,) = (case for case in hazard.cases if "dies=true" in case.arguments)
    before = named()

    said = run(replace(dying, configs=("num_workers=2",), says=("crashed",)), tmp_path)

    assert said.summary == ("crashed",)
    assert named() <= before
