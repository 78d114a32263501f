"""The gate against honest streams and liars among them, in real processes."""

import re
from pathlib import Path
from typing import Any

import pytest

from autoloader.checking import CheckRequest, CheckResult, check
from autoloader.errors import DatasetError, UsageError
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

STREAMS = Path(__file__).parents[1] / "streams.py"

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "datasets"

READ = 200
"""Examples that are read of an endless stream."""


def run(
    name: str,
    folder: Path,
    *,
    source: Path = STREAMS,
    configs: tuple[str, ...] = (),
    batch_size: int | None = 8,
    arguments: tuple[tuple[str, object], ...] = (),
    **scope: Any,
) -> CheckResult:
    """Check one of the streams: with two workers, kept and not, unless said else."""
    if name.startswith("Endless"):
        scope = {"examples": READ, **scope}
    return check(
        CheckRequest(
            source=SourceSpec(spec=f"{source}:{name}", arguments=arguments),
            scope=ScopeRequest(**scope),
            batch_size=batch_size,
            configs=configs,
            folder=folder,
        )
    )


def verdicts(result: CheckResult) -> list[Verdict]:
    """Return the verdict on each config; all have one."""
    found = [item for _, item in result.runs if isinstance(item, Verdict)]
    assert len(found) == len(result.runs), result.to_dict()
    return found


def found_by(result: CheckResult) -> list[dict[str, int]]:
    """Return the codes of each config's findings, with their counts."""
    return [
        {finding.code: finding.count for finding in verdict.findings}
        for verdict in verdicts(result)
    ]


def ids(result: CheckResult, code: str) -> set[object]:
    """Return all ids that findings of a code name."""
    return {
        example_id
        for verdict in verdicts(result)
        for finding in verdict.findings
        if finding.code == code
        for example_id in finding.ids
    }


def cautions(result: CheckResult) -> list[list[str]]:
    """Return the codes of each config's cautions."""
    return [
        [caution.code for caution in verdict.cautions] for verdict in verdicts(result)
    ]


# The quick suite


def test_a_stream_that_is_dealt_to_its_workers_passes(tmp_path: Path) -> None:
    """All of it, whoever reads what."""
    result = run("InTurns", tmp_path)

    assert result.passed, result.to_dict()
    assert [(it.examples, it.of) for it in verdicts(result)] == [(101, 101)] * 2
    assert cautions(result) == [[], []]


def test_a_stream_that_is_not_split_is_refused(tmp_path: Path) -> None:
    """Each of 101 examples arrived once from each worker."""
    result = run("Unsharded", tmp_path)

    assert found_by(result) == [{"repeated_ids": 101}] * 2


def test_a_lost_remainder_is_refused_with_its_id(tmp_path: Path) -> None:
    """101 by 2 is 50, twice."""
    result = run("LosesRemainder", tmp_path)

    assert found_by(result) == [{"missing_ids": 1}] * 2
    assert ids(result, "missing_ids") == {100}


def test_an_endless_stream_passes_as_far_as_it_was_read(tmp_path: Path) -> None:
    """It is cut, and nothing beyond the cut is accused."""
    result = run("Endless", tmp_path)

    assert result.passed, result.to_dict()
    assert [(it.examples, it.of) for it in verdicts(result)] == [(READ, None)] * 2
    assert cautions(result) == [[], []]


def test_an_endless_stream_that_is_not_split_is_refused(tmp_path: Path) -> None:
    """Both workers deliver its beginning: 13 batches one of them, 12 the other."""
    result = run("EndlessUnsharded", tmp_path)

    assert found_by(result) == [{"repeated_ids": 12 * 8}] * 2


def test_a_stream_that_never_begins_anew_fails_by_itself(tmp_path: Path) -> None:
    """Its second pass in one process is empty: no trial is made."""
    message = "reference_unstable: the second pass over the stream is empty"

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$"):
        run("IsItsOwnIterator", tmp_path)


# The long suite

WHOLE = ["InTurns", "InRanges", "Shuffles", "dropping_the_rest", "split_at_start"]

ENDLESS = [
    "Endless",
    "EndlessCycle",
    "EndlessBuffer",
    "EndlessByWorkerSeed",
    "EndlessNoise",
]

CONFIGS = (
    "num_workers=0",
    "num_workers=1",
    "num_workers=2",
    "num_workers=2,persistent_workers=yes",
    "num_workers=3,prefetch_factor=4",
    "num_workers=3,persistent_workers=yes",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WHOLE, *ENDLESS])
def test_an_honest_stream_passes_with_every_config(name: str, tmp_path: Path) -> None:
    """No setting of the loader makes the gate accuse an honest stream."""
    result = run(name, tmp_path, configs=CONFIGS)

    assert len(result.runs) == len(CONFIGS)
    assert result.passed, result.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["InTurns", "Shuffles"])
def test_a_part_of_a_whole_stream_passes(name: str, tmp_path: Path) -> None:
    """The reference was cut long before the end."""
    result = run(name, tmp_path, examples=50)

    assert result.passed, result.to_dict()
    assert [it.of for it in verdicts(result)] == [None, None]


@pytest.mark.slow
def test_a_stream_that_needs_a_worker_passes(tmp_path: Path) -> None:
    """Its reference was read as the only worker."""
    result = run("NeedsWorker", tmp_path)

    assert result.passed, result.to_dict()
    assert result.reference.scope.stream is not None
    assert result.reference.scope.stream.needs_worker


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "workers", "code"),
    [
        ("HasThreeShards", 4, "idle_workers"),
        ("HasOneShard", 2, "one_worker_serves_all"),
        ("DeclaresHalf", 2, "length_misdeclared"),
    ],
)
def test_what_is_right_and_odd_is_a_caution(
    name: str, workers: int, code: str, tmp_path: Path
) -> None:
    """The data is the same; there is something to know."""
    result = run(name, tmp_path, configs=(f"num_workers={workers}",))

    assert result.passed, result.to_dict()
    assert cautions(result) == [[code]]


@pytest.mark.slow
def test_a_stream_that_is_split_where_workers_start_passes(tmp_path: Path) -> None:
    """Shares of a cut stream are read after worker_init_fn."""
    result = run(
        "split_at_start", tmp_path, examples=READ, arguments=(("is_endless", True),)
    )

    assert result.passed, result.to_dict()


@pytest.mark.slow
def test_examples_are_named_by_the_field_that_names_them(tmp_path: Path) -> None:
    """Where one is told; all others are numbered."""
    honest = run("Named", tmp_path, configs=("num_workers=2",), id="key")
    numbered = run("NamedSkipsOne", tmp_path, configs=("num_workers=2",))
    named = run("NamedSkipsOne", tmp_path, configs=("num_workers=2",), id="key")

    assert honest.passed
    assert ids(numbered, "missing_ids") == {33}
    assert ids(named, "missing_ids") == {"a/33.jpg"}


@pytest.mark.slow
def test_an_altered_example_is_named_by_its_id(tmp_path: Path) -> None:
    """Its label, 5, is what it is told apart by here, if the user says so."""
    result = run("AltersOne", tmp_path, id="1")

    assert found_by(result) == [{"content_mismatch": 1}] * 2
    assert ids(result, "content_mismatch") == {33 % 7}


@pytest.mark.slow
def test_pixels_that_are_not_their_ids_are_told_as_that(tmp_path: Path) -> None:
    """An array is filled again before the batch is made of it."""
    result = run(
        "RefillsArrayInStream", tmp_path, source=CONFORMANCE / "batching.py", id="id"
    )

    assert [set(found) for found in found_by(result)] == [{"content_mismatch"}] * 2
    assert ids(result, "content_mismatch") < set(range(101))


LIARS = [
    ("Overlaps", {"repeated_ids": 1}, {51}),
    ("SkipsOne", {"missing_ids": 1}, {33}),
    ("AltersOne", {"missing_ids": 1, "foreign_ids": 1}, {33}),
    ("WrongDtype", {"missing_ids": 101, "dtype_mismatch": 101}, None),
    ("NothingInWorkers", {"missing_ids": 101}, None),
    ("EndlessSkipsOne", {"missing_ids": 1}, {33}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "counts", "named"), LIARS)
def test_a_liar_is_refused_with_its_id(
    name: str, counts: dict[str, int], named: set[object] | None, tmp_path: Path
) -> None:
    """With kept workers and without."""
    result = run(name, tmp_path)

    assert found_by(result) == [counts] * 2
    assert named is None or ids(result, next(iter(counts))) == named


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ReusesBuffer", "repeated_ids"),
        ("EndlessCycleUnsharded", "repeated_ids"),
        ("EndlessBufferUnsharded", "repeated_ids"),
        ("EndlessSplitTwice", "missing_ids"),
    ],
)
def test_a_liar_is_refused(name: str, code: str, tmp_path: Path) -> None:
    """Which ids it names depends on where it was cut."""
    result = run(name, tmp_path)

    assert all(code in found for found in found_by(result))


@pytest.mark.slow
def test_workers_that_end_where_one_process_does_not_are_refused(
    tmp_path: Path,
) -> None:
    """160 of 200 are missing, although nothing that arrived is wrong."""
    result = run("EndsInWorkers", tmp_path, examples=READ)

    assert found_by(result) == [{"missing_ids": READ - 40}] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GoesOnInSecondEpoch", "EndlessGoesOn"])
def test_a_lie_of_kept_workers_is_found_in_their_second_epoch(
    name: str, tmp_path: Path
) -> None:
    """Fresh workers begin anew by themselves."""
    fresh, kept = verdicts(run(name, tmp_path))

    assert fresh.passed
    assert not kept.passed
    assert {finding.epoch for finding in kept.findings} == {1}
    assert kept.findings[0].code == "missing_ids"


@pytest.mark.slow
def test_drop_last_in_each_of_four_workers_is_refused(tmp_path: Path) -> None:
    """One process drops 37 of 101; four drop all of them."""
    result = run(
        "dropping_in_workers",
        tmp_path,
        batch_size=None,
        configs=("num_workers=0", "num_workers=4"),
    )

    assert found_by(result) == [{}, {"missing_ids": 101}]


@pytest.mark.slow
def test_more_workers_than_shards_fail_with_the_datasets_error(tmp_path: Path) -> None:
    """The fourth worker has no shard to index."""
    result = run("IndexesShards", tmp_path, configs=("num_workers=3", "num_workers=4"))

    (_, three), (_, four) = result.runs
    assert isinstance(three, Verdict)
    assert three.passed
    assert isinstance(four, Failure)
    assert (four.kind, four.exception) == ("worker_exception", "IndexError")


@pytest.mark.slow
def test_an_iter_that_fails_in_kept_workers_is_a_failure(tmp_path: Path) -> None:
    """The main process sees that a worker left; why stands in the worker's output."""
    (_, fresh), (_, kept) = run("FailsInSecondEpoch", tmp_path).runs

    assert isinstance(fresh, Verdict)
    assert fresh.passed
    assert isinstance(kept, Failure)
    assert (kept.kind, kept.exit_code) == ("crashed", 1)
    assert kept.log is not None
    printed = (Path(kept.log) / "stderr.txt").read_text(encoding="utf-8")
    assert "ValueError: the index file vanished" in printed


@pytest.mark.slow
def test_a_stream_that_breaks_fails_by_itself(tmp_path: Path) -> None:
    """The number of the example is told."""
    message = (
        "the dataset fails in one process: example 33 of the stream raises OSError: "
        "the shard is truncated"
    )

    with pytest.raises(DatasetError, match=f"^{re.escape(message)}$"):
        run("Breaks", tmp_path)


@pytest.mark.slow
def test_an_id_that_is_no_field_is_wrong_use(tmp_path: Path) -> None:
    """Told before any trial."""
    with pytest.raises(UsageError, match=r"^--id name is no field of an example$"):
        run("Named", tmp_path, id="name")
