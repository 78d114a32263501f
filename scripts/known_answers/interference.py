"""Known answer: a timed pass reads what a plain loop over the same loader reads.

The loop has nothing of the package in its process, and is forked from one that only
built the dataset, as a trial is: new and forked processes read tiny examples a tenth
slower than one that has lived through many epochs. Both read the same index list and
time the same batches, at the same time, in turns of a tenth of a second (`slices`).
Rounds are added until the 95 % interval of the ratio lies within the limits, or time
is up.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import pstdev
from typing import TYPE_CHECKING

from opening import WORKLOADS, opened
from plain import PlainLoop
from result import Answer
from slices import descendants, parent_of, sliced

from autoloader.audit.ledger import ScopeList
from autoloader.measure.intervals import bounded_exp, lower_bound, upper_bound
from autoloader.measure.planning import plan_pass
from autoloader.measure.throughput import steady_rate, steady_window_s
from autoloader.values.config import LoaderConfig

if TYPE_CHECKING:
    from opening import Opened
    from slices import Slices

    from autoloader.values.job import PassPlan
    from autoloader.values.outcome import Reading, Verdict

CASES: tuple[tuple[str, str, int, int, bool], ...] = (
    ("photos", "photos", 512, 32, True),
    ("tiny", "tiny", 4096, 64, True),
    ("3 MB tensors", "large", 256, 8, True),
    ("10 ms waits", "waiting", 400, 16, False),
)
"""Name, attribute, examples of the scope, batch size, and whether the sides take
turns. Waits end while a process is stopped, and leave the CPUs to both sides."""

WORKERS = (0, 2, 8)
LIMIT = (0.97, 1.03)
LOOKS = (6, 12, 18, 24, 36, 48)
"""Rounds after which the interval is looked at."""

WINDOW_S = 5.0
"""Least length of a steady window, of which each side has one a round."""

ROUNDS_OF_A_PROCESS = 3
"""Rounds after which both sides begin anew in other processes. How a process's memory
happens to be laid out makes it faster or slower than another."""

CELL_S = float(os.environ.get("CELL_SECONDS", "540"))
"""Most seconds for one workload and one number of workers."""


ALLOCATOR = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
}
"""Keeps freed memory in each process of both sides. Else what glibc gives back decides
by chance, and for long, how many page faults a batch takes: 3 MB tensors were read at
1,000 to 2,000 examples/s by one plain loop or another."""


def answer(quick: bool = False) -> Answer:
    """Return the ratios of both ways of reading, cell by cell."""
    os.environ.update(ALLOCATOR)
    lines = ["workload       workers  rounds  ratio  95 % interval    scatter"]
    holds = True
    for name, attribute, examples, size, in_turns in CASES:
        for workers in WORKERS:
            config = LoaderConfig.canonical(num_workers=workers, batch_size=size)
            with sliced(in_turns=in_turns) as slices:
                ratios = _ratios(attribute, examples, config, slices, quick=quick)
            low, high = _interval(ratios)
            holds &= LIMIT[0] <= low and high <= LIMIT[1]
            middle = math.exp(sum(ratios) / len(ratios))
            lines.append(
                f"{name:13s}  {workers:7d}  {len(ratios):6d}  {middle:.3f}  "
                f"{low:.3f} to {high:.3f}   {pstdev(ratios):.3f}"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return Answer(
        title="a timed pass beside a plain loop: ratio of steady rates within "
        f"{LIMIT[0]} to {LIMIT[1]}",
        lines=tuple(lines),
        holds=holds,
    )


def _ratios(
    attribute: str, examples: int, config: LoaderConfig, slices: Slices, *, quick: bool
) -> list[float]:
    """Return log ratios by round."""
    ratios: list[float] = []
    begun = time.monotonic()
    while True:
        with (
            opened(attribute, examples=examples) as workload,
            PlainLoop(WORKLOADS, attribute) as plain,
            tempfile.NamedTemporaryFile("w", suffix=".json") as file,
        ):
            verdict = workload.gate(config)
            plan = _plan(workload, config, verdict)
            json.dump(_indices(workload, config, plan), file)
            file.flush()
            indices = Path(file.name)
            for _ in range(ROUNDS_OF_A_PROCESS):
                roots = (_host_beside(plain.pid), plain.pid)
                with slices.turns(roots), ThreadPoolExecutor(1) as pool:
                    asked = pool.submit(plain.window, config, plan, indices)
                    ours = _rate(workload, config, verdict, plan)
                    theirs = asked.result()
                ratios.append(math.log(ours / theirs))
        if len(ratios) in LOOKS and _is_inside(ratios):
            return ratios
        late = time.monotonic() - begun > (20.0 if quick else CELL_S)
        if len(ratios) == LOOKS[-1] or late:
            return ratios


def _host_beside(plain: int) -> int:
    """Return the process that forks the trials: the other child of this one."""
    me = os.getpid()
    children = [pid for pid in descendants(me) if parent_of(pid) == me]
    (host,) = (pid for pid in children if pid != plain)
    return host


def _rate(
    workload: Opened, config: LoaderConfig, verdict: Verdict, plan: PassPlan
) -> float:
    return steady_rate(workload.time(config, verdict, plan))


def _plan(workload: Opened, config: LoaderConfig, verdict: Verdict) -> PassPlan:
    """Return the plan of a pass, whole epochs left out: a plain window is compared."""
    plan = _plan_after(workload, config, None)
    for _ in range(2):
        known = workload.time(config, verdict, plan)
        plan = _plan_after(workload, config, known)
    longer = math.ceil(WINDOW_S / steady_window_s(known))
    return replace(plan, steady_batches=plan.steady_batches * longer)


def _plan_after(
    workload: Opened, config: LoaderConfig, known: Reading | None
) -> PassPlan:
    return plan_pass(
        config,
        facts=workload.reference.facts,
        scope=replace(workload.reference.scope, epoch_examples=10**9),
        cpus=64.0,
        limit_s=10.0,
        known=known,
    )


def _indices(workload: Opened, config: LoaderConfig, plan: PassPlan) -> list[int]:
    """Return the list that the timed pass reads."""
    listed = ScopeList.read(Path(workload.reference.folder))
    found = listed.indices(range(len(listed.places)))
    count = plan.total * (config.batch_size or 1)
    return (found * -(-count // len(found)))[:count]


def _interval(ratios: list[float]) -> tuple[float, float]:
    low, high = lower_bound(ratios, 0.025), upper_bound(ratios, 0.025)
    if low is None or high is None:
        return 0.0, math.inf
    return bounded_exp(low), bounded_exp(high)


def _is_inside(ratios: list[float]) -> bool:
    """Whether enough is known; who stopped at the first deviation would find many."""
    low, high = _interval(ratios)
    return LIMIT[0] <= low and high <= LIMIT[1]


if __name__ == "__main__":
    answer().print()
