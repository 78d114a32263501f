"""Pairs of configs: ratios, verdicts, who is told, and how often that is wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from autoloader.measure.intervals import Interval
from autoloader.search.comparison import (
    LOOKS,
    RUN_ERROR,
    Comparison,
    Pair,
    PairVerdict,
    pair_error,
)
from autoloader.search.side_by_side import SideBySide, read_side_by_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JITTER = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0)
"""Scatter of half a percent or so, other in each round."""


def compare(rates: Mapping[str, float], spread: float = 1.0) -> Comparison:
    """Return the comparison of six rounds in which each config scatters by itself."""
    rounds = [
        {
            name: rate * JITTER[(number * (place + 1)) % 6] ** spread
            for place, (name, rate) in enumerate(rates.items())
        }
        for number in range(6)
    ]
    return Comparison.of(rounds, list(rates), entered=len(rates))


def pair(
    low: float | None, high: float | None, *, rounds: int = 6, median: float = 1.0
) -> Pair:
    """Return a pair with such an interval."""
    ratio = Interval(median=median, low=low, high=high)
    return Pair(a="A", b="B", ratio=ratio, rounds=rounds)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.04, 1.2, PairVerdict.DIFFERENT),
        (0.7, 0.99, PairVerdict.DIFFERENT),
        (0.98, 1.02, PairVerdict.EQUAL),
        (1.01, 1.02, PairVerdict.EQUAL),
        (0.97, 1.04, PairVerdict.UNDECIDED),
        (0.96, 1.0, PairVerdict.UNDECIDED),
        (None, None, PairVerdict.UNDECIDED),
    ],
)
def test_the_whole_interval_decides(
    low: float | None, high: float | None, verdict: PairVerdict
) -> None:
    """Within the indifference zone is equal, even where it is 1 % faster for sure."""
    assert pair(low, high).verdict is verdict


def test_a_ratio_is_of_the_first_to_the_second() -> None:
    """Twice the rate is a ratio of 2; turned around it is a half."""
    found = compare({"A": 200.0, "B": 100.0}).between("A", "B")

    turned = compare({"A": 200.0, "B": 100.0}).between("B", "A")

    assert found.ratio is not None
    assert turned.ratio is not None
    assert found.ratio.median == pytest.approx(2.0, rel=0.02)
    assert turned.ratio.median == pytest.approx(0.5, rel=0.02)
    assert turned.ratio.low == pytest.approx(1 / (found.ratio.high or 0))
    assert found.verdict is turned.verdict is PairVerdict.DIFFERENT


def test_what_slows_a_whole_round_down_cancels() -> None:
    """Rounds that differ by a factor of three do not blur a ratio."""
    rounds = [{"A": 2.1 * speed, "B": speed} for speed in (100, 300, 150, 200, 120, 90)]

    (found,) = Comparison.of(rounds, ["A", "B"], entered=2).pairs

    assert found.ratio is not None
    assert found.ratio.low == pytest.approx(2.1)
    assert found.ratio.high == pytest.approx(2.1)


def test_equal_configs_are_equal() -> None:
    """Within three percent, where the readings hardly scatter."""
    comparison = compare({"A": 100.0, "B": 100.0}, spread=0.5)

    assert comparison.pairs[0].verdict is PairVerdict.EQUAL
    assert comparison.is_settled


def test_scatter_leaves_it_undecided() -> None:
    """With about how many rounds would tell."""
    comparison = compare({"A": 100.0, "B": 101.0}, spread=8.0)

    assert not comparison.is_settled
    assert comparison.rounds_to_tell() is not None
    assert (comparison.rounds_to_tell() or 0) > 6


def test_the_rounds_that_would_tell_follow_from_the_width() -> None:
    """Twice as wide as what would do takes four times the rounds."""
    room = math.log(1.06) / 2
    wide = pair(math.exp(room - 2 * room), math.exp(room + 2 * room), median=1.03)

    assert wide.rounds_to_tell() in {24, 25}
    assert pair(None, None).rounds_to_tell() is None
    assert pair(0.5, 2.0, rounds=2).rounds_to_tell() is None


def test_without_a_common_round_nothing_is_known() -> None:
    """One had a failed pass, the deadline cut the round of the other."""
    rounds: list[dict[str, float | None]] = [{"A": 100.0, "B": None}, {"B": 100.0}]

    comparison = Comparison.of(rounds, ["A", "B"], entered=2)

    assert comparison.pairs == (Pair(a="A", b="B", ratio=None, rounds=0),)
    assert comparison.pairs[0].turned() == Pair(a="B", b="A", ratio=None, rounds=0)
    assert comparison.rounds_to_tell() is None
    assert comparison.pairs[0].to_dict() == {
        "a": "A", "b": "B", "ratio": None, "rounds": 0, "verdict": "undecided",
    }  # fmt: skip


def test_who_is_unknown_is_in_no_pair() -> None:
    """Asking for it is a mistake."""
    with pytest.raises(KeyError):
        compare({"A": 1.0, "B": 2.0}).between("A", "C")


def test_people_are_told_the_baseline_and_neighbours() -> None:
    """The faster one first; what follows from these is left out."""
    comparison = compare({"A": 200.0, "B": 100.0, "C": 400.0, "D": 800.0})

    told = [(item.a, item.b) for item in comparison.told()]

    assert comparison.by_speed == ("D", "C", "A", "B")
    assert told == [("D", "A"), ("C", "A"), ("A", "B"), ("D", "C")]
    assert all(item.ratio and item.ratio.median > 1 for item in comparison.told())


def test_an_undecided_pair_is_told_where_it_is_the_only_one() -> None:
    """Whoever is left in doubt is told by whom."""
    rates: dict[str, tuple[float, ...]] = {
        "A": (100, 100, 100, 100, 100, 100),
        "B": (101, 99.5, 101, 99.5, 101, 99.5),
        "C": (99, 100.5, 99, 100.5, 99, 100.5),
    }
    rounds = [{name: row[place] for name, row in rates.items()} for place in range(6)]

    comparison = Comparison.of(rounds, ["A", "B", "C"], entered=3)
    verdicts = {(item.a, item.b): item.verdict for item in comparison.pairs}

    assert verdicts["A", "B"] is verdicts["A", "C"] is PairVerdict.EQUAL
    assert verdicts["B", "C"] is PairVerdict.UNDECIDED
    assert ("B", "C") in {(item.a, item.b) for item in comparison.told()}


def test_pairs_and_looks_share_the_error() -> None:
    """The last look takes what is left."""
    assert pair_error(2, 0, is_last=True) == pytest.approx(RUN_ERROR)
    assert pair_error(2, 0, is_last=False) == pytest.approx(RUN_ERROR * 6 / 96)
    assert pair_error(2, 1, is_last=True) == pytest.approx(RUN_ERROR * 90 / 96)
    looks = [pair_error(2, made, is_last=False) for made in range(len(LOOKS))]
    assert sum(looks) == pytest.approx(RUN_ERROR)
    assert pair_error(4, 0, is_last=True) == pytest.approx(RUN_ERROR / 6)


def simulated(
    rng: np.random.Generator, names: Sequence[str], noise: str, rounds: int | None
) -> SideBySide:
    """Run rounds of equally fast configs."""

    def read(name: str) -> float:
        if noise == "heavy":
            return float(100 * np.exp(rng.standard_t(3) * 0.05 / math.sqrt(3)))
        slow = 0.75 if noise == "outliers" and rng.random() < 0.1 else 1.0
        return float(100 * slow * np.exp(rng.normal(0, 0.05)))

    return read_side_by_side(
        read, names, rounds=rounds, deadline=math.inf, clock=lambda: 0.0
    )


@pytest.mark.parametrize("noise", ["normal", "heavy", "outliers"])
@pytest.mark.parametrize(("names", "rounds"), [("AB", None), ("ABCD", 6)])
def test_equal_configs_are_seldom_called_different(
    noise: str, names: str, rounds: int | None
) -> None:
    """In at most two percent of runs, any pair at any look; three sigma allowed."""
    rng = np.random.default_rng(20)
    runs = 1000

    wrong = 0
    for _ in range(runs):
        pairs = simulated(rng, list(names), noise, rounds).comparison().pairs
        wrong += any(item.verdict is PairVerdict.DIFFERENT for item in pairs)

    allowed = RUN_ERROR * runs + 3 * math.sqrt(RUN_ERROR * runs)
    assert wrong <= allowed
