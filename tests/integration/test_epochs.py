"""Epochs that differ, in real processes: what kept workers do not hear of."""

from pathlib import Path
from typing import Any

import pytest

from autoloader.checking import CheckRequest, CheckResult, check
from autoloader.values.outcome import Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

DATASETS = Path(__file__).parents[1] / "epochs.py"


def run(name: str, folder: Path, **scope: Any) -> CheckResult:
    """Check one of the datasets, fresh and kept workers."""
    return check(
        CheckRequest(
            source=SourceSpec(spec=f"{DATASETS}:{name}"),
            scope=ScopeRequest(**scope),
            batch_size=8,
            folder=folder,
        )
    )


def said(result: CheckResult) -> list[tuple[set[str], set[str]]]:
    """Return codes of findings and of cautions, config by config."""
    return [
        (
            {item.code for item in verdict.findings},
            {item.code for item in verdict.cautions},
        )
        for _, verdict in result.runs
        if isinstance(verdict, Verdict)
    ]


def test_an_epoch_that_does_not_reach_kept_workers_is_found(tmp_path: Path) -> None:
    """Fresh workers get it; the finding says which epoch, and why."""
    result = run("Stale", tmp_path)

    assert said(result) == [(set(), set()), ({"label_mismatch"}, set())]
    _, kept = result.runs[1]
    assert isinstance(kept, Verdict)
    assert kept.findings[0].epoch == 1
    assert "does not reach them" in str(kept.findings[0].hint)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Shared", "Reshuffled"])
def test_an_epoch_that_reaches_all_workers_passes(name: str, tmp_path: Path) -> None:
    """A value in shared memory is seen by kept workers as well."""
    result = run(name, tmp_path)

    assert said(result) == [(set(), set()), (set(), set())]


@pytest.mark.slow
def test_a_stream_that_is_replayed_is_a_caution(tmp_path: Path) -> None:
    """The examples are right, the order was to be another."""
    result = run("ReplayedStream", tmp_path)

    assert said(result) == [(set(), set()), (set(), {"epochs_identical"})]


@pytest.mark.slow
def test_a_stream_whose_second_epoch_is_other_data_is_compared_with_it(
    tmp_path: Path,
) -> None:
    """Not with the first; kept workers that replay it are refused."""
    result = run("NextShards", tmp_path)

    assert said(result)[0] == (set(), set())
    assert {"missing_ids", "foreign_ids"} & said(result)[1][0]


@pytest.mark.slow
def test_a_cut_stream_is_compared_epoch_by_epoch(tmp_path: Path) -> None:
    """Each worker's share is read for each epoch."""
    result = run("EndlessByEpoch", tmp_path, examples=200)

    assert said(result)[0] == (set(), set())
    assert said(result)[1][0]


@pytest.mark.slow
def test_a_cache_that_goes_by_the_order_of_requests_is_found(tmp_path: Path) -> None:
    """Kept workers are given their examples in another order; fresh ones keep none."""
    result = run("CachesByPlace", tmp_path)

    fresh, (refused, _) = said(result)
    assert fresh == (set(), set())
    assert {"label_mismatch", "missing_ids", "repeated_ids"} & refused
    _, kept = result.runs[1]
    assert isinstance(kept, Verdict)
    assert kept.findings[0].epoch == 1


@pytest.mark.slow
def test_noise_that_kept_workers_draw_again_is_a_caution(tmp_path: Path) -> None:
    """It is the same example by example, in whatever order these are read."""
    result = run("NoiseByWorker", tmp_path)

    assert said(result) == [(set(), set()), (set(), {"epochs_identical"})]


@pytest.mark.slow
def test_what_the_training_changes_between_epochs_is_seen(tmp_path: Path) -> None:
    """The hook is called as a trainer would: kept workers do not hear of it."""
    result = run("Curriculum", tmp_path, on_epoch=f"{DATASETS}:harder")

    assert said(result) == [(set(), set()), ({"content_mismatch"}, set())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"),
    [("KeepsFiles", "descriptors_growing"), ("KeepsTensors", "memory_growing")],
)
def test_growth_from_epoch_to_epoch_is_a_caution(
    name: str, code: str, tmp_path: Path
) -> None:
    """Of kept workers; fresh ones begin anew."""
    result = run(name, tmp_path)

    assert said(result) == [(set(), set()), (set(), {code})]


@pytest.mark.slow
def test_a_cache_that_is_full_after_the_first_epoch_does_not_grow(
    tmp_path: Path,
) -> None:
    """Each kept worker reads the same examples again."""
    result = run("CachesTensors", tmp_path)

    assert said(result) == [(set(), set()), (set(), set())]
