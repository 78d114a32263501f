"""Real libraries, beside torchvision: honest use passes, known misuse is named.

What is said is the same as in the project's own environment, whose torch is another:
cases of the conformance suite are run again, and those that need torchvision are added.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autoloader import load
from tests.conformance.hazard import Case
from tests.conformance.list_a import BOTH_PASS, BROKEN, FOLDER, FRESH
from tests.conformance.running import DATASETS, ROOT, differences, run
from tests.ecosystem.frameworks import framework

HERE = "../../ecosystem/datasets"
"""Of this folder's datasets, as seen from the conformance suite's."""

FOUR = ("num_workers=4",)

TABLES = ("datasets", "torchdata", "webdataset")

LIBRARIES = {
    "archives.py": ("h5py",),
    "arrays.py": ("zarr",),
    "chunks.py": ("litdata",),
    "databases.py": ("lmdb",),
    "graph_transport.py": ("torch_geometric",),
    "libraries.py": TABLES,
    "pictures.py": (),
    "shards.py": ("streaming",),
    "tables.py": TABLES,
    "training.py": ("accelerate", "h5py", "lightning", "transformers"),
    "volumes.py": ("monai",),
}
"""What the module of a dataset imports, beside torchvision."""

CASES: dict[str, Case] = {
    "photos": Case(
        dataset=f"{HERE}/pictures.py:photos",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "validation": Case(
        dataset=f"{HERE}/pictures.py:validation",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "lambda to a spawned worker": Case(
        dataset=f"{HERE}/pictures.py:with_lambda",
        arguments=FOLDER,
        start_method="spawn",
        configs=FRESH,
        says=("cannot_pickle",),
        words=(r"dataset\.transform",),
    ),
    "one generator for all workers": Case(
        dataset=f"{HERE}/pictures.py:one_generator",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset({"streams_identical", "epochs_identical"}),
    ),
    "pictures of any size": Case(
        dataset=f"{HERE}/pictures.py:of_any_size",
        arguments=FOLDER,
        says=("dataset",),
    ),
    "table": Case(dataset="libraries.py:hf_table", arguments=FOLDER, says=BOTH_PASS),
    "table with a lambda": Case(
        dataset=f"{HERE}/tables.py:table_with_lambda",
        arguments=FOLDER,
        says=BOTH_PASS,
    ),
    "table that every worker goes through": Case(
        dataset=f"{HERE}/tables.py:table_as_a_stream",
        arguments=FOLDER,
        says=("repeated_ids", "repeated_ids"),
        words=("each worker reads the whole stream",),
    ),
    "stream with a lambda": Case(
        dataset=f"{HERE}/tables.py:stream_with_lambda",
        arguments=FOLDER,
        says=BOTH_PASS,
    ),
    "stream of fewer files than workers": Case(
        dataset=f"{HERE}/tables.py:stream_with_lambda",
        arguments=(*FOLDER, "shards=3"),
        configs=FOUR,
        says=("passed",),
        cautions=frozenset({"idle_workers"}),
    ),
    "webdataset": Case(dataset="libraries.py:web", arguments=FOLDER, says=BOTH_PASS),
    "webdataset that every worker reads whole": Case(
        dataset="libraries.py:web",
        arguments=(*FOLDER, "splits=false"),
        says=("repeated_ids", "repeated_ids"),
    ),
    "h5py": Case(
        dataset="archives.py:OpensHdf5",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "h5py handle of the constructor's": Case(
        dataset="archives.py:SharesHdf5",
        arguments=(*FOLDER, "driver=python"),
        says=(BROKEN, BROKEN),
        words=(r"dataset\.file", r"records\.h5"),
    ),
    "h5py handle to a spawned worker": Case(
        dataset="archives.py:SharesHdf5",
        arguments=FOLDER,
        start_method="spawn",
        configs=FRESH,
        says=("cannot_pickle",),
        words=(r"dataset\.file \(File\)",),
    ),
    "lmdb": Case(
        dataset="databases.py:OpensLmdb",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "lmdb opened again in workers": Case(
        dataset="databases.py:OpensLmdbTwice",
        arguments=FOLDER,
        says=("worker_exception", "worker_exception"),
        words=(r"already open in this process",),
    ),
    "lmdb to a spawned worker": Case(
        dataset="databases.py:SharesLmdb",
        arguments=FOLDER,
        start_method="spawn",
        configs=FRESH,
        says=("cannot_pickle",),
        words=(r"dataset\.environment \(Environment\)",),
    ),
    "zarr": Case(
        dataset=f"{HERE}/arrays.py:OpensZarr",
        arguments=FOLDER,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "zarr array of the constructor's": Case(
        dataset=f"{HERE}/arrays.py:SharesZarr",
        arguments=FOLDER,
        says=BOTH_PASS,
    ),
    "graphs": Case(
        dataset="graph_transport.py:graphs",
        batch_size=None,
        says=BOTH_PASS,
    ),
    "graphs in a loader that knows none": Case(
        dataset="graph_transport.py:Graphs",
        says=("dataset",),
    ),
    "litdata": Case(
        dataset=f"{HERE}/chunks.py:streamed",
        arguments=FOLDER,
        batch_size=None,
        says=BOTH_PASS,
    ),
    "litdata by index in every worker": Case(
        dataset=f"{HERE}/chunks.py:ByIndex",
        arguments=FOLDER,
        says=("repeated_ids", "repeated_ids"),
    ),
    "mosaicml-streaming": Case(
        dataset=f"{HERE}/shards.py:dealt",
        arguments=FOLDER,
        batch_size=None,
        says=BOTH_PASS,
    ),
    "mosaicml-streaming by index in every worker": Case(
        dataset=f"{HERE}/shards.py:ByIndex",
        arguments=FOLDER,
        says=("repeated_ids", "repeated_ids"),
    ),
    "monai": Case(
        dataset=f"{HERE}/volumes.py:volumes",
        batch_size=None,
        says=BOTH_PASS,
        cautions=frozenset(),
    ),
    "monai in a loader that seeds no worker": Case(
        dataset=f"{HERE}/volumes.py:volumes",
        arguments=("own_loader=false",),
        batch_size=None,
        says=BOTH_PASS,
        cautions=frozenset({"streams_identical", "epochs_identical"}),
    ),
    "Trainer": Case(
        dataset=f"{HERE}/training.py:trainer",
        batch_size=None,
        says=BOTH_PASS,
    ),
    "Trainer on a stream that every worker reads whole": Case(
        dataset=f"{HERE}/training.py:trainer",
        batch_size=None,
        arguments=("streams=true",),
        says=("repeated_ids", "repeated_ids"),
    ),
    "Accelerate": Case(
        dataset=f"{HERE}/training.py:accelerated",
        batch_size=None,
        says=BOTH_PASS,
    ),
    "Accelerate over a stream that every worker reads whole": Case(
        dataset=f"{HERE}/training.py:accelerated",
        batch_size=None,
        arguments=("streams=true",),
        says=("repeated_ids", "repeated_ids"),
    ),
    "DataModule": Case(
        dataset=f"{HERE}/training.py:RowsOfAFile",
        batch_size=None,
        arguments=FOLDER,
        says=BOTH_PASS,
    ),
    "DataModule that opens its file in setup": Case(
        dataset=f"{HERE}/training.py:RowsOfAFile",
        batch_size=None,
        arguments=(*FOLDER, "opens_in_setup=true"),
        says=(BROKEN, BROKEN),
    ),
}

TUNED = (
    *("photos", "table", "table with a lambda", "stream with a lambda", "webdataset"),
    *("h5py", "lmdb", "zarr", "graphs", "litdata", "monai"),
    "mosaicml-streaming",
    *("Trainer", "Accelerate", "DataModule"),
)
"""Honest uses that are tuned too."""


ELSEWHERE = {
    "streaming": "mosaicml-streaming needs huggingface-hub below 1 and numpy below "
    "2.2: it goes into an environment of its own"
}
"""Libraries that do not go together with the others."""


def import_libraries_of(case: Case) -> None:
    """Import what a case's module does; skip the test where one is not installed."""
    module = Path(case.dataset.partition(":")[0]).name
    for library in ("torchvision", *LIBRARIES[module]):
        if library in ELSEWHERE:
            framework(library, how=ELSEWHERE[library])
        else:
            framework(library)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_real_library_is_judged_rightly(name: str, tmp_path: Path) -> None:
    """Its data, or its misuse; nothing of the content comes out."""
    case = CASES[name]
    import_libraries_of(case)

    said = run(case, tmp_path)

    assert differences(case, said) == []


@pytest.mark.full
@pytest.mark.parametrize("name", TUNED)
def test_a_real_library_is_tuned(name: str, tmp_path: Path) -> None:
    """Within seconds, to a recommendation whose data was verified."""
    case = CASES[name]
    import_libraries_of(case)
    command = [sys.executable, "-m", "autoloader", "tune", "--target", "20"]
    command += ["--dataset", f"{DATASETS / case.dataset}", "--budget", "20s"]
    command += ["--num-workers", "0:2", "--trials", "3", "--quiet"]
    if case.batch_size is not None:
        command += ["--batch-size", str(case.batch_size)]
    for argument in case.arguments:
        command += ["--arg", argument.format(folder=tmp_path)]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found = load(tmp_path / "autoloader.yaml").data
    assert found["target"]["met"]
    assert found["verified"]["examples"] > 0
    assert found["verified"]["ids"] == "same"
