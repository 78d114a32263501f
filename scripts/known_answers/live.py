"""Known answer: a true difference of 10 % is found live, and none where there is none.

Two datasets burn the same kind of work, or wait, one 10 % more an example; or the same
amount. They are read side by side as `measure` reads configs, a dozen times.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
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

TIMES = 12
"""Comparisons of a true difference: every second one of work, of waiting the others."""
EQUAL = 4
LEAST_FOUND = 11
MOST_S = 180.0
CONFIG = LoaderConfig.canonical(num_workers=2, batch_size=32)

Found = list[tuple["Pair", int]]


def answer(quick: bool = False) -> Answer:
    """Return what a dozen comparisons said of each pair."""
    times = 2 if quick else TIMES
    different: Found = []
    equal: Found = []
    with ExitStack() as stack:
        work, more_work, same_work = (
            stack.enter_context(opened("busy", examples=2048, steps=steps))
            for steps in (10_000, 11_000, 10_000)
        )
        wait, more_wait, same_wait = (
            stack.enter_context(opened("waiting", examples=400, wait_s=seconds))
            for seconds in (0.01, 0.01103, 0.01)
        )
        for number in range(times):
            fast, slow = (work, more_work) if number % 2 else (wait, more_wait)
            different.append(_compare(fast, slow, turned=number % 4 > 1))
            print(_words(different[-1]), file=sys.stderr, flush=True)
        for number in range(2 if quick else EQUAL):
            one, other = (work, same_work) if number % 2 else (wait, same_wait)
            equal.append(_compare(one, other, turned=number % 4 > 1))
            print(_words(equal[-1]), file=sys.stderr, flush=True)
    right = sum(_is_faster(pair) for pair, _ in different)
    wrong = sum(pair.verdict.value == "different" for pair, _ in equal)
    return Answer(
        title=f"live: 10 % more work or waiting is found in {LEAST_FOUND} of {TIMES} "
        "comparisons, and no difference where there is none",
        lines=(
            "true ratio  verdict (ratio found, rounds): waiting, work, waiting ...",
            *_table("1.10", different),
            *_table("1.00", equal),
        ),
        holds=right * TIMES >= LEAST_FOUND * times and wrong == 0,
    )


def _table(name: str, found: Found) -> list[str]:
    return [f"{name:10s}  {_words(item)}" for item in found]


def _words(item: tuple[Pair, int]) -> str:
    pair, rounds = item
    ratio = "-" if pair.ratio is None else f"{pair.ratio.median:.3f}"
    return f"{pair.verdict.value} ({ratio}, {rounds})"


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


if __name__ == "__main__":
    answer().print()
