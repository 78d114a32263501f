"""Real libraries, beside torchvision: honest use passes, known misuse is named.

What is said is the same as in the project's own environment, whose torch is another:
cases of the conformance suite are run again, and those that need torchvision are added.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hazard import Case
from tests.conformance.list_a import BOTH_PASS, BROKEN, FOLDER, FRESH
from tests.conformance.running import differences, run
from tests.ecosystem.frameworks import framework

HERE = "../../ecosystem/datasets"
"""Of this folder's datasets, as seen from the conformance suite's."""

FOUR = ("num_workers=4",)

TABLES = ("datasets", "torchdata", "webdataset")

LIBRARIES = {
    "archives.py": ("h5py",),
    "arrays.py": ("zarr",),
    "databases.py": ("lmdb",),
    "libraries.py": TABLES,
    "pictures.py": (),
    "tables.py": TABLES,
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
}


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_real_library_is_judged_rightly(name: str, tmp_path: Path) -> None:
    """Its data, or its misuse; nothing of the content comes out."""
    case = CASES[name]
    module = Path(case.dataset.partition(":")[0]).name
    for library in ("torchvision", *LIBRARIES[module]):
        framework(library)

    said = run(case, tmp_path)

    assert differences(case, said) == []
