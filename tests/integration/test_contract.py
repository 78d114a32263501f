"""The contract from end to end: written by a check, edited, held by later ones."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

DATASETS = Path(__file__).parents[1] / "contracts.py"


class Run:
    """What a check said."""

    def __init__(self, folder: Path, name: str, *flags: str) -> None:
        done = subprocess.run(
            [
                sys.executable, "-m", "autoloader", "check", "--json", "--quiet",
                "--dataset", f"{DATASETS}:{name}", *flags,
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        self.code = done.returncode
        self.err = done.stderr
        self.result: dict[str, Any] = json.loads(done.stdout)

    @property
    def findings(self) -> list[str]:
        """Code and message of each finding of the first config that has any."""
        return [
            f"{item['code']}: {item['message']}" for item in self.result["findings"]
        ]

    @property
    def error(self) -> str:
        """What is said of a dataset that fails by itself."""
        return str(self.result["error"]["message"])


def edit(file: Path, **rules: Any) -> None:
    """Change the rules of a contract, as a person would."""
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    data["rules"].update(rules)
    file.write_text(yaml.safe_dump(data), encoding="utf-8")


def test_one_odd_record_of_four_is_named_before_a_batch_is_made(tmp_path: Path) -> None:
    """Never dropped: once it is mended, four ids and one shape."""
    odd = Run(tmp_path, "FourRecords", "--batch-size", "4")
    mended = Run(
        tmp_path, "FourRecords", "--batch-size", "4", "--arg", "mended=true",
        "--write-contract", "contract.yaml",
    )  # fmt: skip

    assert odd.code == 3
    assert odd.error == (
        "contract_violation: 1 of 4 examples differs from the others: id 2: "
        "field 0 is 1 x 16 x 16, others are 3 x 16 x 16"
    )
    assert mended.code == 0
    assert mended.result["verified"] == {"examples": 4, "of": 4, "epochs": 2}
    contract = yaml.safe_load((tmp_path / "contract.yaml").read_text(encoding="utf-8"))
    assert contract["examples"] == 4
    assert contract["fields"][0]["shape"] == [3, 16, 16]


@pytest.mark.full
def test_a_contract_is_held_by_later_checks(tmp_path: Path) -> None:
    """Another shape, count or label refuses the dataset with its ids."""
    Run(tmp_path, "Whole", "--write-contract", "contract.yaml")

    same = Run(tmp_path, "Whole", "--contract", "contract.yaml")
    longer = Run(tmp_path, "Longer", "--contract", "contract.yaml")
    label = Run(tmp_path, "NewLabel", "--contract", "contract.yaml")

    assert same.code == 0
    assert (longer.code, longer.error) == (
        3,
        "contract_violation: the dataset has 42 examples, the contract says 40",
    )
    assert (label.code, label.error) == (
        3,
        "contract_violation: 1 of 40 examples breaks the contract: id 11: "
        "label is outside 0 to 6",
    )


@pytest.mark.slow
def test_only_incomplete_examples_may_be_left_out_and_only_by_the_rule(
    tmp_path: Path,
) -> None:
    """By default none is; with the rule those that are None in one process as well."""
    Run(tmp_path, "Whole", "--write-contract", "contract.yaml")
    flags = ("--contract", "contract.yaml")

    refused = Run(tmp_path, "filtering", *flags)
    edit(tmp_path / "contract.yaml", incomplete="allow")
    lost = Run(tmp_path, "filtering", *flags)
    edit(tmp_path / "contract.yaml", incomplete="allow", filtered=True)
    allowed = Run(tmp_path, "filtering", *flags)
    more = Run(tmp_path, "filtering", *flags, "--arg", "holes=MoreHoles")

    assert refused.code == 3
    assert refused.error.startswith(
        "contract_violation: 2 of 40 examples break the contract: ids "
    )
    assert lost.code == 1
    assert {item["code"] for item in lost.result["findings"]} == {"missing_ids"}
    assert allowed.code == 0
    assert {item["code"] for item in allowed.result["cautions"]} == {
        "contract_violation",
        "examples_left_out",
    }
    assert more.code == 1
    assert [item["ids"] for item in more.result["findings"]] == [[21]]


@pytest.mark.full
def test_a_mask_that_does_not_tell_the_lengths_breaks_the_contract(
    tmp_path: Path,
) -> None:
    """It is found in every batch, not only in those that are collated again."""
    Run(tmp_path, "padding", "--write-contract", "contract.yaml")
    written = yaml.safe_load((tmp_path / "contract.yaml").read_text(encoding="utf-8"))
    flags = ("--contract", "contract.yaml", "--arg")

    right = Run(tmp_path, "padding", *flags, "is_right=true")
    wrong = Run(tmp_path, "padding", *flags, "is_right=false")

    assert written["padding"] == [{"mask": "mask", "of": "tokens", "axis": 0}]
    assert right.code == 0
    assert wrong.code == 1
    assert "contract_violation" in {item["code"] for item in wrong.result["findings"]}


@pytest.mark.full
def test_a_contract_is_not_written_over_another_nor_after_a_failure(
    tmp_path: Path,
) -> None:
    """Nothing is overwritten by less."""
    file = tmp_path / "contract.yaml"
    Run(tmp_path, "Whole", "--write-contract", "contract.yaml")
    before = file.read_text(encoding="utf-8")

    again = Run(tmp_path, "Whole", "--write-contract", "contract.yaml")
    other = Run(tmp_path, "Longer", "--write-contract", "contract.yaml")

    assert again.code == 0
    assert "as it was" in again.err
    assert other.code == 2
    assert "exists and differs" in other.error
    assert file.read_text(encoding="utf-8") == before
