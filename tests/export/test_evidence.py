"""What the file says of a study beside the chosen config."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from autoloader.export.evidence import Evidence, recommend
from autoloader.export.recommendation import load
from autoloader.search.cost_model import CostModel
from autoloader.search.exploration import Stop
from autoloader.search.passed_over import PassedOver
from autoloader.search.selection import Choice
from autoloader.search.space import Space
from autoloader.values.scope import SourceSpec
from autoloader.values.target import Target
from tests.report.fakes import MACHINE, config, result
from tests.search.looped import STEP_S, LoopTable, raced

TARGET = Target(examples_per_s=1000)

WHY = "at least as much memory as 8 workers, which ran out of it"


def evidence(source: SourceSpec, *passed_over: PassedOver) -> Evidence:
    """Return what a study of two configs came to."""
    found = result({config(0): 200.0, config(4): 1100.0}, target=TARGET, sources={})
    return Evidence(
        source=source,
        target=TARGET,
        ranks=1,
        machine=MACHINE,
        reference=found.reference,
        space=Space(
            num_workers=(0, 99),
            prefetch_factor=(2,),
            pin_memory=(False,),
            persistent_workers=(False,),
            batch_size=(64,),
        ),
        result=found.result,
        outcomes=found.outcomes,
        default_config=config(0),
        user_config=None,
        study="data-train-1234",
        seconds=95.0,
        model=CostModel(
            example_s=0.005, example_cpu_s=0.004, cpus=2.0, epoch_examples=None
        ),
        stopped_search="settled",
        passed_over=passed_over,
    )


def test_the_file_says_what_was_not_tried_and_why() -> None:
    """A count for each reason: who wants each config has `--json`."""
    untried = PassedOver(reason=WHY, configs=tuple(map(config, range(9, 99))))

    text = recommend(evidence(SourceSpec(spec="data.py:train"), untried)).to_yaml()

    study = yaml.safe_load(text)["study"]
    assert study["trials"] == 2
    assert study["passed_over"] == [{"reason": WHY, "configs": 90}]


def test_the_file_says_what_the_cost_model_foretold_and_how_far_off_it_was() -> None:
    """It proposes; what is recommended rests on readings."""
    study = recommend(evidence(SourceSpec(spec="data.py:train"))).data["study"]

    assert study["stopped"] == "settled"
    assert study["model"]["predicted_examples_per_s"] == pytest.approx(495, rel=0.01)
    assert study["model"]["ceiling_examples_per_s"] == pytest.approx(500)
    assert study["model"]["error"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("stopped", "untried", "codes"),
    [
        ("budget", 0.62, ["search_too_short"]),
        ("budget", 0.4, []),
        ("budget", None, []),
        ("settled", 0.62, []),
    ],
)
def test_a_search_that_ended_before_the_fastest_was_tried_says_so(
    stopped: Stop, untried: float | None, codes: list[str]
) -> None:
    """A share of the fastest is wanted, and the fastest is perhaps another one."""
    found = evidence(SourceSpec(spec="data.py:train"))
    three = (*found.outcomes, replace(found.outcomes[1], number=2, config=config(8)))
    result_ = replace(found.result, untried=untried)

    data = recommend(
        replace(found, result=result_, outcomes=three, stopped_search=stopped)
    ).data

    cautions = [item for item in data["cautions"] if item["code"] == "search_too_short"]
    assert [item["code"] for item in cautions] == codes
    assert data["study"]["untried_faster"] == untried
    if cautions:
        assert cautions[0]["message"] == (
            "with a probability of 0.62 a config that was not tried is faster than all "
            "that were"
        )


def test_a_study_that_tried_what_it_wanted_passed_nothing_over() -> None:
    """An empty list, not a missing one."""
    found = recommend(evidence(SourceSpec(spec="data.py:train")))

    assert found.data["study"]["passed_over"] == []


def test_no_password_of_an_argument_is_in_the_file() -> None:
    """Whichever way it was given."""
    source = SourceSpec(
        spec="data.py:train",
        arguments=(
            ("url", "postgres://user:first-secret@host/x"),
            ("options", {"password": "second-secret", "size": 8}),
            ("db_password", "third-secret"),
        ),
    )

    found = recommend(evidence(source))

    assert "secret" not in found.to_yaml()
    assert "secret" not in json.dumps(found.data)
    assert found.data["scope"]["arguments"] == [
        ["url", "postgres://user:***@host/x"],
        ["options", {"password": "***", "size": 8}],
        ["db_password", "***"],
    ]
    cautions = [
        item["message"].partition(":")[0]
        for item in found.data["cautions"]
        if item["code"] == "password_left_out"
    ]
    assert cautions == [
        "--arg url holds a password",
        "--arg options holds a password",
        "--arg db_password holds a password",
    ]


def with_loops(table: LoopTable) -> Evidence:
    """Return what the study came to, with training loops."""
    found = evidence(SourceSpec(spec="data.py:train"))
    return replace(found, result=replace(found.result, loops=raced(table)))


def test_training_loops_stand_in_a_section_of_their_own(tmp_path: Path) -> None:
    """The file is read back with it; loaders' rates stay where they were."""
    default, chosen = config(0), config(4)
    found = with_loops(LoopTable({default: (0.1,), chosen: (0.0,)}))

    without = recommend(evidence(found.source)).data
    written = recommend(found)
    written.write(tmp_path / "autoloader.yaml")
    read = load(tmp_path / "autoloader.yaml").data

    assert "step" not in without
    assert list(read["step"]["loops"]) == ["pytorch_default", "fastest", "chosen"]
    assert read["step"]["loops"]["chosen"]["saved_share"] == pytest.approx(1 / 3)
    assert read["step"]["limited_by"] == "step"
    assert read["measured"]["epoch_rate"]["median"] == pytest.approx(1100, rel=0.02)


def test_a_step_that_takes_less_than_a_loader_gives_is_the_limit() -> None:
    """No setting of the loader makes it faster; without a step nothing says so."""
    found = with_loops(LoopTable({config(0): (0.1,), config(4): (0.0,)}))

    without = recommend(evidence(found.source)).data["limit"]
    limit = recommend(found).data["limit"]

    assert without["name"] != "consumer"
    assert limit["name"] == "consumer"
    assert limit["ceiling_examples_per_s"] == pytest.approx(8 / STEP_S)


def test_where_nothing_is_chosen_the_fastest_loop_says_what_limits() -> None:
    """No loop is called chosen."""
    default, fastest = config(0), config(4)
    found = with_loops(LoopTable({default: (0.3,), fastest: (0.2,)}))
    choice = Choice(config=None, state="not_met", best=fastest, reason="none feeds it")
    found = replace(found, result=replace(found.result, choice=choice))

    section = recommend(found).data["step"]

    assert list(section["loops"]) == ["pytorch_default", "fastest"]
    assert (section["judged"], section["limited_by"]) == ("fastest", "loader")


def test_the_file_says_how_the_race_went_and_what_is_delivered_at_least() -> None:
    """The bound of the last look, and the error that it stands for."""
    found = evidence(SourceSpec(spec="data.py:train"))

    data = recommend(found).data

    standings, race = found.result.standings, found.result.race
    assert standings is not None
    assert race is not None
    assert data["study"]["race"] == {
        "rounds": 6,
        "configs": 2,
        "stopped": "settled",
        "dropped": 0,
        "error": race.error,
    }
    low = standings[config(4)].ratio_low
    assert low is not None
    assert data["target"]["at_least"] == low * 0.97


def test_a_study_that_chose_nothing_delivers_nothing_at_least() -> None:
    """The best is there for comparison."""
    found = evidence(SourceSpec(spec="data.py:train"))
    choice = Choice(config=None, state="not_met", best=config(4), reason="too slow")

    data = recommend(replace(found, result=replace(found.result, choice=choice))).data

    assert data["target"]["at_least"] is None


def test_the_file_says_what_each_rank_reached() -> None:
    """Rates are those of all; one training process has no such section."""
    found = evidence(SourceSpec(spec="data.py:train"))
    ranked = tuple(
        replace(
            item,
            readings=tuple(
                replace(read, others=(replace(read, total_s=2 * read.total_s),))
                for read in item.readings
            ),
        )
        for item in found.outcomes
    )

    alone = recommend(found).data
    both = recommend(replace(found, outcomes=ranked, ranks=2)).data

    assert "ranks" not in alone["measured"]
    section = both["measured"]["ranks"]
    assert section["slowest"] == 1
    assert len(section["examples_per_s"]) == 2
    rate = both["measured"]["epoch_rate"]["median"]
    assert rate == pytest.approx(sum(section["examples_per_s"]), rel=0.05)
    assert both["target"]["ranks"] == 2
