"""Several ranks in real processes: shares, failures, and nothing that is left."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoloader.checking import CheckRequest, CheckResult, check
from autoloader.errors import DatasetError
from autoloader.measure.rank_rates import rank_rates
from autoloader.measure.throughput import epoch_rate, ranks_of
from autoloader.search.record import Record
from autoloader.values.gate import GatePolicy
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec
from tests.ranked_datasets import LENGTH

DATASETS = Path(__file__).parents[1] / "ranked_datasets.py"

ROOT = Path(__file__).parents[2]

MARK = "TEST_OF_RANKS"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every process of a test carries its mark, and none of them outlives it."""
    monkeypatch.setenv(MARK, str(tmp_path))
    yield
    mark, left = f"{MARK}={tmp_path}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            told = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # no process, another user's, or it has ended
            continue
        if mark in told:
            left.append(entry.name)
    assert left == []


def run(
    name: str,
    folder: Path,
    *configs: str,
    ranks: int = 2,
    arguments: tuple[tuple[str, object], ...] = (),
    hang_after_s: float | None = None,
    examples: int | None = None,
) -> CheckResult:
    """Check a dataset of ranks in batches of eight."""
    return check(
        CheckRequest(
            source=SourceSpec(spec=f"{DATASETS}:{name}", arguments=arguments),
            scope=ScopeRequest(examples=examples),
            batch_size=8,
            configs=configs or ("num_workers=2",),
            ranks=ranks,
            policy=GatePolicy(hang_after_s=hang_after_s),
            folder=folder,
        )
    )


def verdict(result: CheckResult) -> Verdict:
    """Return the verdict on the first config."""
    found = result.runs[0][1]
    assert isinstance(found, Verdict), found
    return found


@pytest.mark.full
def test_a_training_scripts_loader_is_dealt_out(tmp_path: Path) -> None:
    """Its DistributedSampler, made from its group; what drop_last loses is told."""
    found = verdict(run("sampled", tmp_path))

    assert found.passed
    assert (found.examples, found.of) == (96, LENGTH)
    assert [(item.code, item.count) for item in found.cautions] == [
        ("ranks_left_out", 5)
    ]


@pytest.mark.slow
def test_a_rank_that_dies_ends_the_trial(tmp_path: Path) -> None:
    """As crashed, with its number; the other one is ended."""
    ((_, found),) = run("Spoils", tmp_path, arguments=(("how", "kill"),)).runs

    assert isinstance(found, Failure)
    assert (found.status, found.rank, found.signal) == ("crashed", 1, "SIGKILL")
    start = "rank 1: the trial's process was killed by SIGKILL"
    assert found.message.startswith(start)


@pytest.mark.slow
def test_a_stream_that_shares_by_rank_and_worker_passes(tmp_path: Path) -> None:
    """What a rank has depends on its workers, and all have all of it."""
    result = run("SharedStream", tmp_path)

    found = verdict(result)
    assert found.passed
    assert (found.examples, found.of) == (LENGTH, LENGTH)
    shares = [item.scope.examples for item in result.reference.of_ranks]
    assert shares == [51, 50]


@pytest.mark.full
def test_a_stream_that_does_not_look_at_ranks_is_refused(tmp_path: Path) -> None:
    """Before any trial, with what to do."""
    with pytest.raises(DatasetError) as caught:
        run("SharedStream", tmp_path, arguments=(("by_rank", False),))

    assert caught.value.message == (
        "repeated_ids: the stream is not shared among ranks: each of 2 reads the same "
        f"{LENGTH} examples"
    )


@pytest.mark.full
def test_a_stream_that_shares_by_rank_passes_without_workers(tmp_path: Path) -> None:
    """And where it ends at a cut: each rank begins as it does alone."""
    found = verdict(run("SharedStream", tmp_path, "num_workers=0", examples=64))

    assert found.passed
    assert (found.examples, found.of) == (64, None)


@pytest.mark.full
def test_four_ranks_are_padded_and_pass(tmp_path: Path) -> None:
    """Of 101 examples three come twice."""
    found = verdict(run("Shared", tmp_path, "num_workers=0", ranks=4))

    assert found.passed
    assert (found.examples, found.of) == (LENGTH, LENGTH)
    assert [(item.code, item.count) for item in found.cautions] == [("ranks_padded", 3)]


@pytest.mark.full
def test_a_rank_that_hangs_is_named(tmp_path: Path) -> None:
    """Though the other one has long been waiting for nothing."""
    ((_, found),) = run(
        "Spoils", tmp_path, arguments=(("how", "hang"),), hang_after_s=5.0
    ).runs

    assert isinstance(found, Failure)
    assert (found.status, found.rank) == ("hung", 1)
    assert found.message.startswith("rank 1: no progress for ")


@pytest.mark.full
def test_an_exception_comes_with_its_rank(tmp_path: Path) -> None:
    """And with what it says."""
    ((_, found),) = run("Spoils", tmp_path, arguments=(("how", "raise"),)).runs

    assert isinstance(found, Failure)
    assert (found.kind, found.rank) == ("worker_exception", 1)
    assert found.message.startswith("rank 1: worker ")
    assert "raised ValueError: no such file" in found.message


@pytest.mark.full
def test_a_rank_with_other_data_is_named(tmp_path: Path) -> None:
    """The other one delivers its share."""
    found = verdict(run("Spoils", tmp_path, arguments=(("how", "lie"),)))

    assert not found.passed
    (finding,) = found.findings
    assert finding.code == "content_mismatch"
    assert finding.message.startswith("rank 1: ")
    assert finding.ids
    assert set(finding.ids) <= set(range(61, LENGTH))


@pytest.mark.full
def test_torchrun_tunes_all_of_its_ranks(tmp_path: Path) -> None:
    """Its first process runs them; rates are those of all, and the file says so."""
    out = tmp_path / "found.yaml"
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m",
        "autoloader", "tune", "--dataset", f"{DATASETS}:Shared", "--batch-size", "8",
        "--num-workers", "0", "--target", "1", "--budget", "1m", "--trials", "1",
        "--wait", "--json", "--out", str(out),
    ]  # fmt: skip

    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"]["ranks"] == 2
    assert len(told["ranks"]["examples_per_s"]) == 2
    assert "ranks: 2" in out.read_text()
    with Record(Path(told["study"])) as record:
        outcomes = record.outcomes
    reading = outcomes[0].readings[0]
    assert len(ranks_of(reading)) == 2
    assert epoch_rate(reading) == sum(map(epoch_rate, ranks_of(reading)))
    assert rank_rates(outcomes[0].readings) is not None
