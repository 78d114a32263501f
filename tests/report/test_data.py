"""What a report says of a result: rows, sentences, plain values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autoloader.export.recommendation import Recommendation
from autoloader.report import sentences
from autoloader.report.data import TuneReport
from autoloader.search.passed_over import PassedOver
from autoloader.search.selection import Choice
from autoloader.values.job import Reference
from autoloader.values.outcome import Status
from autoloader.values.target import Target
from tests.report.fakes import (
    FACTS,
    MIB,
    MISSING,
    SCOPE,
    config,
    crashed,
    refused,
    result,
)

DEFAULT, TWO, FOUR, EIGHT = config(0), config(2), config(4), config(8)
RATE_1000 = Target(examples_per_s=1000)
SOURCES = {DEFAULT: "pytorch_default", EIGHT: "yours"}
RATES = {DEFAULT: 200.0, EIGHT: 1300.0, TWO: 600.0, FOUR: 1100.0}


def test_rows_stand_in_the_order_default_yours_fastest_chosen() -> None:
    """What is the same config is one row, under the names joined."""
    report = TuneReport.of(result(RATES, target=RATE_1000, sources=SOURCES))

    assert [row.title for row in report.rows] == [
        "PyTorch default",
        "yours = fastest",
        "chosen",
    ]
    assert [row.config for row in report.rows] == [DEFAULT, EIGHT, FOUR]
    assert [row.is_chosen for row in report.rows] == [False, False, True]


def test_one_config_may_have_all_four_names() -> None:
    """A study in which nothing beats PyTorch's default, which is the user's own."""
    found = result({DEFAULT: 2000.0}, target=RATE_1000, sources={DEFAULT: "yours"})

    report = TuneReport.of(found)

    titles = [row.title for row in report.rows]
    assert titles == ["PyTorch default = yours = fastest = chosen"]


def test_a_row_has_rate_speed_and_memory() -> None:
    """Rates are those of the race; speed is paired with the default by round."""
    report = TuneReport.of(result(RATES, target=RATE_1000, sources=SOURCES))

    default, fastest, chosen = report.rows
    assert chosen.rate is not None
    assert chosen.rate.median == pytest.approx(1100)
    assert chosen.rate.low is not None
    assert chosen.relative is not None
    assert chosen.relative.median == pytest.approx(5.5, rel=0.02)
    assert chosen.relative.low is not None
    assert default.relative is not None
    assert (default.relative.median, default.relative.low) == (1.0, None)
    assert chosen.peak_bytes == 500 * MIB
    assert chosen.queue_was_full
    assert not fastest.queue_was_full


def test_speed_has_no_ends_where_the_default_was_not_raced() -> None:
    """Readings of the search are not paired with anything."""
    found = result({EIGHT: 1300.0, FOUR: 1100.0}, target=RATE_1000, sources=SOURCES)
    raced = result(RATES, target=RATE_1000, sources=SOURCES)
    with_default = replace(found, outcomes=(*found.outcomes, raced.outcomes[0]))

    chosen = TuneReport.of(with_default).rows[-1]

    assert chosen.relative is not None
    assert chosen.relative.median == pytest.approx(5.5)
    assert (chosen.relative.low, chosen.relative.high) == (None, None)


def test_a_refused_config_of_the_user_has_a_row_without_a_rate() -> None:
    """What is wrong has no speed, and is not left out."""
    yours = refused(3, config(6), source="yours")
    found = result({DEFAULT: 200.0, FOUR: 1100.0}, target=RATE_1000, sources=SOURCES)

    report = TuneReport.of(replace(found, outcomes=(*found.outcomes, yours)))

    row = next(row for row in report.rows if "yours" in row.names)
    assert (row.status, row.code) == (Status.REFUSED, "missing_ids")
    assert (row.rate, row.relative, row.peak_bytes) == (None, None, None)


def test_what_was_not_tried_has_no_row() -> None:
    """No name is invented for a config that nobody proposed."""
    report = TuneReport.of(result({FOUR: 1100.0}, target=RATE_1000, sources={}))

    assert [row.title for row in report.rows] == ["fastest = chosen"]


def test_a_met_target_is_told_with_its_bound() -> None:
    """The verdict names the config; the bound says what it delivers at least."""
    report = TuneReport.of(result(RATES, target=RATE_1000, sources=SOURCES))

    assert report.state == "met"
    assert report.verdict == (
        "target met: 4 workers, prefetch 2, batch 64 is the simplest of 4 raced "
        "configs that meets 1,000 examples/s"
    )
    assert report.bound == "at least 1,037 examples/s, with 95 % confidence"
    assert report.file == "autoloader.yaml"
    assert report.next_step == (
        'loader = autoloader.load("autoloader.yaml").dataloader(dataset)'
    )


def test_a_bound_below_the_target_says_why_it_counts() -> None:
    """Inside the zone of indifference the target is met, and that is told."""
    target = Target(examples_per_s=1060)

    report = TuneReport.of(result(RATES, target=target, sources=SOURCES))

    assert report.bound == (
        "at least 1,037 examples/s, with 95 % confidence; "
        "down to 3 % below the target counts as met"
    )


def test_the_bound_of_a_share_is_a_share() -> None:
    """A target relative to the fastest has no rate of its own."""
    target = Target(share_of_best=0.8)

    report = TuneReport.of(result(RATES, target=target, sources=SOURCES))

    assert report.bound == "at least 83.7 % of the fastest, with 95 % confidence"


def test_a_target_that_is_not_met_is_told_with_the_way_out() -> None:
    """Nothing is chosen, and nothing was written."""
    target = Target(examples_per_s=5000)

    report = TuneReport.of(result(RATES, target=target, sources=SOURCES, written=None))

    assert report.state == "not_met"
    assert report.verdict == (
        "target not met: no config reached 5,000 examples/s; "
        "best was 1,300 examples/s (8 workers, prefetch 2, batch 64)"
    )
    assert report.bound is None
    assert report.chosen is None
    assert not any(row.is_chosen for row in report.rows)
    assert report.verification.startswith("of the fastest config, 1,600 of 1,600 ")
    assert report.file == (
        "nothing was written, and an older file stays as it was; "
        "--best-effort writes the fastest config, marked as not met"
    )
    assert report.next_step == (
        "the same command with --target 95%: the simplest near the fastest"
    )


def test_a_best_effort_is_marked() -> None:
    """A file that was written all the same says that it is not enough."""
    target = Target(examples_per_s=5000)

    report = TuneReport.of(result(RATES, target=target, sources=SOURCES))

    assert report.file == (
        "autoloader.yaml, with the fastest config, marked as not met"
    )


def test_an_undecided_result_asks_for_more_time() -> None:
    """Twice the time that was spent."""
    noisy = (1.0, 1.5, 0.6, 1.3, 0.7, 1.0)
    target = Target(examples_per_s=1300)

    report = TuneReport.of(
        result(RATES, target=target, sources=SOURCES, jitter=noisy, written=None)
    )

    assert report.state == "undecided"
    assert report.verdict.startswith("undecided: after 6 rounds it cannot be told")
    assert report.next_step == "the same command with twice the time: --budget 4m"


def test_an_undecided_race_after_all_configs_asks_for_a_longer_one() -> None:
    """All was measured, in hours perhaps: only the race was too short."""
    noisy = (1.0, 1.5, 0.6, 1.3, 0.7, 1.0)
    target = Target(examples_per_s=1300)
    found = result(RATES, target=target, sources=SOURCES, jitter=noisy, written=None)

    report = TuneReport.of(replace(found, is_exhaustive=True, seconds=7200.0))

    assert report.state == "undecided"
    assert report.next_step == (
        "the same command without --exhaustive and with --budget 6m: a longer race"
    )


def test_verification_says_what_was_compared_and_what_was_not() -> None:
    """Values of random fields differ from reading to reading."""
    report = TuneReport.of(result(RATES, target=RATE_1000, sources=SOURCES))

    assert report.verification == (
        "1,600 of 1,600 examples, 2 epochs: ids and labels the same; "
        "field 0 is random: values not compared"
    )


def test_without_a_label_nothing_is_said_of_labels() -> None:
    """The way to name one is shown."""
    found = result(RATES, target=RATE_1000, sources=SOURCES)
    fixed = tuple(replace(field, random=False) for field in FACTS.fields)
    facts = replace(FACTS, label=None, fields=fixed)
    reference = Reference(facts=facts, scope=SCOPE, folder="reference", seconds=2.0)

    report = TuneReport.of(replace(found, reference=reference))

    assert report.verification == (
        "1,600 of 1,600 examples, 2 epochs: ids the same; no label is known (--label)"
    )


def test_trials_are_counted_by_fate_and_failed_ones_explained() -> None:
    """Of several findings the first is told, the others are named."""
    other = replace(MISSING, code="label_mismatch")
    failed = [
        refused(4, config(5), MISSING, other),
        crashed(5, config(6), "worker 0 raised KeyError: 'x'"),
    ]

    report = TuneReport.of(
        result(RATES, target=RATE_1000, sources=SOURCES, failed=failed)
    )

    assert report.trials == {"measured": 4, "refused": 1, "crashed": 1}
    assert (
        report.search == "6 trials: 4 measured, 1 refused, 1 crashed; its time was up"
    )
    assert report.race == "6 rounds of 4 configs; the choice was settled"
    assert [trial.reason for trial in report.failed] == [
        "missing_ids: 2 examples never arrived: ids 5, 7; also label_mismatch",
        "worker_exception: worker 0 raised KeyError: 'x'",
    ]
    assert report.failed[1].log == "logs/0007-gate"


def test_cautions_are_kept() -> None:
    """With their codes: those of the dataset are in each verdict already."""
    caution = {"code": "idle_workers", "message": "1 of 4 made no batch", "hint": None}
    found = result(RATES, target=RATE_1000, sources=SOURCES, cautions=[caution])

    report = TuneReport.of(found)

    assert [(item.code, item.message) for item in report.cautions] == [
        ("idle_workers", "1 of 4 made no batch"),
    ]


def test_the_report_becomes_json() -> None:
    """Names are those of the recommendation file; paths are text."""
    failed = [refused(4, config(5))]
    found = result(RATES, target=RATE_1000, sources=SOURCES, failed=failed)

    data = json.loads(json.dumps(TuneReport.of(found).to_dict(), allow_nan=False))

    assert data["dataloader"] == FOUR.dataloader_kwargs()
    assert data["written"] == "autoloader.yaml"
    assert [row["names"] for row in data["configs"]] == [
        ["pytorch_default"],
        ["yours", "fastest"],
        ["chosen"],
    ]
    assert data["configs"][2]["epoch_rate"]["median"] == pytest.approx(1100)
    assert data["failed"][0]["code"] == "missing_ids"
    assert data["race"] == {"rounds": 6, "stopped_because": "settled"}


def test_what_was_passed_over_is_told_with_its_reason() -> None:
    """People get a sentence, scripts each config."""
    why = "at least as much memory as 8 workers, which ran out of it"
    untried = PassedOver(reason=why, configs=(config(9), config(10)))
    found = replace(
        result(RATES, target=RATE_1000, sources=SOURCES),
        passed_over=(untried,),
        stopped_search="space_exhausted",
    )

    report = TuneReport.of(found)

    assert report.search == "4 trials: 4 measured; no other config was left"
    assert report.untried == f"2 configs: {why}"
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))["search"]
    assert told == {
        "stopped_because": "space_exhausted",
        "passed_over": [
            {"reason": why, "configs": [config(9).to_dict(), config(10).to_dict()]}
        ],
    }


def test_a_search_that_passed_nothing_over_has_tried_all() -> None:
    """And has nothing to say of it."""
    whole = replace(
        result(RATES, target=RATE_1000, sources=SOURCES),
        stopped_search="space_exhausted",
    )

    report = TuneReport.of(whole)

    assert report.search == "4 trials: 4 measured; every config was tried"
    assert report.untried is None


def test_a_result_without_a_recommendation_can_be_told() -> None:
    """The class of the dataset stands in for the SPEC."""
    found = result(RATES, target=RATE_1000, sources=SOURCES)

    report = TuneReport.of(replace(found, recommendation=None, written=Path("a.yaml")))

    assert report.dataset == "Photos"
    assert report.cautions == ()


def test_more_time_is_twice_what_all_runs_of_the_study_took() -> None:
    """A resumed run was short, the study was not."""
    noisy = (1.0, 1.5, 0.6, 1.3, 0.7, 1.0)
    target = Target(examples_per_s=1300)
    found = result(RATES, target=target, sources=SOURCES, jitter=noisy, written=None)
    recommendation = Recommendation({"study": {"seconds": 300.0}})

    report = TuneReport.of(replace(found, recommendation=recommendation))

    assert report.next_step == "the same command with twice the time: --budget 10m"


def test_a_share_that_is_not_met_has_no_way_out() -> None:
    """A lower share would be another wish, and which one is not ours to say."""
    found = result(RATES, target=Target(share_of_best=0.8), sources=SOURCES)
    choice = Choice(config=None, state="not_met", best=EIGHT, reason="none fits")

    report = TuneReport.of(
        replace(found, state="not_met", result=replace(found.result, choice=choice))
    )

    assert report.verdict == "target not met: none fits"
    assert report.next_step is None


def test_a_study_without_a_race_or_a_verification_says_so() -> None:
    """Every finalist failed the whole verification."""
    found = result(RATES, target=RATE_1000, sources=SOURCES)
    ended = replace(found.result, race=None, standings=None, verified={})

    report = TuneReport.of(replace(found, result=ended))

    assert report.race is None
    assert report.bound is None
    assert report.verification == "no config passed the whole verification"


def test_a_config_that_left_the_race_is_counted() -> None:
    """One failed pass is enough to leave."""
    found = result(RATES, target=RATE_1000, sources=SOURCES)
    assert found.result.race is not None
    race = replace(found.result.race, dropped=(TWO,), stopped_because="deadline")

    report = TuneReport.of(replace(found, result=replace(found.result, race=race)))

    assert report.race == (
        "6 rounds of 4 configs; the time for it was up; 1 left it by a failed pass"
    )


def test_who_named_no_target_is_told_how_to_find_one() -> None:
    """A rate is one already, and a step asks for its own."""
    share = result(RATES, target=Target(share_of_best=0.95), sources=SOURCES)
    rate = result(RATES, target=RATE_1000, sources=SOURCES)
    with_step = replace(
        share, recommendation=Recommendation({"dataset": "a:b", "step": {"spec": "s"}})
    )

    assert TuneReport.of(share).pointer == (
        "autoloader.watch(loader) in a training prints the --target it needs"
    )
    assert TuneReport.of(rate).pointer is None
    assert sentences.pointer(with_step) is None
