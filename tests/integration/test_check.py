"""The gate against honest datasets and liars, in real processes."""

from pathlib import Path

import pytest

from autoloader.checking import CheckRequest, CheckResult, check
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

DATASETS = Path(__file__).parents[1] / "datasets.py"


def run(
    name: str,
    folder: Path,
    *,
    configs: tuple[str, ...] = (),
    start_method: str | None = None,
    arguments: tuple[tuple[str, object], ...] = (),
) -> CheckResult:
    """Check one of the datasets with small batches."""
    return check(
        CheckRequest(
            source=SourceSpec(spec=f"{DATASETS}:{name}", arguments=arguments),
            scope=ScopeRequest(start_method=start_method),
            batch_size=8,
            configs=configs,
            folder=folder,
        )
    )


def codes(result: CheckResult) -> set[str]:
    """Return all codes of findings, over all runs."""
    return {
        finding.code
        for _, item in result.runs
        if isinstance(item, Verdict)
        for finding in item.findings
    }


def ids(result: CheckResult, code: str) -> set[object]:
    """Return all ids that findings of a code name."""
    return {
        example_id
        for _, item in result.runs
        if isinstance(item, Verdict)
        for finding in item.findings
        if finding.code == code
        for example_id in finding.ids
    }


HONEST = [
    "Honest",
    "HonestDict",
    "HonestRandom",
    "Slow",
    "shuffled_loader",
    "reordering_loader",
    "Threads",
]

IN_CI = {"HonestDict", "Threads", "shuffled_loader"}
"""Those of them that every config meets with the slow tests; with the full ones all."""

LIARS = [
    ("losing_loader", "missing_ids", {33}),
    ("LosesInBatches", "missing_ids", {33}),
    ("WrongLabel", "label_mismatch", {5}),
    ("WrongContent", "content_mismatch", {5}),
]

SLOWER_LIARS = [
    ("Repeats", "label_mismatch", {21}),
    ("WrongDtype", "dtype_mismatch", None),
    ("WrongShape", "shape_mismatch", None),
    ("LacksField", "field_missing", None),
]


@pytest.mark.parametrize("name", ["Honest", "HonestRandom", "reordering_loader"])
def test_an_honest_dataset_passes(name: str, tmp_path: Path) -> None:
    """What workers deliver is what one process reads, whatever the order."""
    result = run(name, tmp_path)

    assert result.passed, result.to_dict()
    assert [item.examples for _, item in result.runs if isinstance(item, Verdict)] == [
        101,
        101,
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.slow if name in IN_CI else pytest.mark.full
        )
        for name in HONEST
    ],
)
def test_an_honest_dataset_passes_with_every_config(name: str, tmp_path: Path) -> None:
    """No setting of the loader makes the gate accuse an honest dataset."""
    configs = (
        "num_workers=0",
        "num_workers=1",
        "num_workers=3,prefetch_factor=4",
        "num_workers=3,persistent_workers=yes",
    )

    result = run(name, tmp_path, configs=configs)

    assert len(result.runs) == len(configs)
    assert result.passed, result.to_dict()


@pytest.mark.parametrize(("name", "code", "lost"), LIARS)
def test_a_liar_is_refused_with_its_id(
    name: str, code: str, lost: set[object] | None, tmp_path: Path
) -> None:
    """The finding names what is wrong and the example that shows it."""
    result = run(name, tmp_path)

    assert not result.passed
    assert codes(result) == {code}
    assert lost is None or ids(result, code) == lost


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code", "lost"), SLOWER_LIARS)
def test_each_lie_has_its_code(
    name: str, code: str, lost: set[object] | None, tmp_path: Path
) -> None:
    """Dtype, shape, fields and repeats are told apart."""
    result = run(name, tmp_path)

    assert code in codes(result)
    assert lost is None or ids(result, code) == lost


@pytest.mark.slow
def test_a_lie_of_the_second_epoch_is_found_in_kept_workers_only(
    tmp_path: Path,
) -> None:
    """Two epochs are read, with and without kept workers."""
    result = run("ChangesInSecondEpoch", tmp_path)

    (_, fresh), (_, kept) = result.runs
    assert isinstance(fresh, Verdict)
    assert fresh.passed
    assert isinstance(kept, Verdict)
    assert [finding.epoch for finding in kept.findings] == [1]


def test_a_shared_file_offset_is_found_where_content_is_right(tmp_path: Path) -> None:
    """A descriptor from before the fork is a fault even when no byte was wrong."""
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(101)))

    result = run("SharesOffset", tmp_path, arguments=(("path", str(file)),))

    assert "shared_file_offset" in codes(result)


def test_a_killed_worker_is_a_crash_with_its_signal(tmp_path: Path) -> None:
    """A worker that dies at example 33 is reported as crashed."""
    result = run("Dies", tmp_path)

    failures = [item for _, item in result.runs if isinstance(item, Failure)]
    assert [failure.kind for failure in failures] == ["crashed", "crashed"]
    assert {failure.signal for failure in failures} == {"SIGKILL"}
    assert result.to_dict()["status"] == "crashed"


@pytest.mark.slow
def test_a_worker_that_leaves_is_a_crash_with_its_exit_code(tmp_path: Path) -> None:
    """The exit code of the worker is in the failure."""
    result = run("Leaves", tmp_path, configs=("num_workers=2",))

    (_, failure), *_ = result.runs
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.exit_code) == ("crashed", 3)


@pytest.mark.slow
def test_an_exception_in_a_worker_keeps_its_type_and_words(tmp_path: Path) -> None:
    """PyTorch wraps it; the failure names what the dataset raised."""
    result = run("Raises", tmp_path, configs=("num_workers=2",))

    (_, failure), *_ = result.runs
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.exception) == ("worker_exception", "KeyError")
    assert "the codec is not there" in failure.message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "ClonedGenerator",
            [{"streams_identical", "epochs_identical"}, {"streams_identical"}],
        ),
        ("HonestRandom", [set(), set()]),
    ],
)
def test_a_generator_cloned_into_the_workers_is_a_caution(
    name: str, expected: list[set[str]], tmp_path: Path
) -> None:
    """Kept workers go on with their copies; fresh ones begin with the same again."""
    result = run(name, tmp_path)

    assert result.passed, result.to_dict()
    found = [
        {caution.code for caution in item.cautions}
        for _, item in result.runs
        if isinstance(item, Verdict)
    ]
    assert found == expected


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("spawn", marks=pytest.mark.slow),
        pytest.param("forkserver", marks=pytest.mark.full),
    ],
)
def test_an_honest_dataset_passes_with_every_start_method(
    method: str, tmp_path: Path
) -> None:
    """Workers that are not forked import the file and deliver the same."""
    result = run("HonestDict", tmp_path, start_method=method)

    assert result.passed, result.to_dict()
    assert result.reference.facts.start_method == method


@pytest.mark.slow
def test_what_cannot_be_pickled_is_named_by_its_path(tmp_path: Path) -> None:
    """A fork carries a lambda, spawn does not: the failure says which one."""
    forked = run("HoldsLambda", tmp_path / "fork")
    spawned = run("HoldsLambda", tmp_path / "spawn", start_method="spawn")

    assert forked.passed
    (_, failure), *_ = spawned.runs
    assert isinstance(failure, Failure)
    assert failure.kind == "cannot_pickle"
    assert failure.message.startswith("dataset.transforms['train'][0] (")


@pytest.mark.slow
def test_a_setting_that_spawned_workers_lack_is_found(tmp_path: Path) -> None:
    """Each start method is judged on its own."""
    forked = run("DefaultDtype", tmp_path / "fork")
    spawned = run("DefaultDtype", tmp_path / "spawn", start_method="spawn")

    assert forked.passed
    assert codes(spawned) == {"dtype_mismatch"}
