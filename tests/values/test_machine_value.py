"""What the value `Machine` promises."""

import dataclasses
import json
import re
from typing import Any

import pytest

from autoloader.errors import StoredFileError
from autoloader.values.machine import (
    Accelerator,
    Machine,
    smaller_of_affinity_and_quota,
)

A100 = Accelerator(
    name="NVIDIA A100-SXM4-40GB",
    kind="cuda",
    memory_bytes=40 * 2**30,
    driver="560.35.03",
)

EPYC = Machine(
    cpu_model="AMD EPYC 7B13 64-Core Processor",
    logical_cpus=128,
    affinity_cpus=16,
    quota_cpus=2.0,
    effective_cpus=2.0,
    memory_total_bytes=256 * 2**30,
    memory_limit_bytes=8 * 2**30,
    memory_available_bytes=7 * 2**30,
    shm_total_bytes=64 * 2**20,
    shm_free_bytes=60 * 2**20,
    open_files_limit=1024,
    accelerators=(),
    accelerator_note="the NVIDIA driver is not loaded",
    system="Linux x86_64",
    kernel="6.1.0-18-amd64",
    python="3.12.4",
)


def changed(**values: Any) -> dict[str, Any]:
    """Return the plain data of a machine with some values replaced."""
    return {**EPYC.to_dict(), **values}


def with_quota(quota: float) -> Machine:
    """Return a machine whose cgroups grant so many CPUs."""
    return dataclasses.replace(EPYC, quota_cpus=quota, effective_cpus=quota)


def test_a_machine_comes_back_equal_from_json() -> None:
    """What was stored is what is read, tuples and floats included."""
    machine = dataclasses.replace(EPYC, accelerators=(A100, A100))

    restored = Machine.from_dict(json.loads(json.dumps(machine.to_dict())))

    assert restored == machine


def test_whole_numbers_stand_for_floats_in_stored_data() -> None:
    """YAML edited by hand may hold 2 where a float is kept."""
    restored = Machine.from_dict(changed(quota_cpus=2, effective_cpus=2))

    assert restored == EPYC
    assert isinstance(restored.effective_cpus, float)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "Machine must be a mapping, got NoneType"),
        (changed(cpus=4), "Machine has no field 'cpus'"),
        (
            {key: value for key, value in changed().items() if key != "kernel"},
            "Machine lacks the field 'kernel'",
        ),
        (
            changed(logical_cpus="many"),
            "Machine.logical_cpus must be int, got 'many'",
        ),
        (changed(logical_cpus=True), "Machine.logical_cpus must be int, got True"),
        (
            changed(shm_total_bytes=0.5),
            "Machine.shm_total_bytes must be int | None, got 0.5",
        ),
        (
            changed(accelerators="A100"),
            "Machine.accelerators must be a list, got 'A100'",
        ),
        (
            changed(accelerators=[{"name": "A100"}]),
            "Machine.accelerators[0] lacks the field 'kind'",
        ),
        (
            changed(accelerators=[7]),
            "Machine.accelerators[0] must be a mapping, got 7",
        ),
        (
            changed(logical_cpus=0),
            "Machine cannot be used: logical_cpus must be at least 1, got 0",
        ),
    ],
)
def test_stored_data_of_another_form_is_refused(data: object, sentence: str) -> None:
    """The sentence names the key at fault and the value found there."""
    with pytest.raises(StoredFileError, match=f"^{re.escape(sentence)}$"):
        Machine.from_dict(data)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"logical_cpus": 0}, "logical_cpus must be at least 1, got 0"),
        ({"affinity_cpus": -2}, "affinity_cpus must be at least 1, got -2"),
        ({"quota_cpus": 0.0}, "quota_cpus must be more than 0, got 0.0"),
        (
            {"effective_cpus": 16.0},
            "effective_cpus must be the smaller of affinity and quota, 2, got 16",
        ),
    ],
)
def test_impossible_cpu_counts_are_refused(
    values: dict[str, Any], sentence: str
) -> None:
    """A machine without CPUs, or with more than it may use, cannot be built."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        dataclasses.replace(EPYC, **values)


@pytest.mark.parametrize(
    ("affinity", "quota", "effective"), [(4, None, 4.0), (4, 1.5, 1.5), (4, 6.0, 4.0)]
)
def test_effective_cpus_are_the_smaller_of_affinity_and_quota(
    affinity: int, quota: float | None, effective: float
) -> None:
    """A quota above the affinity grants nothing more."""
    found = smaller_of_affinity_and_quota(affinity, quota)

    assert found == effective


@pytest.mark.parametrize(("quota", "whole"), [(0.25, 1), (1.0, 1), (1.5, 2), (8.0, 8)])
def test_whole_cpus_are_rounded_up_and_never_zero(quota: float, whole: int) -> None:
    """A quarter of a CPU still runs one process."""
    machine = with_quota(quota)

    assert machine.whole_cpus == whole


def test_the_key_names_cpu_count_and_missing_accelerator() -> None:
    """Core counts and words that every processor's name has are left out."""
    assert EPYC.key == "amd-epyc-7b13-2cpu-none"


def test_the_key_counts_equal_accelerators() -> None:
    """Eight equal devices are named once, in any order of the devices."""
    t4 = dataclasses.replace(A100, name="Tesla T4")
    one = dataclasses.replace(EPYC, accelerators=(A100, t4, A100))
    other = dataclasses.replace(EPYC, accelerators=(t4, A100, A100))

    assert one.key == "amd-epyc-7b13-2cpu-2x-nvidia-a100-sxm4-40gb-tesla-t4"
    assert other.key == one.key


@pytest.mark.parametrize(
    ("model", "quota", "key"),
    [
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", 2.5, "intel-xeon-2-20ghz-2_5cpu-none"),
        ("Intel(R) Xeon(R) Processor", 2.0, "intel-xeon-2cpu-none"),
        ("Größe/../π\n", 1 / 3, "groe-0_33cpu-none"),
        ("处理器", 1.0, "unknown-1cpu-none"),
    ],
)
def test_the_key_is_safe_in_file_names(model: str, quota: float, key: str) -> None:
    """No dot, slash or foreign letter is left to surprise a file system."""
    machine = dataclasses.replace(with_quota(quota), cpu_model=model)

    assert machine.key == key


def test_the_key_stays_while_memory_and_software_change() -> None:
    """What differs between two readings of one machine is no part of its key."""
    later = dataclasses.replace(
        EPYC, memory_available_bytes=1, shm_free_bytes=0, kernel="7.0", python="3.14.0"
    )

    assert later.key == EPYC.key
