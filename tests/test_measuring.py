"""The story of a measuring, its processes answered from a table."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pytest

from autoloader import measuring
from autoloader.errors import DatasetError, UsageError
from autoloader.export.readings import readings
from autoloader.measuring import MeasureRequest, MeasureResult, measure
from autoloader.report.measure_view import QuietMeasure
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.job import PassPlan, Reference
from autoloader.values.outcome import Failure, Reading, Status, Verdict
from autoloader.values.scope import SourceSpec
from tests.fakes import FakeClock, FakeRunner, a_machine, a_scope, some_facts

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

ONE, TWO = "num_workers=1", "num_workers=2"

GONE = Failure(kind="crashed", phase="timed", message="a worker left")


@dataclass
class Runner(FakeRunner):
    """A runner whose passes may end otherwise after some readings of a config."""

    ends: dict[int, tuple[int, Any]] = field(default_factory=dict)
    """By number of workers: readings before it, and what comes then."""
    times: Counter[int] = field(default_factory=Counter)
    why_fresh: str | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self.calls.clear()

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Return a reading, or what ends them."""
        after, end = self.ends.get(config.num_workers, (10**9, None))
        self.times[config.num_workers] += 1
        if self.times[config.num_workers] > after:
            if isinstance(end, BaseException):
                raise end
            if isinstance(end, Failure):
                return end
        found = super().time(config, verdict=verdict, purpose=purpose, plan=plan)
        if end == "nothing" and self.times[config.num_workers] > after:
            assert isinstance(found, Reading)
            return Reading(
                **{
                    **found_fields(found),
                    "arrivals_s": (),
                    "counts": (),
                    "total_s": 1.0,
                }
            )
        return found


def found_fields(reading: Reading) -> dict[str, Any]:
    """Return the fields of a reading of whole epochs, as one of none."""
    names = (
        "purpose", "num_workers", "kept", "warm_batches", "steady_batches",
        "epoch_examples",
    )  # fmt: skip
    return {name: getattr(reading, name) for name in names}


def run(
    folder: Path,
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    *configs: str,
    **changes: Any,
) -> MeasureResult:
    """Measure configs whose passes the runner answers."""
    reference = Reference(
        facts=some_facts(), scope=a_scope(), folder=str(folder), seconds=1.0
    )
    monkeypatch.setattr(measuring, "read_reference", lambda *_, **__: reference)
    monkeypatch.setattr(measuring, "runner_of", lambda *_, **__: runner)
    request = MeasureRequest(
        source=SourceSpec(spec="data.py:train"),
        configs=configs,
        folder=folder / ".autoloader",
        **changes,
    )
    return measure(request, a_machine(4), QuietMeasure(), clock=runner.clock)


def runner_of(**changes: Any) -> Runner:
    """Return a runner with 100 examples a second for each worker."""
    return Runner(rate=lambda config: 100.0 * (config.num_workers or 0.5), **changes)


def test_configs_are_read_side_by_side_until_they_are_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with a first reading of its own, then six rounds, all of it stored."""
    result = run(tmp_path, runner_of(), monkeypatch, ONE, TWO)

    frame = readings(result.study)
    assert result.state == "settled"
    assert [item.contender.name for item in result.measured] == ["A", "B"]
    assert frame["purpose"].tolist() == ["search"] * 2 + ["race"] * 12
    assert frame["trial"].tolist()[2:6] == [0, 1, 1, 0]
    assert [len(item.readings) for item in result.measured] == [7, 7]
    assert (result.study / "study.json").exists()


def test_equal_configs_stay_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their readings are not mixed up."""
    result = run(tmp_path, runner_of(), monkeypatch, TWO, TWO, rounds=4)

    assert result.comparison is not None
    assert result.comparison.pairs[0].verdict == "equal"
    assert [len(item.readings) for item in result.measured] == [5, 5]
    assert readings(result.study).groupby("trial").size().tolist() == [5, 5]


def test_a_config_that_crashes_in_a_round_has_no_speed_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its readings stay where they are; the others go on."""
    runner = runner_of(ends={2: (3, GONE)})

    result = run(tmp_path, runner, monkeypatch, ONE, TWO, "num_workers=3")

    _, crashed, _ = result.measured
    frame = readings(result.study)
    assert result.state == "settled"
    assert not crashed.has_speed
    assert crashed.outcome.failure == GONE
    assert len(crashed.readings) == 3
    assert frame[frame["trial"] == 1]["status"].tolist() == ["crashed"] * 3
    assert result.comparison is not None
    assert result.comparison.names == ("A", "C")


def test_a_pass_without_a_batch_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate of nothing is none."""
    runner = runner_of(ends={2: (2, "nothing")})

    result = run(tmp_path, runner, monkeypatch, ONE, TWO)

    failure = result.measured[1].outcome.failure
    assert result.state == "failed"
    assert failure is not None
    assert failure.kind == "no_batch"
    assert failure.message == "a pass delivered no batch"


def test_a_config_with_wrong_data_is_never_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with one config left no round is run."""
    wrong = LoaderConfig.canonical(num_workers=2, batch_size=32)
    runner = runner_of(wrong=frozenset({wrong}))

    result = run(tmp_path, runner, monkeypatch, ONE, TWO)

    assert result.state == "failed"
    assert result.side_by_side is None
    assert result.measured[1].outcome.status is Status.REFUSED
    assert runner.times == {1: 1}


def test_a_budget_that_is_spent_before_the_rounds_leaves_one_round_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is read all the same, so that there is something to say."""
    result = run(tmp_path, runner_of(), monkeypatch, ONE, TWO, budget_s=0.5)

    assert result.state == "undecided"
    assert result.side_by_side is not None
    assert len(result.side_by_side.rounds.rates) == 1


def test_rounds_that_the_budget_cut_short_are_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other than rounds that were all run."""
    runner = runner_of(clock=FakeClock())

    cut = run(tmp_path, runner, monkeypatch, TWO, TWO, rounds=500, budget_s=60.0)

    assert cut.side_by_side is not None
    assert cut.side_by_side.rounds.stopped_because == "deadline"


def test_why_processes_were_fresh_is_told_where_it_was_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --isolation fresh it goes without saying."""
    threads = runner_of(why_fresh="threads are running")
    asked = runner_of(why_fresh="threads are running")

    told = run(tmp_path, threads, monkeypatch, ONE, TWO)
    silent = run(tmp_path, asked, monkeypatch, ONE, TWO, isolation="fresh")

    assert told.why_fresh == "threads are running"
    assert silent.why_fresh is None


def test_an_interrupt_in_a_round_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readings, and the file that has them."""
    runner = runner_of(ends={2: (2, KeyboardInterrupt())})

    with pytest.raises(KeyboardInterrupt) as caught:
        run(tmp_path, runner, monkeypatch, ONE, TWO)

    (path,) = tmp_path.glob(".autoloader/measure-*/outcomes.jsonl")
    assert caught.value.__notes__ == [f"4 readings so far: {path}"]
    assert len(readings(path)) == 4


def test_an_interrupt_before_any_reading_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a folder."""
    runner = runner_of(ends={1: (0, KeyboardInterrupt())})

    with pytest.raises(KeyboardInterrupt) as caught:
        run(tmp_path, runner, monkeypatch, ONE, TWO)

    assert caught.value.__notes__ == ["nothing was read yet"]
    assert list(tmp_path.glob(".autoloader/measure-*")) == []


@pytest.mark.parametrize(
    ("error", "stays"), [(UsageError("mistyped"), False), (DatasetError("fails"), True)]
)
def test_what_a_failing_dataset_printed_stays(
    error: Exception, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistyped SPEC leaves nothing."""

    def fail(*_: object, **__: object) -> Reference:
        raise error

    monkeypatch.setattr(measuring, "read_reference", fail)
    request = MeasureRequest(
        source=SourceSpec(spec="data.py:train"), folder=tmp_path / ".autoloader"
    )

    with pytest.raises(type(error)):
        measure(request, a_machine(), QuietMeasure())

    assert bool(list(tmp_path.glob(".autoloader/measure-*"))) is stays


def test_the_reference_is_given_up_after_what_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--hang-after` is said of all that reads the dataset."""
    told: list[object] = []

    def fail(*_: object, **keywords: object) -> Reference:
        told.append(keywords["hang_after_s"])
        raise DatasetError("fails")

    monkeypatch.setattr(measuring, "read_reference", fail)
    request = MeasureRequest(
        source=SourceSpec(spec="data.py:train"),
        folder=tmp_path / ".autoloader",
        policy=GatePolicy(hang_after_s=90.0),
    )

    with pytest.raises(DatasetError):
        measure(request, a_machine(), QuietMeasure())

    assert told == [90.0]


def test_the_reference_knows_the_largest_batch_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that one that an epoch cannot fill is refused at once; none is asked for."""
    asked = [
        measuring._largest_batch(
            MeasureRequest(
                source=SourceSpec(spec="a:b"), configs=configs, batch_size=size
            )
        )
        for configs, size in (
            ((), None),
            ((ONE,), 8),
            ((ONE, "num_workers=1,batch_size=64"), 8),
        )
    ]

    assert asked == [None, 8, 64]


def test_the_study_is_plain_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the configs by letter."""
    result = run(tmp_path, runner_of(), monkeypatch, TWO, rounds=2)

    data = json.loads((result.study / "study.json").read_text())

    assert [(item["name"], item["source"]) for item in data["configs"]] == [
        ("A", "pytorch_default"),
        ("B", "given"),
    ]
