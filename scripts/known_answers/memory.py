"""Memory: a dataset that is shared counts once, and a queue counts whole.

    python scripts/known_answers/memory.py

Each figure is weighed as `tune` weighs a config. It must be what was built: the same
config's figure over a dataset that holds next to nothing, and the bytes of dataset or
queue on top. How far off it is, is told as a share of those bytes. Beside it stands
the sum of the resident sets, which counts what is shared once for each process.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holding import HELD_BYTES
from opening import Opened, opened
from result import Answer

from autoloader.errors import DataError
from autoloader.measure.machine import read_machine
from autoloader.measure.proc import children_of
from autoloader.search.prediction import need_of
from autoloader.search.stopwatch import Stopwatch
from autoloader.search.trials import run_trial
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import MemoryReading

HOLDING = Path(__file__).with_name("holding.py")
MB = 1_000_000
NEAR = 0.05
"""Part of what was built by which a figure may differ from it."""

HELD = 1600
"""Examples of the dataset in memory: 400 MB."""
KINDS = ("list of arrays", "one tensor", "shared tensor")
WORKERS = (0, 1, 2, 4)
PREFETCH = (2, 4, 8)
BATCH = 2
LARGE = 6_250_000
"""Numbers of an example of which two make a batch of 50 MB."""
BATCH_BYTES = 4 * BATCH * LARGE
MADE = 8
"""Examples made on the fly: the list repeats until the queue is full."""


def answer(*, quick: bool = False) -> Answer:
    """Return what a shared dataset, a full queue and one too large for it come to.

    Args:
        quick: whether fewer configs are weighed.
    """
    dataset = _shared_dataset(WORKERS[::2] if quick else WORKERS)
    queue = _queues(WORKERS[::2], PREFETCH[:1]) if quick else _queues(WORKERS, PREFETCH)
    refused = _refusals()
    parts = (dataset, queue, refused)
    return Answer(
        title=f"memory: within {NEAR:.0%} of what was built",
        lines=tuple(line for part in parts for line in (*part.lines, "")),
        holds=all(part.holds for part in parts),
    )


def _shared_dataset(workers: Sequence[int]) -> Answer:
    """Weigh a dataset that was made before workers were forked, over two epochs."""
    configs = [LoaderConfig.canonical(num_workers=n, batch_size=8) for n in workers]
    built, lines, holds = HELD * HELD_BYTES, [_head("dataset of 400 MB")], True
    with opened(
        "Held", file=HOLDING, examples=HELD, kind="one example", length=HELD
    ) as empty:
        base = {config: _weighed(empty, config, HELD) for config in configs}
    for kind in KINDS:
        with opened(
            "Held", file=HOLDING, examples=HELD, kind=kind, length=HELD
        ) as full:
            for config in configs:
                found = _weighed(full, config, HELD)
                line, is_near = _line(kind, config, base[config], found, built)
                lines.append(line)
                holds = holds and is_near
    return Answer(title="dataset", lines=tuple(lines), holds=holds)


def _queues(workers: Sequence[int], prefetch: Sequence[int]) -> Answer:
    """Weigh queues of batches of 50 MB, nothing consumed but the batch in hand."""
    configs = [LoaderConfig(num_workers=0, batch_size=BATCH)] + [
        LoaderConfig.canonical(num_workers=n, prefetch_factor=factor, batch_size=BATCH)
        for n in workers
        if n
        for factor in prefetch
    ]
    lines, holds = [_head("batches of 50 MB")], True
    with opened("Made", file=HOLDING, numbers=1, length=MADE) as small:
        base = {config: _weighed(small, config, 0) for config in configs}
    with opened("Made", file=HOLDING, numbers=LARGE, length=MADE) as large:
        for config in configs:
            in_flight = config.num_workers * (config.prefetch_factor or 0)
            built = (in_flight + 1) * BATCH_BYTES
            found = _weighed(large, config, 0)
            name = f"{in_flight} queued, 1 in hand"
            line, is_near = _line(name, config, base[config], found, built)
            lines.append(line)
            holds = holds and is_near and found.queue_was_full
    return Answer(title="queues", lines=tuple(lines), holds=holds)


def _refusals() -> Answer:
    """Try configs whose queue does not fit: no process of a trial may be started."""
    machine = read_machine()
    with opened("Made", file=HOLDING, numbers=LARGE, length=MADE) as large:
        stopwatch = Stopwatch(
            runner=large.runner,
            facts=large.reference.facts,
            scope=large.reference.scope,
            machine=machine,
            limit_s=10.0,
        )
        deep = LoaderConfig.canonical(
            num_workers=4, prefetch_factor=8, batch_size=BATCH
        )
        room = machine.shm_free_bytes or 0
        deepest = replace(deep, prefetch_factor=room // (4 * BATCH_BYTES) + 1)
        budget = need_of(deep, large.reference.facts).total_bytes - 1
        lines, holds = [], True
        for config, memory_bytes, kind in (
            (deep, budget, "out_of_memory"),
            (deepest, None, "shared_memory_full"),
        ):
            found = run_trial(
                stopwatch, config, number=0, source="known", memory_bytes=memory_bytes
            ).failure
            started = [item.pid for item in children_of(os.getpid())]
            is_right = (
                found is not None
                and (found.phase, found.kind) == ("prediction", kind)
                and not started
            )
            said = "not refused" if found is None else f"{found.kind}: {found.message}"
            lines += [said, f"processes of a trial that were started: {len(started)}"]
            holds = holds and is_right
    return Answer(title="refused", lines=tuple(lines), holds=holds)


def _weighed(workload: Opened, config: LoaderConfig, examples: int) -> MemoryReading:
    """Return what a config takes.

    Raises:
        DataError: the pass failed.
    """
    found = workload.runner.weigh(config, examples=examples)
    if isinstance(found, Failure):
        raise DataError(found.message)
    return found


def _head(name: str) -> str:
    return (
        f"{name:<22}{'workers':>8}{'prefetch':>9}{'built MB':>10}{'weighed':>9}"
        f"{'off':>8}{'sum of RSS':>12}"
    )


def _line(
    name: str,
    config: LoaderConfig,
    base: MemoryReading,
    found: MemoryReading,
    built_bytes: int,
) -> tuple[str, bool]:
    """Return a line of the table, and whether all weighings are near what was built.

    With full queue and at the end of each epoch; the one that is farthest off is shown.
    """
    pairs = zip(
        (base.full_queue_bytes, *base.epoch_end_bytes),
        (found.full_queue_bytes, *found.epoch_end_bytes),
        strict=True,
    )
    off, at, without = max(
        (((now - before) / built_bytes - 1.0, now, before) for before, now in pairs),
        key=lambda item: abs(item[0]),
    )
    line = (
        f"{name:<22}{config.num_workers:>8}{config.prefetch_factor or '-':>9}"
        f"{(without + built_bytes) / MB:>10.0f}{at / MB:>9.0f}{off:>+8.1%}"
        f"{(found.resident_bytes or 0) / MB:>12.0f}"
    )
    return line, abs(off) <= NEAR


if __name__ == "__main__":
    answer().print()
