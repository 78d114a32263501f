"""The scope in real processes: where examples come from, units, a cold cache."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from autoloader.child.cache import cool
from autoloader.measure.load import file_bytes
from autoloader.measure.storage import file_systems_of, mounts
from autoloader.trial.reference import read_reference
from autoloader.values.job import Reference, ReferenceOrder
from autoloader.values.scope import ScopeRequest, SourceSpec, UnitFacts, UnitSpec
from tests.reads import COUNT, SIZE

READS = Path(__file__).parents[1] / "reads.py"

TELLING = {"btrfs", "ext4", "xfs"}
"""File systems of which the kernel counts what comes from storage."""


def reference(root: Path, **request: object) -> Reference:
    """Return the reference of a dataset of files, read in a process of its own."""
    for name in ("reference", "logs", "tmp", "data"):
        (root / name).mkdir()
    order = ReferenceOrder(
        source=SourceSpec(
            spec=f"{READS}:Files", arguments=(("root", str(root / "data")),)
        ),
        request=ScopeRequest(
            units=(UnitSpec(name="firsts", spec=f"{READS}:first_byte"),),
            **request,  # type: ignore[arg-type]  # fields of the request
        ),
        folder=str(root / "reference"),
    )
    return read_reference(order, logs=root / "logs", tmp=root / "tmp")


def test_the_reference_names_the_files_that_are_then_cooled(tmp_path: Path) -> None:
    """What is read after that comes from storage again."""
    found = reference(tmp_path, cache="cold")
    paths = sorted((tmp_path / "data" / "files").iterdir())
    for path in paths:  # what was just written is dropped once it is on the disk
        with path.open("rb") as file:
            os.fsync(file.fileno())

    cooled = cool(Path(found.folder))
    before = file_bytes(os.getpid())
    read = sum(len(path.read_bytes()) for path in paths)
    after = file_bytes(os.getpid())

    assert found.scope.cache == "cold"
    assert found.facts.units == (UnitFacts(name="firsts", per_example=5.5),)
    assert found.facts.access is not None
    assert (found.facts.access.source, found.facts.access.files) == ("local", COUNT)
    assert cooled.files + cooled.in_memory == COUNT + 1
    if set(file_systems_of(map(str, paths), mounts())) <= TELLING:
        assert before is not None
        assert after is not None
        assert after.from_storage - before.from_storage >= read == COUNT * SIZE


@pytest.mark.slow
def test_a_tune_states_its_scope_in_file_report_and_json(tmp_path: Path) -> None:
    """Source, decoding, cache, units, and what is left out."""
    command = [
        sys.executable, "-m", "autoloader", "tune", "--dataset", f"{READS}:Files",
        "--arg", f"root={tmp_path}", "--batch-size", "2", "--num-workers", "0:1",
        "--budget", "10s", "--cache", "cold", "--unit", f"firsts={READS}:first_byte",
        "--best-effort", "--json",
    ]  # fmt: skip

    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )

    assert done.returncode in {0, 4, 6}, done.stderr
    said = json.loads(done.stdout)["scope"]
    written = yaml.safe_load((tmp_path / "autoloader.yaml").read_text())["scope"]
    assert said.keys() == written.keys()
    assert written["cache"] == "cold"
    assert written["access"]["source"] == "local"
    assert written["access"]["decoding"] == "inside"
    assert written["per_example"] == {"bytes": SIZE + 8, "firsts": 5.5}
    assert written["excluded"]["applies_to"].startswith("every config")
