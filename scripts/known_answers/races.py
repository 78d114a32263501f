"""Known answer: equal configs are not called different, and 10 % is found.

Races are replayed on recorded noise (`noise.py`): consecutive readings of one config
are dealt out to two names in the order in which a comparison reads them, so that both
are equal by construction; for a true difference one of them is multiplied. The verdict
is the one that `measure` gives.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from result import Answer

from autoloader.search.side_by_side import read_side_by_side

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.json"))
REPLAYED = 1000
DIFFERENCE = 1.10
MOST_FALSE = 0.05
LEAST_FOUND = 0.90


def answer(quick: bool = False) -> Answer:
    """Return how often each verdict was given, on each recording."""
    lines = [
        "recording        noise  true ratio  different  equal  undecided  rounds"
        "  (of replayed races)"
    ]
    holds = True
    for path in RECORDED:
        found = json.loads(path.read_text())
        rates = found["examples_per_s"]
        for factor in (1.0, DIFFERENCE):
            counts, rounds, wrong = _replay(rates, factor, 100 if quick else REPLAYED)
            total = sum(counts.values())
            shares = {name: counts[name] / total for name in counts}
            different = shares.get("different", 0.0)
            if factor == 1.0:
                holds &= different <= MOST_FALSE
            else:
                holds &= different - wrong / total >= LEAST_FOUND
            lines.append(
                f"{path.stem:15s}  {_noise(rates):4.1f} %  {factor:10.2f}  "
                f"{different:8.1%}  {shares.get('equal', 0.0):6.1%}  "
                f"{shares.get('undecided', 0.0):8.1%}  {rounds:6.1f}"
            )
    return Answer(
        title=f"replayed races: equal configs called different in at most "
        f"{MOST_FALSE:.0%}, a true {DIFFERENCE - 1:.0%} found in at least "
        f"{LEAST_FOUND:.0%}",
        lines=tuple(lines),
        holds=holds and bool(RECORDED),
    )


def _replay(
    rates: list[float], factor: float, count: int
) -> tuple[Counter[str], float, int]:
    """Return the verdicts of many races, their mean rounds, and wrong directions."""
    chance = random.Random(0)  # noqa: S311  # a replay, no secret
    verdicts: Counter[str] = Counter()
    rounds = wrong = 0
    for _ in range(count):
        pair, ran = _race(rates, factor, chance)
        verdicts[pair.verdict.value] += 1
        rounds += ran
        if pair.verdict.value == "different" and factor > 1 and pair.ratio.median < 1:
            wrong += 1
    return verdicts, rounds / count, wrong


def _race(rates: list[float], factor: float, chance: random.Random) -> tuple[Any, int]:
    """Return the pair of one race, as seen from the faster config, and its rounds."""
    place = chance.randrange(len(rates))
    slower_first = chance.random() < 0.5  # which of the two runs first in round one
    names = ["slow", "fast"] if slower_first else ["fast", "slow"]

    def read(name: str) -> float:
        nonlocal place
        rate = rates[place % len(rates)]
        place += 1
        return rate * factor if name == "fast" else rate

    found = read_side_by_side(read, names, rounds=None, deadline=1.0, clock=lambda: 0.0)
    return found.comparison().between("fast", "slow"), len(found.rounds.rates)


def _noise(rates: list[float]) -> float:
    """Return the scatter of neighbouring readings, in percent."""
    pairs = zip(rates[::2], rates[1::2], strict=False)
    return 100 * statistics.pstdev([math.log(a / b) for a, b in pairs]) / math.sqrt(2)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        RECORDED = [Path(name) for name in sys.argv[1:]]
    answer().print()
