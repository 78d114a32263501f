"""Memory, shared memory and CPUs that are short: by mounts, by control groups."""

from pathlib import Path

import pytest

from tests.limits.running import (
    HERE,
    check,
    control_group,
    no_shared_memory,
    outcomes,
    run,
    shared_memory,
    tune,
)

GIB = 1 << 30

MEMORY_LIMITS = {"memory.max": str(GIB), "memory.limit_in_bytes": str(GIB)}

CPU_LIMITS = {"cpu.max": "150000 100000", "cpu.cfs_quota_us": "150000"}

NO_SMAPS_ROLLUP = """
import os, sys
from pathlib import Path

def refuse(event, arguments):
    if event == "open" and str(arguments[0]).endswith("/smaps_rollup"):
        os.close(os.open(os.environ["ASKED"], os.O_CREAT | os.O_WRONLY))
        raise FileNotFoundError(2, "No such file or directory")

sys.addaudithook(refuse)
"""
"""A `sitecustomize` for all processes of a run: the kernel is older than 4.14."""


@pytest.mark.slow
def test_a_small_shared_memory_is_not_overfilled(tmp_path: Path) -> None:
    """64 MiB, as a container has: what does not fit is refused before it runs."""
    ran = tune(tmp_path, "Large", prefix=shared_memory("64m"))

    assert ran.code in {0, 4, 6}, ran.err
    tried = outcomes(tmp_path)
    assert {item["config"]["num_workers"] for item in tried} == {0}
    assert {item["status"] for item in tried} == {"measured"}
    (untried,) = ran.result["search"]["passed_over"]
    assert untried["reason"] == "batches that take more shared memory than is free"
    assert [item["num_workers"] for item in untried["configs"]] == [1, 2]


@pytest.mark.slow
def test_without_shared_memory_only_workers_are_missing(tmp_path: Path) -> None:
    """It is said what they need; one process does without."""
    devices, work = tmp_path / "dev", tmp_path / "work"
    devices.mkdir()
    work.mkdir()

    ran = run(
        "check", "--dataset", f"{HERE / 'small.py'}:Small", "--batch-size", "8",
        "--config", "num_workers=0", "--config", "num_workers=2", "--json", "--quiet",
        folder=work, prefix=no_shared_memory(devices),
    )  # fmt: skip

    assert ran.code == 1, ran.err
    alone, with_workers = ran.result["runs"]
    assert alone["status"] == "passed"
    failure = with_workers["failure"]
    assert failure["kind"] == "start_failed"
    assert failure["message"] == (
        "workers need shared memory, and /dev/shm is not there"
    )
    assert failure["hint"] == (
        "mount -t tmpfs tmpfs /dev/shm, or docker run --shm-size; num_workers=0 needs "
        "none"
    )


def test_a_machine_is_what_its_control_groups_leave(tmp_path: Path) -> None:
    """CPUs and memory of the groups, not those of the hardware."""
    with (
        control_group("cpu", CPU_LIMITS) as few_cpus,
        control_group("memory", MEMORY_LIMITS) as little_memory,
    ):
        ran = run("machine", "--json", folder=tmp_path, prefix=few_cpus + little_memory)

    found = ran.result
    assert found["quota_cpus"] == 1.5
    assert found["effective_cpus"] == min(1.5, found["affinity_cpus"])
    assert found["memory_limit_bytes"] == GIB
    assert 0 < found["memory_available_bytes"] < GIB


@pytest.mark.full
def test_a_tune_keeps_to_what_its_control_groups_leave(tmp_path: Path) -> None:
    """The default memory budget is 80 % of what the group has left."""
    with (
        control_group("cpu", CPU_LIMITS) as few_cpus,
        control_group("memory", MEMORY_LIMITS) as little_memory,
    ):
        ran = tune(tmp_path, prefix=few_cpus + little_memory)

    assert ran.code in {0, 4, 6}, ran.err
    assert 0 < ran.result["target"]["memory_bytes"] <= 0.8 * GIB


@pytest.mark.slow
def test_a_worker_that_the_kernel_ends_for_its_memory_is_named_so(
    tmp_path: Path,
) -> None:
    """The control group counts whom it killed; the tool itself lives on."""
    hungry = HERE.parent / "hungry.py"
    with control_group("memory", MEMORY_LIMITS) as little_memory:
        ran = check(tmp_path, f"{hungry}:Hungry", prefix=little_memory)

    assert ran.code == 1, ran.err
    failure = ran.result["failure"]
    assert failure["kind"] == "out_of_memory"
    assert failure["signal"] == "SIGKILL"
    assert "for want of memory meanwhile" in failure["message"]


@pytest.mark.full
def test_memory_is_weighed_where_the_kernel_adds_nothing_up(tmp_path: Path) -> None:
    """Without `smaps_rollup` the mappings are added up one by one."""
    hook, work, asked = tmp_path / "hook", tmp_path / "work", tmp_path / "asked"
    hook.mkdir()
    work.mkdir()
    (hook / "sitecustomize.py").write_text(NO_SMAPS_ROLLUP, encoding="utf-8")
    paths = f"{hook}:{HERE.parents[1]}"

    ran = tune(work, environment={"PYTHONPATH": paths, "ASKED": str(asked)})

    assert ran.code in {0, 4, 6}, ran.err
    assert asked.exists()
    weighed = [item["memory"] for item in outcomes(work) if item["memory"]]
    assert weighed
    assert all(item["full_queue_bytes"] > 10 << 20 for item in weighed)
