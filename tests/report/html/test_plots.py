"""Charts: what stands where, told from the figures that they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from autoloader.measure.intervals import Interval
from autoloader.report.html.courses import (
    race_by_rounds,
    wait_shares,
)
from autoloader.report.html.marks import MOST_TOLD, labels_of
from autoloader.report.html.plots import rate_by_memory, rate_by_workers
from autoloader.report.html.timeline import time_line
from autoloader.report.study_figures import (
    RacedReading,
    RaceFigures,
    RaceLine,
    TrialFigures,
    WaitCurve,
    pareto,
)
from autoloader.values.outcome import Status
from tests.report.fakes import MIB, config

if TYPE_CHECKING:
    from autoloader.report.html.frame import Chart


def trial(
    number: int,
    workers: int,
    rate: float | None,
    *,
    size: int | None = None,
    names: tuple[str, ...] = (),
    spread: float | None = None,
) -> TrialFigures:
    """Return a trial of a rate; one without a rate was refused."""
    interval = None
    if rate is not None:
        low, high = (None, None) if spread is None else (rate - spread, rate + spread)
        interval = Interval(median=rate, low=low, high=high)
    return TrialFigures(
        number=number,
        config=config(workers),
        names=names,  # type: ignore[arg-type]  # names of rows
        source="search",
        status=Status.REFUSED if rate is None else Status.MEASURED,
        code="missing_ids" if rate is None else None,
        seconds=10.0,
        begun_s=None,
        begun_at=None,
        searched=rate,
        rate=interval,
        readings=0 if rate is None else 1,
        is_raced=spread is not None,
        peak_bytes=size,
        queue_was_full=True,
    )


TRIALS = (
    trial(0, 0, 200.0, size=100 * MIB, names=("pytorch_default",), spread=10.0),
    trial(1, 4, 800.0, size=500 * MIB, names=("chosen",), spread=20.0),
    trial(2, 2, None),
    trial(3, 2, 600.0, size=600 * MIB),
)


def drawn(chart: Chart | None) -> ET.Element:
    """Return a drawing, taken apart."""
    assert chart is not None
    return ET.fromstring(str(chart))  # noqa: S314  # of our own making


def of_class(root: ET.Element, *kinds: str) -> list[ET.Element]:
    """Return the elements that have these classes."""
    return [
        item
        for item in root.iter()
        if set(kinds) <= set(item.attrib.get("class", "").split())
    ]


def words(root: ET.Element) -> list[str]:
    """Return all texts of a drawing, in order."""
    return ["".join(item.itertext()) for item in root.iter("text")]


def test_a_trial_without_a_speed_has_no_place_among_rates() -> None:
    """What was refused is not drawn as slow."""
    root = drawn(rate_by_workers(TRIALS, target=None, ceiling=None))

    assert len(of_class(root, "mark")) == 3


def test_marks_stand_as_high_as_their_rates() -> None:
    """And whiskers reach as far as intervals; the others have none."""
    root = drawn(rate_by_workers(TRIALS, target=None, ceiling=None))

    chosen = of_class(root, "mark", "chosen")[0].find("circle")
    default = of_class(root, "mark", "default")[0].find("rect")
    assert chosen is not None
    assert default is not None
    bottom = 292.0  # of the area, where the rate is 0
    high = bottom - float(chosen.attrib["cy"])
    low = bottom - (float(default.attrib["y"]) + 6)
    assert high / low == pytest.approx(4, rel=0.02)
    assert float(chosen.attrib["cx"]) > float(default.attrib["x"])
    assert len(of_class(root, "whisker")) == 2


def test_target_and_ceiling_are_lines_with_their_rates() -> None:
    """The target higher than the ceiling here, which is drawn as it is."""
    root = drawn(rate_by_workers(TRIALS, target=1000.0, ceiling=900.0))

    lines = {
        kind: float(item.attrib["y1"])
        for kind in ("target", "ceiling")
        for item in of_class(root, kind)
        if item.tag == "line"
    }
    assert lines["target"] < lines["ceiling"]
    assert {"target 1,000/s", "ceiling 900/s"} <= set(words(root))


def test_a_ceiling_far_above_is_left_out() -> None:
    """It would press all rates into a corner."""
    root = drawn(rate_by_workers(TRIALS, target=None, ceiling=50_000.0))

    assert of_class(root, "ceiling") == []


def test_configs_of_as_many_workers_stand_beside_each_other() -> None:
    """None covers another."""
    trials = [trial(number, 2, 500.0) for number in range(9)]

    root = drawn(rate_by_workers(trials, target=None, ceiling=None))

    places = [float(item.attrib["cx"]) for item in root.iter("circle")]
    assert len(set(places)) == 9


def test_what_a_mark_is_is_told_where_it_is_pointed_at() -> None:
    """Up to so many marks; more are one element, for a page of hundreds."""
    few = drawn(rate_by_workers(TRIALS, target=None, ceiling=None))
    trials = [trial(number, number % 9, 500.0 + number) for number in range(300)]
    many = drawn(rate_by_workers(trials, target=None, ceiling=None))

    told = of_class(few, "mark", "chosen")[0].find("title")
    assert told is not None
    assert told.text == ("4 workers, prefetch 2, batch 64: 800 examples/s (780 to 820)")
    assert len(trials) > MOST_TOLD
    assert len(of_class(many, "dots")) == 1
    assert len(str(rate_by_workers(trials, target=None, ceiling=None))) < 20_000


def test_nothing_measured_is_no_chart() -> None:
    """Rather than an empty one."""
    refused = [trial(0, 2, None)]

    assert rate_by_workers(refused, target=100.0, ceiling=None) is None
    assert rate_by_memory(refused, target=100.0, limit_bytes=None) is None
    assert time_line([]) is None
    assert wait_shares([]) is None
    assert race_by_rounds(None) is None


def test_the_front_is_of_configs_that_none_beats_in_both() -> None:
    """More memory must bring more rate."""
    front = pareto([*TRIALS, trial(4, 1, 150.0, size=300 * MIB)])

    assert [item.number for item in front] == [0, 1]


def test_memory_is_labelled_in_its_unit() -> None:
    """The limit is a line where it is near."""
    root = drawn(rate_by_memory(TRIALS, target=None, limit_bytes=550 * MIB))

    assert "400 MiB" in words(root)
    assert len(of_class(root, "limit")) == 1
    far = drawn(rate_by_memory(TRIALS, target=None, limit_bytes=2**40))
    assert of_class(far, "limit") == []


def test_every_trial_is_on_the_time_line_with_its_fate() -> None:
    """Bars beside each other, a cross for the one that was refused."""
    root = drawn(time_line(TRIALS))

    bars = [item.find("rect") for item in of_class(root, "bar")]
    lost = of_class(root, "mark", "lost")
    edges = [
        (float(bar.attrib["x"]), float(bar.attrib["width"]))
        for bar in bars
        if bar is not None
    ]
    assert len(edges) == 3
    assert edges[0][0] + edges[0][1] <= edges[1][0]
    assert [item.findtext("title") for item in lost] == [
        "trial 2: 2 workers, prefetch 2, batch 64: refused, missing_ids"
    ]
    assert root.findtext("desc") == "4 trials: 3 measured, 1 refused, in 40 s."


def test_trials_and_race_stand_where_they_were_in_time() -> None:
    """With the gaps between them; the race follows the last trial."""
    begins = (4.0, 20.0, 35.0, 50.0)
    trials = [
        replace(item, begun_s=begin) for item, begin in zip(TRIALS, begins, strict=True)
    ]
    dot = RacedReading(
        config=config(4), names=("chosen",), begun_s=90.0, end_s=100.0, rate=790.0
    )

    root = drawn(time_line(trials, [dot]))

    bars = [item.find("rect") for item in of_class(root, "bar")]
    edges = [float(bar.attrib["x"]) for bar in bars if bar is not None]
    (point,) = of_class(root, "mark", "chosen")
    a_second = (edges[1] - edges[0]) / 16
    assert edges[2] - edges[1] == pytest.approx(30 * a_second, rel=0.01)
    assert float(point.attrib["cx"]) - edges[0] == pytest.approx(
        91 * a_second, rel=0.01
    )
    assert "seconds since the study began" in words(root)
    assert root.findtext("desc") == (
        "4 trials: 3 measured, 1 refused, in 1 m 40 s; 1 reading of the race."
    )


def test_a_record_that_lacks_a_time_is_drawn_one_after_the_other() -> None:
    """As older versions wrote it: no place in time is made up, nor one of the race."""
    trials = [replace(TRIALS[0], begun_s=4.0), *TRIALS[1:]]
    dot = RacedReading(config=config(4), names=(), begun_s=90.0, end_s=99.0, rate=1.0)

    assert str(time_line(trials, [dot])) == str(time_line(TRIALS))


def race(*lines: RaceLine) -> RaceFigures:
    """Return a race whose base is the first line."""
    rounds = tuple(
        {line.config: line.rates[number] for line in lines if line.rates[number]}
        for number in range(len(lines[0].rates))
    )
    return RaceFigures(base=lines[0].config, lines=lines, rounds=rounds, error=0.05)


def line(workers: int, *rates: float | None, names: tuple[str, ...] = ()) -> RaceLine:
    """Return a line of a race."""
    return RaceLine(
        config=config(workers),
        names=names,  # type: ignore[arg-type]  # names of rows
        rates=rates,
        relative=None,
    )


def test_a_race_shows_ratios_of_the_same_round() -> None:
    """What slowed a whole round down is not seen; what did not run has no point."""
    course = race(
        line(4, 1000.0, 500.0, 1000.0, names=("chosen",)),
        line(2, 800.0, 400.0, None),
        line(0, None, 100.0, 200.0, names=("pytorch_default",)),
    )

    root = drawn(race_by_rounds(course))

    series = of_class(root, "series")
    points = [[item.attrib["cy"] for item in one.iter("circle")] for one in series]
    assert [len(one) for one in points] == [2, 2]
    assert len(set(points[0])) == 1  # 0.8 both times
    told = [item.findtext("title") for item in series[0].iter("circle")]
    assert told == [
        "2 workers, prefetch 2, batch 64, round 1: 0.80",
        "2 workers, prefetch 2, batch 64, round 2: 0.80",
    ]
    assert "chosen" in words(root)
    assert "PyTorch default" in words(root)


def test_a_race_of_one_config_is_no_chart() -> None:
    """There is nothing that it could be compared with."""
    assert race_by_rounds(race(line(4, 1000.0, 900.0))) is None


def test_a_single_round_is_no_course() -> None:
    """Its ratios are in the table."""
    assert race_by_rounds(race(line(4, 1000.0), line(2, 900.0))) is None


def test_waits_are_shares_on_an_axis_of_decades() -> None:
    """Half of one config's waits are within 1 ms, of the other within 100 ms."""
    short = WaitCurve(
        config=config(4), names=("chosen",), gaps_s=(0.0, 0.0005, 0.001, 0.2, 0.3)
    )
    long = WaitCurve(
        config=config(0), names=("pytorch_default",), gaps_s=(0.09, 0.1, 0.1, 0.2, 0.2)
    )

    root = drawn(wait_shares([long, short]))

    halves = {
        kind: float(of_class(root, "half", kind)[0].attrib["cx"])
        for kind in ("chosen", "default")
    }
    assert halves["chosen"] < halves["default"]
    assert {"half within 1 ms", "half within 100 ms", "50 %"} <= set(words(root))
    assert root.findtext("desc") == (
        "PyTorch default: half within 100 ms, 99 % within 200 ms; chosen: half within "
        "1 ms, 99 % within 300 ms."
    )


def test_a_curve_of_many_waits_has_few_points() -> None:
    """And still ends at the longest."""
    gaps = tuple(0.001 * number for number in range(1, 50_001))
    curve = WaitCurve(config=config(4), names=("chosen",), gaps_s=gaps)

    chart = wait_shares([curve])

    assert len(str(chart)) < 15_000
    assert "half within 25 s" in str(chart)


def test_labels_of_named_configs_are_their_names() -> None:
    """One that has several says all of them."""
    trials = [replace(TRIALS[1], names=("fastest", "chosen"))]

    root = drawn(rate_by_workers(trials, target=None, ceiling=None))

    assert "fastest = chosen" in words(root)


def test_what_all_raced_configs_have_in_common_is_left_out() -> None:
    """There is little room beside a chart; names stand for settings."""
    raced = [
        (config(2, persistent_workers=True), ()),
        (config(2), ()),
        (config(0), ("pytorch_default",)),
    ]

    labels = labels_of(raced)  # type: ignore[arg-type]  # names of rows

    assert labels == [
        "2 workers, prefetch 2, kept",
        "2 workers, prefetch 2",
        "PyTorch default",
    ]
    assert labels_of([(config(2), ())]) == ["2 workers, prefetch 2, batch 64"]
    assert labels_of([(config(2), ())] * 2) == ["2 workers, prefetch 2, batch 64"] * 2


def test_a_name_has_the_same_look_in_every_chart() -> None:
    """PyTorch's default in the race as among the rates."""
    course = race(
        line(4, 1000.0, 500.0, names=("chosen",)),
        line(2, 800.0, 400.0),
        line(0, 200.0, 100.0, names=("pytorch_default",)),
    )

    root = drawn(race_by_rounds(course))

    looks = [item.attrib["class"] for item in of_class(root, "series")]
    assert looks == ["series s0", "series default"]
    assert [item.tag for item in of_class(root, "base", "chosen")] == ["line"]
