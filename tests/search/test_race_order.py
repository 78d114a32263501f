"""Rounds that are told from the order of readings, against those that were run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from autoloader.search.question import Chance
from autoloader.search.race import LOOKS, Rules, run_race
from autoloader.search.race_order import rounds_in
from autoloader.values.target import Target
from tests.search.replayed import config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.values.config import LoaderConfig

CONFIGS = tuple(config(workers) for workers in range(6))
DEFAULT, ONE, TWO, THREE, FOUR, FIVE = CONFIGS


class Course:
    """Runs a race and writes down what was read, in order."""

    def __init__(self, failing: Mapping[LoaderConfig, int]) -> None:
        self.readings: list[tuple[LoaderConfig, float]] = []
        self._failing = failing
        self.passes: dict[LoaderConfig, int] = {}

    def read(self, tried: LoaderConfig) -> float | None:
        """Return a rate that no other pass has; None where the config fails by now."""
        self.passes[tried] = self.passes.get(tried, 0) + 1
        if self.passes[tried] == self._failing.get(tried):
            return None
        rate = 100.0 + len(self.readings)
        self.readings.append((tried, rate))
        return rate


def test_no_reading_makes_no_round() -> None:
    """A study that is still searching, say."""
    assert rounds_in([]) == ()


@pytest.mark.parametrize("finalists", [(ONE, TWO), (ONE, TWO, THREE), CONFIGS[1:]])
@pytest.mark.parametrize("background", [(), (DEFAULT,)])
@pytest.mark.parametrize(
    ("hopeless_after", "failing"),
    [(99, {}), (3, {}), (5, {}), (6, {}), (99, {TWO: 3}), (99, {ONE: 2})],
)
def test_rounds_are_those_that_were_run(
    finalists: tuple[LoaderConfig, ...],
    background: tuple[LoaderConfig, ...],
    hopeless_after: int,
    failing: Mapping[LoaderConfig, int],
) -> None:
    """With a config in the background, one that falls back, and one that fails."""
    course = Course(failing)
    last = finalists[-1]

    def chances() -> dict[LoaderConfig, Chance]:
        is_out = course.passes.get(last, 0) >= hopeless_after
        even = Chance(meets=0.5, clearly=0.5, matters=0.5)
        out = Chance(meets=0.0, clearly=0.0, matters=0.0)
        return dict.fromkeys(finalists, even) | ({last: out} if is_out else {})

    race = run_race(
        course.read,
        finalists,
        Rules(
            target=Target(share_of_best=0.999999),
            batch_sizes=(64,),
            deadline=1e9,
            clock=lambda: 0.0,
        ),
        background=background,
        chances=chances,
    )

    found = rounds_in(course.readings)
    run = [
        {tried: rate for tried, rate in round_.items() if rate is not None}
        for round_ in race.rounds
    ]
    assert list(found) == run
    assert len(run) >= LOOKS[0]
