"""Advice that follows from a named limit: what to change, what it may gain, the test.

Pure. No advice is given without a measurement that speaks for it, and none promises
more than Amdahl's law allows: what costs a share s of the time gains at most
1 / (1 - s) where it vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from autoloader.measure.limits import Limit, LimitName
from autoloader.units import format_rate
from autoloader.values.decode import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autoloader.measure.observed import Observed
    from autoloader.values.ceiling import HotFunction
    from autoloader.values.scope import DatasetFacts

HOT = 0.2
"""Share of the reading time from which on a function is worth a word: 1.25 times."""

SEVERAL_THREADS = 1.2
"""CPU seconds a second of one process from which on it computes in several threads."""

WIDE = frozenset({"float32", "float64"})
"""Element types that a picture of bytes was widened to."""

_DECODERS = ("decode", "imread", "imdecode", "load")
_RESIZERS = ("resize", "thumbnail", "crop")
_MEASURE = "autoloader measure --dataset SPEC --config FILE before and after the change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice(Stored):
    """One thing to change, outside the DataLoader's settings."""

    what: str
    """What to change."""
    why: str
    """What was measured that speaks for it."""
    most_gain: float | None
    """Factor that the rate grows by at most; None where only a test can tell."""
    test: str
    """How to see whether it gains."""


def advice_for(
    limit: Limit,
    seen: Observed,
    *,
    facts: DatasetFacts,
    hot: Sequence[HotFunction] = (),
) -> tuple[Advice, ...]:
    """Return what may help, the largest possible gain first.

    Args:
        limit: what limits.
        seen: what it was named by.
        facts: what examples are made of.
        hot: functions that carry the time of reading, the heaviest first.
    """
    found: list[Advice]
    match limit.name:
        case LimitName.TRANSFORM:
            found = [*_threads(seen), *_functions(limit, seen, hot)]
        case LimitName.STORAGE:
            found = [_layout(limit, seen)]
        case LimitName.COLLATE:
            found = list(_collate(limit, seen))
        case LimitName.HANDOVER | LimitName.MEMORY_BANDWIDTH:
            found = list(_bytes(limit, facts))
        case LimitName.START_UP:
            found = [_keep(limit, seen)]
        case LimitName.CONSUMER | LimitName.SPACE | LimitName.UNKNOWN:
            found = []
        case _:
            assert_never(limit.name)
    return tuple(sorted(found, key=lambda item: -(item.most_gain or 1.0)))


def _threads(seen: Observed) -> Iterator[Advice]:
    """Yield fewer threads, where one process already uses several CPUs."""
    costs = seen.costs
    if not costs.reading_s or seen.cpus <= 1:
        return
    threads = costs.reading_cpu_s / costs.reading_s
    if threads >= SEVERAL_THREADS:
        yield Advice(
            what="one thread in each worker, set in worker_init_fn: "
            "torch.set_num_threads(1), cv2.setNumThreads(0), OMP_NUM_THREADS=1",
            why=f"one process uses {threads:.1f} CPUs to read: the threads of several "
            "workers stand in each other's way",
            most_gain=None,
            test=_MEASURE,
        )


def _functions(
    limit: Limit, seen: Observed, hot: Sequence[HotFunction]
) -> Iterator[Advice]:
    """Yield what functions that carry the reading could do otherwise."""
    stages = seen.costs.stages_cpu_s
    part = stages["transform"] / (sum(stages.values()) or 1.0)
    names = [item.name.rpartition(".")[2].lower() for item in hot]
    resizes = any(word in name for name in names for word in _RESIZERS)
    for item, name in zip(hot, names, strict=True):
        if item.share < HOT:
            continue
        what = f"a faster form of {item.name}, or less of it"
        if resizes and any(word in name for word in _DECODERS):
            what = (
                "decode smaller what is made smaller anyway: Image.draft() of Pillow, "
                "IMREAD_REDUCED_* of OpenCV, or store the files at the size that is "
                f"used ({item.name})"
            )
        yield Advice(
            what=what,
            why=f"{item.name} takes {item.share * 100:.0f} % of an example's reading, "
            f"and reading {part * 100:.0f} % of its CPU time ({limit.evidence})",
            most_gain=_amdahl(part * item.share),
            test=_MEASURE,
        )


def _layout(limit: Limit, seen: Observed) -> Advice:
    stages_s = sum(seen.costs.stages_cpu_s.values())
    rate = seen.rates[seen.fastest]
    most = seen.cpus / stages_s / rate if stages_s and rate else None
    return Advice(
        what="fewer and larger reads: several examples in one file, or the data on a "
        "nearer or faster storage",
        why=limit.evidence,
        most_gain=None if most is None else max(1.0, most),
        test="autoloader tune on a copy of a part of the data on another storage",
    )


def _collate(limit: Limit, seen: Observed) -> Iterator[Advice]:
    """Yield a cheaper collate_fn, where it does more than copy."""
    stages = seen.costs.stages_cpu_s
    share = stages["collate"] / (sum(stages.values()) or 1.0)
    if share < HOT:
        return
    yield Advice(
        what="a collate_fn that stacks whole arrays: no loop over elements in Python, "
        "no conversion of each example",
        why=limit.evidence,
        most_gain=_amdahl(share),
        test=_MEASURE,
    )


def _bytes(limit: Limit, facts: DatasetFacts) -> Iterator[Advice]:
    """Yield smaller examples: as stored, and widened where they are used."""
    wide = [item for item in facts.fields if item.dtype in WIDE and item.shape]
    if wide:
        names = ", ".join(item.path or "the example" for item in wide[:3])
        yield Advice(
            what=f"hand {names} over as bytes (uint8) and make floats of them on the "
            "accelerator",
            why=limit.evidence,
            most_gain=8.0 if any(item.dtype == "float64" for item in wide) else 4.0,
            test=_MEASURE,
        )
    yield Advice(
        what="fewer hand-overs: a larger batch, or fewer tensors in an example",
        why=f"an example has {facts.tensors} tensors of {facts.example_bytes:,} bytes "
        f"in all; {limit.evidence}",
        most_gain=None,
        test="autoloader tune --batch-size 64,128,256",
    )


def _keep(limit: Limit, seen: Observed) -> Advice:
    steady, ceiling = seen.rates[seen.fastest], limit.ceiling_examples_per_s
    return Advice(
        what="longer epochs, or workers that are kept (persistent_workers=True); a "
        "dataset that opens and lists less when it is built or sent to a worker",
        why=f"{limit.evidence}; without it {format_rate(steady)} examples/s",
        most_gain=None if not ceiling else max(1.0, steady / ceiling),
        test="autoloader measure with and without persistent_workers",
    )


def _amdahl(share: float) -> float:
    """Return the most that a rate grows where a share of the time vanishes."""
    return 1 / (1 - min(share, 0.99))
