"""Tell the rounds of a race from the order in which its readings were taken.

What is stored of a race is a row of readings. Which rounds they make up follows from
the order in which `search.race` runs them. Pure: readings in, rounds out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig


def rounds_in(readings: Iterable[tuple[LoaderConfig, float]]) -> tuple[Round, ...]:
    """Return the rounds of a race, each with its rates in the order they ran.

    A config runs once in a round, so that a second reading of it begins the next one.
    In every second round the finalists alone run, in the reverse order of the round
    before; a config out of that order, which runs in the background, begins the next.

    Args:
        readings: each config with its rate, as they were taken; those for which another
            one stands are left out.
    """
    rounds: list[dict[LoaderConfig, float]] = []
    for config, rate in readings:
        if not rounds or config in rounds[-1] or _is_out_of_order(config, rounds):
            rounds.append({})
        rounds[-1][config] = rate
    return tuple(rounds)


def _is_out_of_order(
    config: LoaderConfig, rounds: list[dict[LoaderConfig, float]]
) -> bool:
    """Whether a config cannot follow in the last round, which runs backwards."""
    if len(rounds) % 2 or not rounds[-1]:
        return False
    before, last = list(rounds[-2]), next(reversed(rounds[-1]))
    if config not in before or last not in before:
        return False
    return before.index(config) > before.index(last)
