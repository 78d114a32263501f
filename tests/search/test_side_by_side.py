"""Rounds of given configs: order, endings, failures; passes come from tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from autoloader.search.comparison import LOOKS, PairVerdict
from autoloader.search.side_by_side import SideBySide, read_side_by_side

Rates = Mapping[str, float | Sequence[float | None] | None]


class Track:
    """Stands in for the passes: counts them, and lets time go by with each."""

    def __init__(self, rates: Rates, *, seconds: float = 1.0) -> None:
        self.now = 0.0
        self.order: list[str] = []
        self._rates = rates
        self._seconds = seconds

    def read(self, name: str) -> float | None:
        """Return the rate of the next pass; a list begins again at its end."""
        passes = self.order.count(name)
        self.order.append(name)
        self.now += self._seconds
        rates = self._rates[name]
        return rates[passes % len(rates)] if isinstance(rates, Sequence) else rates

    def run(
        self, *, rounds: int | None = None, deadline: float = math.inf
    ) -> SideBySide:
        """Return the rounds of these configs."""
        return read_side_by_side(
            self.read,
            list(self._rates),
            rounds=rounds,
            deadline=deadline,
            clock=lambda: self.now,
        )


NOISY = (100.0, 140.0, 70.0, 120.0, 90.0)


def test_every_second_round_runs_in_reverse_order() -> None:
    """What drifts within a round reaches the configs alike."""
    track = Track({"A": 1.0, "B": 2.0, "C": 3.0})

    track.run(rounds=3)

    assert "".join(track.order) == "ABCCBAABC"


def test_it_ends_at_the_first_look_that_settles_each_pair() -> None:
    """Clear differences take six rounds."""
    found = Track({"A": 100.0, "B": 200.0}).run()

    assert len(found.rounds.rates) == LOOKS[0]
    assert found.rounds.stopped_because == "settled"
    assert found.comparison().pairs[0].verdict is PairVerdict.DIFFERENT


def test_noise_takes_all_rounds_and_ends_undecided() -> None:
    """The last look is the end."""
    found = Track({"A": NOISY, "B": [1.02 * rate for rate in NOISY[::-1]]}).run()

    assert found.rounds.looks == LOOKS
    assert found.rounds.stopped_because == "all_rounds"
    assert not found.comparison().is_settled


def test_a_given_number_has_one_look_with_the_whole_error() -> None:
    """Nobody looked before."""
    found = Track({"A": 100.0, "B": 200.0}).run(rounds=8)

    assert found.rounds.looks == (8,)
    assert found.comparison().error == pytest.approx(0.02)


def test_the_deadline_ends_it_before_a_round_that_would_pass_it() -> None:
    """What was read until then is looked at."""
    found = Track({"A": NOISY, "B": NOISY[::-1]}).run(deadline=9.0)

    assert len(found.rounds.rates) == 4
    assert found.rounds.stopped_because == "deadline"
    assert found.rounds.looks == (4,)


def test_without_any_time_left_one_round_is_read() -> None:
    """Each pair is unknown then, but its ratio is told."""
    found = Track({"A": 1.0, "B": 2.0}).run(deadline=0.0)

    assert found.rounds.rates == ({"A": 1.0, "B": 2.0},)
    assert found.comparison().pairs[0].verdict is PairVerdict.UNDECIDED


def test_who_fails_leaves_and_the_others_go_on() -> None:
    """Its pairs are gone; the error stays shared as it was."""
    found = Track({"A": 100.0, "B": (200.0, None), "C": 300.0}).run(rounds=4)

    assert found.rounds.dropped == ("B",)
    assert found.left == ("A", "C")
    assert [(item.a, item.b) for item in found.comparison().pairs] == [("A", "C")]
    assert found.comparison().error == pytest.approx(0.02 / 3)


def test_fewer_than_two_end_it() -> None:
    """There is nothing to compare any more."""
    found = Track({"A": 100.0, "B": (200.0, None)}).run()

    assert found.rounds.stopped_because == "nothing_left"
    assert len(found.rounds.rates) == 2
    assert found.comparison().pairs == ()
