"""A folder of recommendations: each kind of hardware finds its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from autoloader.errors import StoredFileError, UsageError
from autoloader.export.recommendation import (
    Recommendation,
    file_for,
    load,
    nearest_in,
    recommendations_in,
)
from autoloader.measure import machine as read_machine
from autoloader.values.machine import Accelerator, Machine
from tests.fakes import a_machine

if TYPE_CHECKING:
    from pathlib import Path

GPU = Accelerator(name="Test GPU", kind="cuda", memory_bytes=2**34, driver="1.2")

TWO, FOUR, MANY = a_machine(2), a_machine(4), a_machine(64)

WITH_GPU = replace(TWO, accelerators=(GPU,), accelerator_note=None)

OTHER = replace(FOUR, cpu_model="Other CPU")


def put(folder: Path, machine: Machine, name: str | None = None) -> Path:
    """Write a recommendation of a machine, whose workers are its CPUs."""
    path = folder / (name or machine.file_name)
    Recommendation(
        {
            "schema": 1,
            "dataset": "data.py:train",
            "dataloader": {"num_workers": machine.whole_cpus, "batch_size": 64},
            "target": {"met": True},
            "machine": machine.to_dict(),
        }
    ).write(path)
    return path


def test_the_file_of_this_hardware_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory and kernel have no part in that."""
    here = replace(FOUR, kernel="9.9", memory_available_bytes=1)
    monkeypatch.setattr(read_machine, "read_machine", lambda: here)
    for machine in (TWO, FOUR, WITH_GPU):
        put(tmp_path, machine)

    found = load(tmp_path)

    assert found.settings["num_workers"] == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "test-2cpu-none.yaml",
        "test-2cpu-test-gpu.yaml",
        "test-4cpu-none.yaml",
    ]


def test_a_file_of_another_name_is_found_by_its_machine(tmp_path: Path) -> None:
    """Other YAML files, and kept ones, are passed over."""
    named = put(tmp_path, FOUR, "of-the-big-one.yaml")
    (tmp_path / "study.yaml").write_text("dataset: data.py:train\n")
    put(tmp_path, TWO, "test-4cpu-none.yaml.before-2026-11-30")

    assert file_for(tmp_path, FOUR) == named
    assert list(recommendations_in(tmp_path)) == [named]


def test_where_there_is_none_the_others_and_the_nearest_are_named(
    tmp_path: Path,
) -> None:
    """And both commands that add one."""
    put(tmp_path, TWO)
    put(tmp_path, WITH_GPU)

    with pytest.raises(UsageError) as caught:
        file_for(tmp_path, FOUR)

    assert caught.value.message == (
        f"{tmp_path} has no recommendation for this machine, test-4cpu-none; it has "
        "test-2cpu-none, test-2cpu-test-gpu"
    )
    assert caught.value.hint == (
        f"nearest is test-2cpu-none.yaml; `autoloader retune {tmp_path}` or "
        f"`autoloader tune --dataset SPEC --out {tmp_path}/` adds one of this "
        "machine's own"
    )


def test_an_empty_folder_has_no_recommendation(tmp_path: Path) -> None:
    """As a file that is missing."""
    with pytest.raises(UsageError) as caught:
        load(tmp_path)

    assert caught.value.message == f"there is no recommendation at {tmp_path}"


def test_a_damaged_file_of_this_hardware_is_told(tmp_path: Path) -> None:
    """It is not passed over for another."""
    (tmp_path / FOUR.file_name).write_text("schema: 7\n")
    put(tmp_path, TWO)

    with pytest.raises(StoredFileError, match=r"has schema 7, this version reads 1$"):
        load(file_for(tmp_path, FOUR))


@pytest.mark.parametrize(
    ("machine", "nearest"),
    [(MANY, FOUR), (replace(MANY, cpu_model="Other CPU"), OTHER), (WITH_GPU, WITH_GPU)],
)
def test_nearest_is_by_accelerator_then_model_then_cpus(
    tmp_path: Path, machine: Machine, nearest: Machine
) -> None:
    """In this order."""
    for known in (TWO, FOUR, OTHER, WITH_GPU):
        put(tmp_path, known)

    found = nearest_in(recommendations_in(tmp_path), machine)

    assert found.name == nearest.file_name
