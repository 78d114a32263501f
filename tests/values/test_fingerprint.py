"""What two fingerprints differ in, field by field, old and new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoloader.values.fingerprint import Change, Fingerprint, changes, in_words
from autoloader.values.machine import Accelerator
from tests.fakes import a_machine

GPU = Accelerator(name="Test GPU", kind="cuda", memory_bytes=2**34, driver="550.1")

HERE = Fingerprint(
    machine=replace(a_machine(), accelerators=(GPU,), accelerator_note=None),
    versions={"python": "3.11.7", "torch": "2.13.0"},
    start_method="fork",
    storage=("local", "ext4"),
    dataset="data.py:train",
    length=1600,
    contract={"0": "tensor float32 [3, 32, 32]", "1": "int int64"},
)


def with_machine(**parts: Any) -> Fingerprint:
    """Return the same, on a machine that differs."""
    return replace(HERE, machine=replace(HERE.machine, **parts))


def test_what_is_the_same_has_no_changes() -> None:
    """What is left of memory and shared memory says nothing of the machine."""
    busy = with_machine(memory_available_bytes=1, shm_free_bytes=1)

    assert changes(HERE, busy) == ()


@pytest.mark.parametrize(
    ("now", "kind", "sentence"),
    [
        (
            with_machine(cpu_model="Other CPU"),
            "hardware",
            "cpu_model was Test CPU, now Other CPU",
        ),
        (
            with_machine(quota_cpus=1.5, effective_cpus=1.5),
            "hardware",
            "effective_cpus was 2, now 1.5",
        ),
        (
            with_machine(accelerators=(GPU, GPU)),
            "hardware",
            "accelerators was Test GPU, now Test GPU, Test GPU",
        ),
        (
            with_machine(accelerators=(replace(GPU, driver="560.2"),)),
            "environment",
            "driver was 550.1, now 560.2",
        ),
        (with_machine(kernel="6.8"), "environment", "kernel was 6.1, now 6.8"),
        (
            with_machine(memory_limit_bytes=2**33),
            "environment",
            "memory_limit was 16.0 GiB, now 8.0 GiB",
        ),
        (
            with_machine(shm_total_bytes=None, shm_free_bytes=None),
            "environment",
            "shm_total was 8.0 GiB, now none",
        ),
        (
            replace(HERE, versions={"python": "3.11.7", "torch": "2.14.0"}),
            "environment",
            "torch was 2.13.0, now 2.14.0",
        ),
        (
            replace(HERE, start_method="spawn"),
            "environment",
            "start_method was fork, now spawn",
        ),
        (
            replace(HERE, storage=("network", "nfs4")),
            "environment",
            "storage was local, ext4, now network, nfs4",
        ),
        (replace(HERE, length=1599), "dataset", "length was 1600, now 1599"),
        (
            replace(
                HERE, contract={"0": "tensor float16 [3, 32, 32]", "1": "int int64"}
            ),
            "dataset",
            "contract.0 was tensor float32 [3, 32, 32], now tensor float16 [3, 32, 32]",
        ),
        (
            replace(HERE, contract={"0": "tensor float32 [3, 32, 32]"}),
            "dataset",
            "contract.1 was int int64, now absent",
        ),
    ],
)
def test_what_changed_is_named_with_old_and_new(
    now: Fingerprint, kind: str, sentence: str
) -> None:
    """One field, of the right kind."""
    found = changes(HERE, now)

    assert [item.sentence for item in found] == [sentence]
    assert found[0].kind == kind


def test_a_kernel_that_keeps_a_little_more_memory_is_no_change() -> None:
    """One part in a hundred is nobody's business."""
    little_less = with_machine(memory_limit_bytes=int(2**34 * 0.995))

    assert changes(HERE, little_less) == ()


def test_what_is_not_known_never_counts() -> None:
    """An older file says nothing of it, or nothing can be told here."""
    silent = replace(
        HERE, versions={}, start_method=None, storage=None, length=None, contract=None
    )

    assert changes(silent, HERE) == ()
    assert changes(HERE, silent) == ()


def test_changes_are_told_as_one_sentence_and_stored() -> None:
    """In the order hardware, environment, dataset."""
    now = replace(with_machine(kernel="6.8"), length=5)

    found = changes(HERE, now)

    assert in_words(found) == "kernel was 6.1, now 6.8; length was 1600, now 5"
    assert [Change.from_dict(item.to_dict()) for item in found] == list(found)


def test_a_kind_of_hardware_has_one_file_name_however_long() -> None:
    """Two kinds that begin alike keep names of their own."""
    many = [replace(GPU, name=f"Very Long Accelerator Name {n} " * 4) for n in (1, 2)]
    names = [with_machine(accelerators=(item,)).machine.file_name for item in many]

    assert HERE.machine.file_name == "test-2cpu-test-gpu.yaml"
    assert [len(name) for name in names] == [125, 125]
    assert names[0] != names[1]
