"""What is told of a measuring: sentences, tables, cautions, JSON and the views."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autoloader.measuring import Measured, MeasureResult
from autoloader.report.console import measure_view, print_measure
from autoloader.report.measure import MeasureReport, Statement
from autoloader.report.measure_view import LiveMeasure, PlainMeasure, QuietMeasure
from autoloader.search.comparison import Pair
from autoloader.search.contenders import Contender
from autoloader.search.side_by_side import read_side_by_side
from autoloader.values.job import Reference
from autoloader.values.outcome import Finding, Outcome, Reading
from autoloader.values.scope import SourceSpec, UnitFacts
from tests.report.fakes import (
    FACTS,
    MACHINE,
    SCOPE,
    Terminal,
    config,
    crashed,
    measured,
    reading,
    refused,
)
from tests.search.looped import LoopTable, raced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIGS = {name: config(2 * place) for place, name in enumerate("ABCD")}

STEADY = (1.0, 1.001, 0.999, 1.0005, 0.9995, 1.0)
"""Scatter of a tenth of a percent."""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def contender(name: str, source: str = "given") -> Contender:
    """Return the config of that letter."""
    number = "ABCD".index(name)
    return Contender(name=name, number=number, source=source, config=CONFIGS[name])


def result(
    rates: Mapping[str, float],
    *,
    failed: Mapping[str, Outcome] | None = None,
    jitter: Sequence[float] = STEADY,
    rounds: int | None = None,
    **changes: Any,
) -> MeasureResult:
    """Return the result of a measuring.

    Args:
        rates: rate of each config that was measured.
        failed: outcomes of further ones.
        jitter: factor of the rate in each round, one place on for each config.
        rounds: as the user gave it.
        changes: of single readings (`foreign_cpu`), by name.
    """
    failed = failed or {}
    read: dict[str, list[Reading]] = {name: [] for name in rates}

    def take(name: str) -> float:
        place = len(read[name]) * (1 + "ABCD".index(name))
        rate = rates[name] * jitter[place % len(jitter)]
        read[name].append(replace(reading(rate, "race"), **changes))
        return rate

    found = (
        read_side_by_side(
            take, list(rates), rounds=rounds, deadline=math.inf, clock=lambda: 0.0
        )
        if len(rates) > 1
        else None
    )
    everything = {
        name: Measured(
            contender=contender(name),
            outcome=(item := measured("ABCD".index(name), CONFIGS[name], [rate])),
            readings=(*item.readings, *read[name]),
        )
        for name, rate in rates.items()
    }
    for name, outcome in failed.items():
        everything[name] = Measured(
            contender=contender(name), outcome=outcome, readings=()
        )
    return MeasureResult(
        source=SourceSpec(spec="data.py:train"),
        reference=Reference(facts=FACTS, scope=SCOPE, folder="", seconds=1.0),
        machine=MACHINE,
        measured=tuple(everything[name] for name in sorted(everything)),
        side_by_side=found,
        comparison=None if found is None else found.comparison(),
        why_fresh=None,
        study=Path("/data/.autoloader/measure-20260102-150405"),
        seconds=83.4,
    )


def printed(found: MeasureResult) -> str:
    """Return what a pipe gets."""
    stream = io.StringIO()
    print_measure(MeasureReport.of(found), stream)
    return stream.getvalue()


def cautions(found: MeasureResult) -> dict[str | None, str]:
    """Return the cautions by their codes."""
    return {item.code: item.message for item in MeasureReport.of(found).cautions}


def test_a_report_reads_as_it_should() -> None:
    """The whole of it, as a pipe gets it: cautions, tables, pairs, failures, facts."""
    found = result(
        {"A": 200.0, "B": 520.0, "D": 524.0},
        failed={"C": refused(2, CONFIGS["C"])},
        foreign_cpu=0.8,
    )

    text = printed(found)

    file = Path(__file__).parent / "measure.txt"
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("rate", [3.21, 123.4, 12345.6, 1234567.0])
def test_no_line_is_longer_than_80_columns(rate: float) -> None:
    """However fast the configs are; only a path may be."""
    jitter = (1.0, 1.3, 0.7, 1.2, 0.8)

    text = printed(result({"A": rate, "B": rate * 47, "C": rate}, jitter=jitter))

    assert max(map(len, text.splitlines())) <= 80


def test_a_pair_is_told_in_one_sentence() -> None:
    """Faster, equal, or unknown with the interval and the rounds."""
    found = result({"A": 200.0, "B": 520.0, "C": 521.0})

    statements = [item.words for item in MeasureReport.of(found).statements]

    assert statements == [
        "C is 2.61\u00d7 as fast as A (2.60\u00d7\u20132.61\u00d7)",
        "B is 2.60\u00d7 as fast as A (2.59\u00d7\u20132.61\u00d7)",
        "C and B are equally fast, within 3 %",
    ]
    assert found.state == "settled"


def test_what_cannot_be_told_says_what_would_tell() -> None:
    """The number of rounds, and what others took meanwhile."""
    found = result(
        {"A": 200.0, "B": 202.0}, jitter=(1.0, 1.1, 0.9, 1.15, 0.85), foreign_cpu=0.4
    )
    report = MeasureReport.of(found)

    assert found.state == report.state == "undecided"
    assert [item.words for item in report.statements] == [
        "cannot tell A from B: 0.94\u00d7\u20131.04\u00d7 after 96 rounds"
    ]
    assert report.hint == (
        "about 645 rounds would tell (--rounds 645); others took 0.4 of 2.5 CPUs "
        "meanwhile"
    )
    assert report.certainty is None


def test_hopeless_noise_asks_for_a_quieter_machine() -> None:
    """More than a thousand rounds are no way out."""
    found = result({"A": 200.0, "B": 202.0}, jitter=(1.0, 1.9, 0.4, 1.7, 0.6))

    assert MeasureReport.of(found).hint == (
        "a quieter machine would tell; others took 0.0 of 2.5 CPUs meanwhile"
    )


def test_two_rounds_are_too_few_to_say_how_many_it_takes() -> None:
    """All rounds that were asked for were run, so the command did what it should."""
    found = result({"A": 200.0, "B": 202.0}, rounds=2)

    assert found.state == "settled"
    assert MeasureReport.of(found).hint == (
        "more rounds would tell (--rounds 12); others took 0.0 of 2.5 CPUs meanwhile"
    )


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (0, "cannot tell A from B: no rounds have both"),
        (1, "cannot tell A from B: 1 round has both"),
    ],
)
def test_a_pair_without_two_common_rounds_is_unknown(rounds: int, words: str) -> None:
    """There is no interval then."""
    assert Statement.of(Pair(a="A", b="B", ratio=None, rounds=rounds)).words == words


def test_fewer_than_two_configs_compare_nothing() -> None:
    """What was read is shown, and why there is no more."""
    found = result(
        {"A": 200.0}, failed={"B": crashed(1, CONFIGS["B"], "worker 0 raised KeyError")}
    )

    text = printed(found)

    assert found.state == "failed"
    assert "fewer than two configs could be measured: nothing was compared" in text
    assert "crashed   B, 2 workers, prefetch 2, batch 64\n" in text
    assert "worker_exception: worker 0 raised KeyError" in text
    assert "rounds    none: fewer than two configs could be measured" in text


def test_nothing_measured_is_told_without_a_number() -> None:
    """Each config has its fate in place of a rate."""
    found = result(
        {}, failed={"A": refused(0, CONFIGS["A"]), "B": refused(1, CONFIGS["B"])}
    )
    report = MeasureReport.of(found)

    text = printed(found)

    assert report.baseline is None
    assert report.to_dict()["verified"] is None
    assert text.count("missing_ids:") == 2
    assert "first batch" not in text


def test_a_baseline_without_a_speed_is_replaced_and_told() -> None:
    """Ratios then refer to the next config."""
    found = result({"B": 200.0, "C": 400.0}, failed={"A": refused(0, CONFIGS["A"])})

    assert MeasureReport.of(found).baseline == "B"
    assert cautions(found) == {
        "baseline_failed": "A has no speed (refused): ratios are to B"
    }


def test_cautions_of_the_gate_name_their_configs() -> None:
    """Unless all have them."""
    found = result({"A": 200.0, "B": 400.0})
    idle = Finding(code="idle_workers", count=1, message="1 worker made no batch")
    weak = Finding(code="weak_identity", count=2, message="2 examples look the same")
    first, second = found.measured
    noted = [
        replace(
            item,
            outcome=replace(
                item.outcome, verdict=replace(item.outcome.verdict, cautions=found_here)
            ),
        )
        for item, found_here in ((first, (weak,)), (second, (weak, idle)))
        if item.outcome.verdict is not None
    ]

    told = cautions(replace(found, measured=tuple(noted)))

    assert told == {
        "weak_identity": "2 examples look the same",
        "idle_workers": "B: 1 worker made no batch",
    }


def test_other_programs_are_a_caution_from_a_share_of_the_cpus() -> None:
    """By the median of what counts."""
    busy = result({"A": 200.0, "B": 400.0}, foreign_cpu=0.5, stolen_cpu=0.2)
    quiet = result({"A": 200.0, "B": 400.0}, foreign_cpu=0.1)

    assert cautions(busy)["machine_busy"] == (
        "other programs took 0.7 of 2.5 CPUs meanwhile"
    )
    assert cautions(quiet) == {}


def test_batches_of_other_sizes_are_a_caution() -> None:
    """They train differently."""
    found = result({"A": 200.0, "B": 400.0})
    first, second = found.measured
    other = replace(CONFIGS["B"], batch_size=8)
    changed = replace(second, contender=replace(second.contender, config=other))

    told = cautions(replace(found, measured=(first, changed)))

    assert told["batch_sizes_differ"] == "the configs have batches of 64 and 8 examples"


def test_an_epoch_of_unknown_length_is_a_caution() -> None:
    """Rates are steady ones then."""
    found = result({"A": 200.0, "B": 400.0})
    scope = replace(SCOPE, epoch_examples=None, of=None)

    told = cautions(replace(found, reference=replace(found.reference, scope=scope)))

    assert told["epoch_unknown"] == (
        "the length of an epoch is not known: rates are steady ones, start and end of "
        "an epoch left out"
    )


def test_without_a_steady_window_there_is_no_steady_rate() -> None:
    """It is told, and the table has a dash."""
    short = result({"A": 200.0, "B": 400.0}, warm_batches=4)
    report = MeasureReport.of(short)

    assert cautions(short)["no_steady_window"] == (
        "A and B have no steady rate: an epoch is over within the warm-up"
    )
    assert [row.steady for row in report.rows] == [None, None]


def test_a_queue_that_was_not_seen_full_is_a_caution() -> None:
    """The memory is a lower bound then."""
    found = result({"A": 200.0, "B": 400.0})
    first, second = found.measured
    assert second.outcome.memory is not None
    memory = replace(second.outcome.memory, queue_was_full=False)
    changed = replace(second, outcome=replace(second.outcome, memory=memory))
    found = replace(found, measured=(first, changed))

    assert cautions(found)["queue_not_full"] == (
        "the queue of B was not seen full: the memory is a lower bound"
    )
    assert "or more" in printed(found)


def test_fresh_processes_are_told_with_their_reason() -> None:
    """Where nobody asked for them."""
    found = replace(result({"A": 1.0, "B": 2.0}), why_fresh="threads are running")

    assert cautions(found) == {
        None: "each pass had a fresh process: threads are running"
    }


def test_what_the_user_counts_has_a_line() -> None:
    """Beside examples and bytes."""
    found = result({"A": 200.0, "B": 400.0}, jitter=(1.0,))
    facts = replace(FACTS, units=(UnitFacts(name="tokens", per_example=10.0),))
    found = replace(found, reference=replace(found.reference, facts=facts))

    assert "units     tokens/s: A 2,000, B 4,000\n" in printed(found)


def test_the_json_has_every_reading_and_every_pair() -> None:
    """One object of plain values."""
    found = result({"A": 200.0, "B": 520.0, "C": 521.0})

    data = json.loads(json.dumps(MeasureReport.of(found).to_dict(), allow_nan=False))

    assert [(item["a"], item["b"], item["verdict"]) for item in data["pairs"]] == [
        ("A", "B", "different"), ("A", "C", "different"), ("B", "C", "equal"),
    ]  # fmt: skip
    first = data["configs"][0]
    assert first["name"] == data["baseline"] == "A"
    assert first["relative_to_baseline"] is None
    assert first["dataloader"]["num_workers"] == 0
    assert first["epoch_rate"]["median"] == pytest.approx(200, rel=0.01)
    assert len(first["readings"]) == 1 + data["rounds"] == 7
    assert first["readings"][0]["arrivals_s"] == [1.25, 2.5, 3.75, 5.0]
    assert first["readings"][0]["epoch_rate"] == 200.0
    assert data["confidence"] == 0.98
    assert data["looks"] == [6]
    assert data["stopped_because"] == "settled"
    assert data["verified"] == {"examples": 512, "of": 1600, "epochs": 2}
    assert "torch" in data["versions"]


def test_a_line_is_written_for_each_event() -> None:
    """For a log: no colour, no cursor moves."""
    stream = io.StringIO()

    view = measure_view(
        stream, quiet=False, dataset="data.py:train", machine=MACHINE, rounds=None
    )
    with view:
        view.on_phase("reference", "data.py:train")
        view.on_tick("reading", 3)
        view.on_entered((contender("A"), contender("B")))
        view.on_trial(contender("A"))
        view.on_outcome(contender("A"), measured(0, CONFIGS["A"], [200.0]))
        view.on_outcome(contender("B"), refused(1, CONFIGS["B"]))
        view.on_round(1, {"A": 200.0, "C": None})
        view.on_round(2, {"C": 150.0, "A": 210.0})

    assert isinstance(view, PlainMeasure)
    assert stream.getvalue().splitlines() == [
        "measure: data.py:train, 2.5 CPUs, 2.0 GiB of memory, no accelerator",
        "reference: data.py:train",
        "A: 0 workers, batch 64: 200 examples/s",
        "B: 2 workers, prefetch 2, batch 64: refused, missing_ids: 2 examples never "
        "arrived: ids 5, 7",
        "round 1: A 200  C failed examples/s",
        "round 2: A 210  C 150 examples/s",
    ]


@pytest.mark.parametrize(
    ("rounds", "words"),
    [(None, "2 rounds; looked at after 6, 12, 24, 48 or 96"), (9, "2 rounds of 9")],
)
def test_a_terminal_has_a_region_that_is_gone_in_the_end(
    rounds: int | None, words: str
) -> None:
    """Configs with their rate so far, the rounds, and the stage."""
    stream = Terminal()

    view = measure_view(
        stream, quiet=False, dataset="data.py:train", machine=MACHINE, rounds=rounds
    )
    with view:
        view.on_phase("reference", "data.py:train")
        view.on_tick("reading", 3)
        view.on_entered((contender("A"), contender("B")))
        view.on_trial(contender("A"))
        view.on_outcome(contender("A"), measured(0, CONFIGS["A"], [200.0]))
        view.on_phase("rounds", "A, B")
        view.on_round(1, {"A": 200.0, "B": 410.0})
        view.on_round(2, {"B": None, "A": 204.0})

    shown = stream.getvalue()
    assert isinstance(view, LiveMeasure)
    assert words in shown
    assert "202 examples/s" in shown
    assert "failed" in shown
    assert shown.endswith("\x1b[?25h") or "\x1b[2K" in shown


def test_the_quiet_view_takes_every_event() -> None:
    """It has the hooks of the others and writes nowhere."""
    stream = io.StringIO()

    view = measure_view(stream, quiet=True, dataset="", machine=MACHINE, rounds=None)
    with view:
        view.on_phase("rounds", "")
        view.on_tick("loading", 1)
        view.on_entered(())
        view.on_trial(contender("A"))
        view.on_outcome(contender("A"), measured(0, CONFIGS["A"], [412.3]))
        view.on_round(1, {"A": 412.3})

    assert isinstance(view, QuietMeasure)
    assert stream.getvalue() == ""


def test_training_loops_have_a_table_of_their_own_by_letter() -> None:
    """The fastest says what limits; JSON has the section of a recommendation."""
    loops = raced(LoopTable({CONFIGS["A"]: (0.1,), CONFIGS["B"]: (0.0,)}))
    found = replace(result({"A": 200.0, "B": 520.0}), loops=loops)

    lines = printed(found).splitlines()
    told = MeasureReport.of(found).to_dict()["step"]

    assert any(line.startswith("training loop") for line in lines)
    assert any(
        line.startswith("saved     33 %") and "B against A" in line for line in lines
    )
    assert (told["judged"], told["against"], told["limited_by"]) == ("B", "A", "step")
    assert list(told["loops"]) == ["A", "B"]
    assert MeasureReport.of(result({"A": 200.0})).to_dict()["step"] is None
