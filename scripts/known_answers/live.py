"""Known answer: a true difference of 10 % is found live, and none where there is none.

Two datasets burn the same kind of work, one 10 % more of it an example; or the same
amount. They are read side by side as `measure` reads configs, a dozen times.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

from opening import opened
from result import Answer

from autoloader.measure.machine import read_machine
from autoloader.measure.throughput import epoch_rate
from autoloader.search.side_by_side import read_side_by_side
from autoloader.search.stopwatch import Stopwatch
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from opening import Opened

    from autoloader.search.comparison import Pair

STEPS = 10_000
MORE = 11_000
TIMES = 12
LEAST_FOUND = 11
MOST_S = 180.0
CONFIG = LoaderConfig.canonical(num_workers=2, batch_size=32)


def answer(quick: bool = False) -> Answer:
    """Return what a dozen comparisons said of each pair."""
    lines = ["true ratio  different  equal  undecided  ratios found, in rounds"]
    found: dict[str, list[tuple[Pair, int]]] = {"1.10": [], "1.00": []}
    times = 2 if quick else TIMES
    with (
        opened("busy", examples=2048, steps=STEPS) as fast,
        opened("busy", examples=2048, steps=MORE) as slow,
        opened("busy", examples=2048, steps=STEPS) as same,
    ):
        for number in range(times):
            found["1.10"].append(_compare(fast, slow, turned=bool(number % 2)))
            found["1.00"].append(_compare(fast, same, turned=bool(number % 2)))
            print(_latest(found), file=sys.stderr, flush=True)
    for name, pairs in found.items():
        verdicts = Counter(pair.verdict.value for pair, _ in pairs)
        ratios = " ".join(
            f"{pair.ratio.median:.2f}/{rounds}" for pair, rounds in pairs if pair.ratio
        )
        lines.append(
            f"{name:10s}  {verdicts['different']:9d}  {verdicts['equal']:5d}  "
            f"{verdicts['undecided']:9d}  {ratios}"
        )
    right = sum(_is_faster(pair) for pair, _ in found["1.10"])
    wrong = sum(pair.verdict.value == "different" for pair, _ in found["1.00"])
    return Answer(
        title=f"live: 10 % more work is found in {LEAST_FOUND} of {TIMES} comparisons, "
        "equal work in none called different",
        lines=tuple(lines),
        holds=right * TIMES >= LEAST_FOUND * times and wrong == 0,
    )


def _compare(first: Opened, second: Opened, *, turned: bool) -> tuple[Pair, int]:
    """Return the pair as seen from the first, and how many rounds it took."""
    watches = {"first": _watch(first), "second": _watch(second)}
    verdicts = {"first": first.gate(CONFIG), "second": second.gate(CONFIG)}

    def read(name: str) -> float:
        taken = watches[name].take(CONFIG, verdict=verdicts[name], purpose="known")
        if not isinstance(taken, tuple):
            raise RuntimeError(taken.message)
        return epoch_rate(taken[-1])

    for name in watches:
        read(name)  # sizes the passes
    names = ["second", "first"] if turned else ["first", "second"]
    found = read_side_by_side(
        read,
        names,
        rounds=None,
        deadline=time.monotonic() + MOST_S,
        clock=time.monotonic,
    )
    return found.comparison().between("first", "second"), len(found.rounds.rates)


def _watch(workload: Opened) -> Stopwatch:
    return Stopwatch(
        runner=workload.runner,
        facts=workload.reference.facts,
        scope=workload.reference.scope,
        machine=read_machine(),
        limit_s=9.0,
    )


def _is_faster(pair: Pair) -> bool:
    is_different = pair.verdict.value == "different"
    return is_different and pair.ratio is not None and pair.ratio.median > 1


def _latest(found: dict[str, list[tuple[Pair, int]]]) -> str:
    return "; ".join(
        f"{name}: {pairs[-1][0].verdict.value} after {pairs[-1][1]} rounds"
        for name, pairs in found.items()
    )


if __name__ == "__main__":
    answer().print()
