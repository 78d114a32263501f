"""Measure what the gate costs, and hold it against its limits.

    python scripts/bench_gate.py [--rounds N] [--only NAME] [--examples N]

Two kinds of figures. A gated epoch (digests in the workers and in the training process,
as a gate pass does it) against a plain one of the same DataLoader, in turns: plain,
gated, gated, plain; CPU time stands beside it, as other load changes it less. And a
ledger of many examples: its bytes in memory and on disk, and the time in which it is
judged. Prints each with its limit; exits 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from autoloader.audit.ledger import (
    ArrivalLedger,
    LedgerWriter,
    ReferenceLedger,
    ScopeList,
)
from autoloader.audit.verdict import Expectation, judge
from autoloader.child.collating import CollateWatch
from autoloader.child.digest import DigestPlan
from autoloader.child.recorder import Arrivals, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autoloader.child.recorder import Carried
    from autoloader.values.outcome import Verdict

BATCH_SIZE = 64
"""Examples a batch of the tiny examples and of the ledger."""

SIGNATURE = '[["0", "tensor", "float32", [16]], ["1", "int", null, []]]'


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure and its limit."""

    name: str
    value: float
    limit: float
    unit: str
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the limit is kept."""
        return self.value <= self.limit


class Large(Dataset[tuple[torch.Tensor, int]]):
    """Copies of 3 MB slices of a tensor in memory, with a label."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = torch.rand(16, 3, 512, 512)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return a copy and a label."""
        return self._pool[index % 16].clone(), index % 10


class Tiny(Dataset[tuple[torch.Tensor, int]]):
    """Sixteen floats and a label."""

    def __init__(self, count: int) -> None:
        self._values = torch.rand(count, 16)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """Return a row and a label."""
        return self._values[index], index % 1000


class Taken(NamedTuple):
    """What an epoch took."""

    wall_s: float
    """From the first batch to the end: workers have started by then."""
    cpu_s: float
    """CPU time of the process and of its workers, their start included."""


class Pair(NamedTuple):
    """A plain epoch and a gated one, one after the other."""

    plain: Taken
    gated: Taken


def cpu_s() -> float:
    """Return the CPU time of this process and of the children that ended."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(each)[:2]) for each in who)


def take(loader: DataLoader[Any], add: Callable[[Any], object]) -> Taken:
    """Read an epoch, and hand over each batch."""
    used = cpu_s()
    begun = 0.0
    for place, batch in enumerate(loader):
        add(batch)
        if not place:
            begun = time.perf_counter()
    return Taken(time.perf_counter() - begun, cpu_s() - used)


def plain_epoch(loader: DataLoader[Any]) -> Taken:
    """Return what a plain epoch takes."""
    return take(loader, type)


def gated_epoch(loader: DataLoader[Any], plan: DigestPlan) -> Taken:
    """Return what an epoch takes that is digested and noted in a ledger."""
    collate = CollateWatch(loader.collate_fn)
    record(loader, plan)
    arrivals = Arrivals(LedgerWriter(), plan)

    def add(carried: Carried) -> None:
        arrivals.add(carried)
        collate.note(carried)

    return take(loader, add)


def pairs_of(
    build: Callable[[], DataLoader[Any]], plan: DigestPlan, rounds: int
) -> list[Pair]:
    """Return plain and gated epochs, taken in turns.

    Each epoch has a loader of its own, as a trial has: workers start afresh.
    """
    plain_epoch(build())
    pairs = []
    for number in range(rounds):
        taken: dict[bool, Taken] = {}
        for is_gated in (number % 2 == 1, number % 2 == 0):
            loader = build()
            taken[is_gated] = (
                gated_epoch(loader, plan) if is_gated else plain_epoch(loader)
            )
        pairs.append(Pair(taken[False], taken[True]))
    return pairs


def median_ratio(name: str, limit: float, pairs: Sequence[Pair]) -> Figure:
    """Return the middle one of the ratios of gated to plain epochs."""
    found = [gated.wall_s / plain.wall_s for plain, gated in pairs]
    cpu = [gated.cpu_s / plain.cpu_s for plain, gated in pairs]
    return Figure(
        name=name,
        value=statistics.median(found),
        limit=limit,
        unit="x plain",
        note=(
            f"{min(found):.3f} to {max(found):.3f}; CPU time "
            f"{statistics.median(cpu):.3f} x; plain "
            f"{statistics.median(plain.wall_s for plain, _ in pairs):.2f} s"
        ),
    )


def bench_photos(rounds: int) -> Iterator[Figure]:
    """Compare epochs over JPEG photos with random crops, two workers."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "studies" / "photos"))
    from dataset import photos

    dataset = Subset(photos(), range(960))
    plan = DigestPlan(random=frozenset({"0"}), label="1")

    def build() -> DataLoader[Any]:
        return DataLoader(dataset, batch_size=32, num_workers=2)

    pairs = pairs_of(build, plan, rounds)
    yield median_ratio("photos, 2 workers", 1.06, pairs)


def bench_large(rounds: int) -> Iterator[Figure]:
    """Compare epochs over 3 MB tensors, two workers."""
    dataset = Large(512)
    plan = DigestPlan(label="1")

    def build() -> DataLoader[Any]:
        return DataLoader(dataset, batch_size=8, num_workers=2)

    pairs = pairs_of(build, plan, rounds)
    yield median_ratio("3 MB tensors, 2 workers", 1.3, pairs)


def bench_tiny(rounds: int) -> Iterator[Figure]:
    """Compare epochs over tiny examples in the training process."""
    dataset = Tiny(640 * BATCH_SIZE)
    plan = DigestPlan(label="1")

    def build() -> DataLoader[Any]:
        return DataLoader(dataset, batch_size=BATCH_SIZE)

    pairs = pairs_of(build, plan, rounds)
    each = 1e6 / len(dataset)
    added = [each * (gated.wall_s - plain.wall_s) for plain, gated in pairs]
    cpu = [each * (gated.cpu_s - plain.cpu_s) for plain, gated in pairs]
    yield Figure(
        name="tiny examples, no worker",
        value=statistics.median(added),
        limit=6,
        unit="us added",
        note=(
            f"{min(added):.2f} to {max(added):.2f}; CPU time "
            f"{statistics.median(cpu):.2f} us"
        ),
    )


@dataclass(frozen=True, slots=True)
class Pass:
    """One epoch over many examples, honest until something is spoilt."""

    listed: ScopeList
    reference: ReferenceLedger

    @classmethod
    def of(cls, examples: int) -> Pass:
        """Return a shuffled list of examples, and their digests."""
        rng = np.random.default_rng(0)
        listed = ScopeList.of(rng.permutation(examples).tolist())
        high = 2**64 - 1
        fixed = rng.integers(0, high, examples, np.uint64)
        label = rng.integers(0, high, 1000, np.uint64)[np.arange(examples) % 1000]
        kinds = np.zeros(examples, np.int64)
        return cls(listed, ReferenceLedger(fixed, label, kinds, [SIGNATURE]))

    def expectation(self) -> Expectation:
        """Return what one epoch must bring."""
        return Expectation(
            ids=self.listed.ids,
            places=self.listed.places,
            epochs=1,
            batch_size=BATCH_SIZE,
            drop_last=False,
            of=len(self.listed.places),
            num_workers=2,
        )

    def arrivals(self, *, lost: Sequence[int] = (), twice: int = -1) -> LedgerWriter:
        """Return the ledger of an epoch, without some batches and with one twice."""
        writer = LedgerWriter()
        total = len(self.listed.places)
        places = np.asarray(self.listed.places)
        for batch, first in enumerate(range(0, total, BATCH_SIZE)):
            here = places[first : first + BATCH_SIZE]
            for _ in range(1 + (batch == twice) - (batch in lost)):
                self._add(writer, batch, here)
        return writer

    def _add(self, writer: LedgerWriter, batch: int, here: np.ndarray) -> None:
        count = len(here)
        writer.add_batch(
            epoch=0,
            batch=batch,
            worker=batch % 2,
            examples=count,
            converted=(),
            intact=True,
        )
        writer.add_rows(
            slots=np.arange(count),
            fixed=self.reference.fixed[here],
            label=self.reference.label[here],
            signatures=[SIGNATURE],
            signature=np.zeros(count, np.int32),
        )


def bench_ledger(examples: int) -> Iterator[Figure]:
    """Weigh the ledgers of many examples, and judge an honest and a spoilt pass."""
    made = Pass.of(examples)
    with tempfile.TemporaryDirectory() as name:
        scope, logs = Path(name, "scope"), Path(name, "logs")
        scope.mkdir()
        logs.mkdir()
        made.listed.write(scope)
        made.reference.write(scope)
        made.arrivals().write(logs)
        for title, folder, read in (
            ("list and reference", scope, _read_scope),
            ("arrivals of an epoch", logs, ArrivalLedger.read),
        ):
            size = sum(file.stat().st_size for file in folder.iterdir())
            for where, count in (("on disk", size), ("in memory", _held(read, folder))):
                yield Figure(
                    name=f"{title}, {where}",
                    value=count / examples,
                    limit=40,
                    unit="B an example",
                )
        yield _judged(made, logs, "honest pass judged", {})
        batches = -(-examples // BATCH_SIZE)
        made.arrivals(lost=[batches // 2], twice=batches // 3).write(logs)
        spoilt = np.load(logs / "arrived_fixed.npy")
        spoilt[[5, examples // 4]] += np.uint64(1)
        np.save(logs / "arrived_fixed.npy", spoilt)
        counts = {
            "missing_ids": BATCH_SIZE,
            "repeated_ids": BATCH_SIZE,
            "content_mismatch": 2,
        }
        yield _judged(made, logs, "spoilt pass judged", counts)


def _held(read: Callable[[Path], object], folder: Path) -> int:
    """Return the bytes that what is read holds."""
    tracemalloc.start()
    _kept = read(folder)
    held_bytes, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held_bytes


def _read_scope(folder: Path) -> tuple[ScopeList, ReferenceLedger]:
    return ScopeList.read(folder), ReferenceLedger.read(folder)


def _judged(made: Pass, logs: Path, name: str, expected: dict[str, int]) -> Figure:
    arrived = ArrivalLedger.read(logs)
    begun = time.perf_counter()
    verdict: Verdict = judge(made.reference, arrived, made.expectation())
    seconds = time.perf_counter() - begun
    found = {finding.code: finding.count for finding in verdict.findings}
    if found != expected:
        sys.exit(f"{name}: expected {expected}, found {found}")
    return Figure(
        name=name, value=seconds, limit=15, unit="s", note=f"{len(arrived.fixed)} rows"
    )


def machine() -> str:
    """Return processor, cores and version of torch."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    model = names[0] if names else platform.machine()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return f"{model}, {cores} cores, torch {torch.__version__}, load {load:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure what the gate costs.")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--examples", type=int, default=10_000_000, metavar="N")
    parser.add_argument("--only", choices=["photos", "large", "tiny", "ledger"])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(machine(), flush=True)
    benches: dict[str, Callable[[], Iterator[Figure]]] = {
        "tiny": lambda: bench_tiny(options.rounds),
        "large": lambda: bench_large(options.rounds),
        "photos": lambda: bench_photos(options.rounds),
        "ledger": lambda: bench_ledger(options.examples),
    }
    is_met = True
    for bench in (benches[options.only],) if options.only else benches.values():
        for figure in bench():
            is_met &= figure.is_met
            print(
                f"{figure.name:30} {figure.value:9.3f} {figure.unit:13} "
                f"limit {figure.limit:5g}  {'met' if figure.is_met else 'NOT MET':7} "
                f"{figure.note}",
                flush=True,
            )
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
