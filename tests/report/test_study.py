"""What is told of a stored study: in the words that the tune itself had."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from autoloader.commands.report import sources_of
from autoloader.errors import StoredFileError
from autoloader.export.recommendation import Recommendation
from autoloader.export.study_files import Taken, read_study
from autoloader.measure.throughput import epoch_rate
from autoloader.report.study import Sources, StudyReport
from autoloader.report.study_making import study_report
from autoloader.search.record import Record
from autoloader.values.outcome import Status
from autoloader.values.target import Target
from tests.report.replayed import Replayed, replay_into

if TYPE_CHECKING:
    from pathlib import Path

NO_TARGET_MET = Target(examples_per_s=100_000, memory_bytes=2**34)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Give a study on disk, replayed once."""
    return replay_into(tmp_path_factory.mktemp("studied"), spec="data.py:train")


@pytest.fixture(scope="module")
def report(studied: Replayed) -> StudyReport:
    """Give its report, of file and folder."""
    return study_report(sources_of(studied.file))


def test_verdict_and_bound_are_those_of_the_tune(
    studied: Replayed, report: StudyReport
) -> None:
    """Reason, config and share, word for word."""
    choice, standings = studied.result.choice, studied.result.standings

    assert choice.config is not None
    assert standings is not None
    assert report.state == "met"
    assert (
        report.verdict == f"target met: {choice.config.describe()} is {choice.reason}"
    )
    low = standings[choice.config].ratio_low
    assert low is not None
    share = min(low * 0.97 * 0.95, 1) * 100
    assert report.bound is not None
    assert report.bound.startswith(f"at least {share:.1f} % of the fastest, with 95 %")


def test_readings_of_the_race_are_told_in_time_where_the_record_says_when(
    studied: Replayed, report: StudyReport
) -> None:
    """A replay keeps no time, as older versions did not."""
    study = read_study(studied.folder)
    raced = [item for item in study.taken if item.reading.purpose == "race"]
    timed = [
        Taken(item.outcome, replace(item.reading, begun_s=100.0 + number))
        for number, item in enumerate(raced)
    ]

    found = study_report(
        Sources(
            name="autoloader.yaml",
            recommendation=None,
            study=replace(study, taken=tuple(timed)),
        )
    )

    assert report.raced == ()
    assert [item.begun_s for item in found.raced] == [
        100.0 + number for number in range(len(raced))
    ]
    assert found.raced[0].rate == epoch_rate(raced[0].reading)


def test_rows_are_paired_as_the_race_itself_pairs_them(
    studied: Replayed, report: StudyReport
) -> None:
    """The same intervals, to the digits that a file has."""
    choice, standings = studied.result.choice, studied.result.standings

    row = next(row for row in report.rows if row.is_chosen)
    default = report.rows[0]
    assert "pytorch_default" in default.names
    assert choice.config is not None
    assert standings is not None
    expected = standings.relative(choice.config, default.config)
    assert expected is not None
    assert row.relative is not None
    assert row.relative.to_dict() == pytest.approx(expected.to_dict(), rel=1e-4)


def test_rounds_are_those_of_the_race(studied: Replayed, report: StudyReport) -> None:
    """Told from the order of the stored readings."""
    race = studied.result.race

    assert race is not None
    assert report.race is not None
    assert len(report.race.rounds) == len(race.rounds)
    for found, run in zip(report.race.rounds, race.rounds, strict=True):
        assert found == {config: rate for config, rate in run.items() if rate}
    assert report.race.error == pytest.approx(race.error, rel=1e-5)


def test_a_trial_without_a_speed_has_its_cause_and_no_rate(report: StudyReport) -> None:
    """Those that were refused, and those that broke."""
    lost = [item for item in report.trials if item.status is not Status.MEASURED]

    assert [item.number for item in lost] == [item.number for item in report.failed]
    assert all(item.rate is None and item.peak_bytes is None for item in lost)
    assert sum(report.counts.values()) == len(report.trials)


def test_facts_are_told_in_the_words_of_a_terminal(report: StudyReport) -> None:
    """Data, scope, search, race, time, limit."""
    facts = dict(report.facts)

    assert "examples, 2 epochs: ids and labels the same" in facts["data"]
    assert "shuffled with seed 0" in facts["scope"]
    assert facts["search"].startswith(f"{len(report.trials)} trials: ")
    assert report.race is not None
    assert facts["race"].startswith(f"{len(report.race.rounds)} rounds of ")
    assert facts["time"] == "2 m 50 s"
    assert "limit" in facts


def test_a_file_alone_has_the_same_verdict_and_rates(
    studied: Replayed, report: StudyReport
) -> None:
    """Trials and rounds are missing, and that is told."""
    alone = study_report(
        replace(sources_of(studied.file), study=None, missing="it is not there")
    )

    assert (alone.verdict, alone.bound) == (report.verdict, report.bound)
    assert alone.trials == ()
    assert alone.race is None
    assert alone.missing == (
        "it is not there: trials without a speed, the time line, the race by rounds, "
        "the distribution of waits, and all readings are missing here",
    )
    rated = [row for row in report.rows if row.rate is not None]
    for row, full in zip(alone.rows, rated, strict=True):
        assert row.names == full.names
        assert row.rate is not None
        assert full.rate is not None
        assert row.rate.to_dict() == pytest.approx(full.rate.to_dict(), rel=1e-5)
    row, full = (
        next(row for row in found.rows if row.is_chosen) for found in (alone, report)
    )
    assert row.relative is not None
    assert full.relative is not None
    assert row.relative.low == pytest.approx(full.relative.low, rel=1e-4)
    assert row.relative.high == pytest.approx(full.relative.high, rel=1e-4)


def test_a_study_that_is_not_finished_says_so(tmp_path: Path) -> None:
    """What it has tried so far is there."""
    studied = replay_into(tmp_path, spec="data.py:train")
    state = json.loads((studied.folder / "study.json").read_text())
    (studied.folder / "study.json").write_text(json.dumps({**state, "finished": False}))

    found = study_report(sources_of(studied.folder))

    assert found.state == "without_file"
    assert found.dataset == "data.py:train"
    assert found.verdict.startswith("no choice yet: the study is not finished; ")
    assert found.use is None
    assert "fastest" in {name for row in found.rows for name in row.names}


def test_a_target_that_was_not_met_recommends_nothing(tmp_path: Path) -> None:
    """The file then has the fastest, by --best-effort."""
    studied = replay_into(tmp_path, target=NO_TARGET_MET)

    found = study_report(sources_of(studied.file))

    assert found.state == "not_met"
    assert found.verdict.startswith("target not met: no config reached 100,000 ")
    assert (found.bound, found.use) == (None, None)
    assert not any(row.is_chosen for row in found.rows)
    assert dict(found.facts)["data"].startswith("of the fastest config, ")


def test_a_study_that_began_anew_is_not_taken_for_the_files(tmp_path: Path) -> None:
    """Its readings are others; those of the file are looked for where they were put."""
    studied = replay_into(tmp_path)
    trials = len(study_report(sources_of(studied.file)).trials)
    with Record(studied.folder) as record:
        record.begin_anew()
    (studied.folder / "outcomes.jsonl").write_bytes(b"")

    aside = study_report(sources_of(studied.file))
    (studied.folder / "outcomes.1.jsonl").rename(tmp_path / "elsewhere")
    gone = study_report(sources_of(studied.file))

    assert len(aside.trials) == trials
    assert gone.trials == ()
    assert gone.missing[0].startswith(
        f"the study of {studied.file} has begun anew since the file was written: "
    )


def test_a_study_that_is_not_there_is_told_with_its_places(tmp_path: Path) -> None:
    """As everywhere where a study is looked for."""
    studied = replay_into(tmp_path)
    shutil.rmtree(studied.folder)

    found = study_report(sources_of(studied.file))

    assert found.missing[0].startswith(
        f"the study {studied.folder.name} of {studied.file} is not in "
    )


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        (
            "verified",
            {"examples": 1},
            "the section 'verified' of f.yaml cannot be used: it lacks 'of'",
        ),
        (
            "limit",
            {"name": "space"},
            "the section 'limit' of f.yaml cannot be used: it lacks "
            "'ceiling_examples_per_s'",
        ),
        (
            "cautions",
            [{"code": "x"}],
            "the section 'cautions' of f.yaml cannot be used: it lacks 'message'",
        ),
        (
            "compared",
            {"fastest": {"dataloader": {"num_workers": -1, "batch_size": 1}}},
            "f.yaml: dataloader cannot be used: num_workers must be a whole number of "
            "at least 0, got -1",
        ),
    ],
)
def test_a_damaged_section_is_named(
    section: str, value: Any, message: str, studied: Replayed
) -> None:
    """With what it lacks; the rest of the file may be whole."""
    data = {**yaml.safe_load(studied.file.read_text()), section: value}
    sources = Sources(
        name="f.yaml", recommendation=Recommendation(data), study=None, missing="gone"
    )

    with pytest.raises(StoredFileError) as caught:
        study_report(sources)

    assert caught.value.message == message


def test_json_has_no_layout_and_all_names_of_the_file(report: StudyReport) -> None:
    """It can be written as it is."""
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))

    assert found["dataloader"] == report.sections["dataloader"]
    assert len(found["trials"]) == len(report.trials)
    assert found["race"]["rounds"] == len(report.race.rounds if report.race else ())
