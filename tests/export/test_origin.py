"""What a file was measured on and of, as it says, and as it is found again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autoloader.export.origin import contract_section, fingerprint_now, fingerprint_of
from autoloader.export.recommendation import Recommendation, load
from autoloader.export.scope_section import scope_section
from autoloader.measure.versions import versions
from autoloader.values.contract import Contract, ContractField, Rules
from autoloader.values.fingerprint import changes
from autoloader.values.job import Reference
from autoloader.values.scope import SourceSpec
from tests.report.fakes import FACTS, MACHINE, SCOPE

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = SourceSpec(spec="data.py:train")

CONTRACT = Contract(
    examples=1600,
    fields=(
        ContractField(
            path="0", type="tensor", dtype="float32", shape=(3, None, 32), random=True
        ),
        ContractField(path="1", type="int", dtype="int64"),
    ),
)


def a_reference(contract: Contract | None = CONTRACT, **facts: Any) -> Reference:
    """Return what one process read, some facts replaced."""
    return Reference(
        facts=replace(FACTS, **facts),
        scope=SCOPE,
        folder="",
        seconds=1.0,
        contract=contract,
    )


def written(reference: Reference, path: Path) -> dict[str, Any]:
    """Write what a tune says of its origin into a file, and return what is read."""
    Recommendation(
        {
            "schema": 1,
            "dataset": SOURCE.spec,
            "dataloader": {"num_workers": 0, "batch_size": 64},
            "target": {"met": True},
            "scope": scope_section(SOURCE, reference.scope, reference.facts, ()),
            "contract": contract_section(reference),
            "machine": MACHINE.to_dict(),
            "versions": versions(),
        }
    ).write(path)
    return load(path).data


def test_what_was_written_is_found_again_where_nothing_changed(tmp_path: Path) -> None:
    """YAML and back, of a machine with a part of a CPU too."""
    machine = replace(MACHINE, quota_cpus=4 / 3, effective_cpus=4 / 3)
    data = written(a_reference(), tmp_path / "autoloader.yaml")
    data["machine"] = {
        **data["machine"],
        "quota_cpus": 1.33333,
        "effective_cpus": 1.33333,
    }

    now = fingerprint_now(SOURCE, machine, a_reference())

    assert changes(fingerprint_of(data), now) == ()
    assert now.length == 1600
    assert now.storage == ("local", "ext4")
    assert now.versions["python"] == versions()["python"]


def test_a_shape_that_is_random_is_no_part_of_the_data() -> None:
    """Another draw has other sizes; its type and dtype are what they are."""
    first, second = CONTRACT.fields
    other = replace(CONTRACT, fields=(replace(first, shape=(3, 9, 9)), second))
    dtype = replace(CONTRACT, fields=(replace(first, dtype="float16"), second))
    was = fingerprint_now(SOURCE, MACHINE, a_reference())

    now = fingerprint_now(SOURCE, MACHINE, a_reference(other))
    changed = fingerprint_now(SOURCE, MACHINE, a_reference(dtype))

    assert changes(was, now) == ()
    assert [item.sentence for item in changes(was, changed)] == [
        "contract.0 was tensor float32, now tensor float16"
    ]


def test_rules_count_where_a_contract_was_held() -> None:
    """People edit it between two nights."""
    held = replace(a_reference(), scope=replace(SCOPE, contract=CONTRACT))
    looser = replace(CONTRACT, rules=Rules(shapes="free"))
    edited = replace(held, scope=replace(SCOPE, contract=looser))

    found = changes(
        fingerprint_now(SOURCE, MACHINE, held), fingerprint_now(SOURCE, MACHINE, edited)
    )

    assert [item.field for item in found] == ["contract.rules"]
    assert "shapes free" in found[0].new


def test_sections_that_are_missing_or_odd_are_not_known() -> None:
    """They are evidence, and nobody checks them when a file is loaded."""
    odd = {
        "dataset": "x:y",
        "machine": MACHINE.to_dict(),
        "versions": 3,
        "scope": {"length": "many", "start_method": 4, "access": {"source": "local"}},
        "contract": {"fields": 5},
    }

    found = fingerprint_of(odd)

    assert (found.length, found.start_method, found.contract) == (None, None, None)
    assert found.storage == ("local",)
    assert fingerprint_of({"dataset": "x:y", "machine": MACHINE.to_dict()}).storage is (
        None
    )
