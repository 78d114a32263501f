"""The timed pass in real processes: what runs in it, and what it reads."""

from pathlib import Path

import pytest

from autoloader.measure.planning import wave_plan
from autoloader.trial.aftercare import make_tmp
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan, ReferenceOrder
from autoloader.values.outcome import Reading, Verdict
from autoloader.values.scope import ScopeRequest, SourceSpec

WATCHED = Path(__file__).with_name("watched.py")


def timed(
    workers: int, plan: PassPlan, tmp_path: Path, *, examples: int | None = None
) -> tuple[Reading, list[Path]]:
    """Return a reading of the watched dataset, and the files of its processes."""
    tmp, read, calls = make_tmp(), tmp_path / "reference", tmp_path / "calls"
    read.mkdir()
    calls.mkdir()
    source = SourceSpec(spec=f"{WATCHED}:Watched", arguments=(("folder", str(calls)),))
    request = ScopeRequest(examples=examples)
    order = ReferenceOrder(source=source, request=request, folder=str(read))
    reference = read_reference(order, logs=read, tmp=tmp)
    config = LoaderConfig.canonical(num_workers=workers, batch_size=10)
    folder = tmp_path / "trials"
    with ProcessRunner(source, reference, folder=folder, tmp=tmp) as runner:
        verdict = runner.gate(config, examples=100)
        assert isinstance(verdict, Verdict)
        before = set(calls.iterdir())
        reading = runner.time(config, verdict=verdict, purpose="search", plan=plan)
    assert isinstance(reading, Reading)
    return reading, sorted(set(calls.iterdir()) - before)


def between(lines: list[str], mark: str) -> list[str]:
    """Return the lines between the first and the last mark, the marks left out."""
    places = [place for place, line in enumerate(lines) if line == mark]
    part = lines[places[0] : places[-1]] if places else []
    return [line for line in part if line not in {"batch", "example"}]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_of_the_package_is_called_between_two_batches(
    workers: int, tmp_path: Path
) -> None:
    """Neither in the process that asks for batches nor in one that makes them."""
    plan = wave_plan(workers)

    reading, files = timed(workers, plan, tmp_path)

    lines = {path: path.read_text().splitlines() for path in files}
    batches = [path for path in files if lines[path].count("batch") > plan.total]
    examples = [path for path in files if "example" in lines[path]]
    assert reading.counts == (10,) * plan.total
    assert len(batches) == 1
    assert len(examples) == max(workers, 1)
    assert between(lines[batches[0]], "batch") == []
    assert [between(lines[path], "example") for path in examples] == [[]] * len(
        examples
    )
    assert any(line not in {"batch", "example"} for line in lines[batches[0]])


@pytest.mark.slow
def test_short_epochs_are_read_whole_one_after_the_other(tmp_path: Path) -> None:
    """Each begins and ends its workers, and each brings all its examples."""
    plan = PassPlan(warm_batches=4, steady_batches=8, tail_batches=2, epochs=3)

    reading, _ = timed(2, plan, tmp_path)

    assert sum(reading.counts) == 3 * 600
    assert len(reading.epoch_ends_s) == 3
    assert reading.epoch_ends_s[-1] == pytest.approx(reading.total_s)
    assert reading.arrivals_s[60] > reading.epoch_ends_s[0] > reading.arrivals_s[59]


@pytest.mark.slow
@pytest.mark.parametrize("examples", [70, 600])
def test_a_whole_epoch_of_a_part_is_as_long_as_the_real_one(
    examples: int, tmp_path: Path
) -> None:
    """What was read by the reference is read again and again: waves are as in it."""
    plan = PassPlan(warm_batches=4, steady_batches=8, tail_batches=2, epochs=2)

    reading, _ = timed(2, plan, tmp_path, examples=examples)

    assert reading.epoch_examples == 600
    assert reading.counts == (10,) * 120
    assert len(reading.epoch_ends_s) == 2
