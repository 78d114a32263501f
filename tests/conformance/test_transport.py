"""Nothing of a killed or hung loader is left in shared memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.hazard import Case
from tests.conformance.list_g import HAZARDS
from tests.conformance.running import run
from tests.waiting import wait_for

SHM = Path("/dev/shm")  # where named files of tensors lie


def named(beginning: str) -> set[str]:
    """Return the names in shared memory that begin so."""
    return {entry.name for entry in SHM.iterdir() if entry.name.startswith(beginning)}


def assert_gone(names: set[str]) -> None:
    """Wait until files are gone: those of tests beside this one go, leaks stay."""
    wait_for(
        lambda: not names & {entry.name for entry in SHM.iterdir()},
        "the end of what lies in shared memory",
    )


@pytest.mark.full
def test_a_killed_loader_leaves_no_shared_memory(tmp_path: Path) -> None:
    """Named files of tensors outlive a killed worker, and are removed after it."""
    (hazard,) = (item for item in HAZARDS if item.id == "file-system-strategy-leaks")
    (dying,) = (case for case in hazard.cases if "dies=true" in case.arguments)
    before = named("torch_")

    said = run(replace(dying, configs=("num_workers=2",), says=("crashed",)), tmp_path)

    assert said.summary == ("crashed",)
    assert_gone(named("torch_") - before)


@pytest.mark.full
def test_a_hung_loader_leaves_no_semaphores(tmp_path: Path) -> None:
    """Python's own tracker removes those of spawned workers, unless it is killed."""
    case = Case(
        dataset="deaths.py:Sleeps",
        says=("hung",),
        configs=("num_workers=2",),
        start_method="spawn",
        flags=("--hang-after", "15s"),
    )
    before = named("sem.mp-")

    said = run(case, tmp_path)

    assert said.summary == case.says
    assert_gone(named("sem.mp-") - before)
