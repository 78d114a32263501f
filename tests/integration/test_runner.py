"""Real processes through the runner: hangs, fresh processes, measured values."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autoloader.measure.planning import wave_plan
from autoloader.measure.proc import children_of, process_stat
from autoloader.measure.throughput import epoch_rate
from autoloader.trial.aftercare import make_tmp
from autoloader.trial.hosting import Isolation
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.config import LoaderConfig
from autoloader.values.gate import GatePolicy
from autoloader.values.job import PassOrder, ReferenceOrder
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Reading,
    Status,
    Verdict,
)
from autoloader.values.scope import ScopeRequest, SourceSpec

DATASETS = Path(__file__).parents[1] / "datasets.py"

TWO_WORKERS = LoaderConfig.canonical(num_workers=2, batch_size=8)


@contextmanager
def runner_of(
    name: str,
    folder: Path,
    *,
    isolation: Isolation = "auto",
    stall_s: float | None = None,
    memory_bytes: int | None = None,
    on_pass: Callable[[PassOrder], None] | None = None,
) -> Iterator[ProcessRunner]:
    """Give a runner for one of the datasets, or for a SPEC, its reference read."""
    tmp, read = make_tmp(), folder / "reference"
    read.mkdir()
    source = SourceSpec(spec=name if ":" in name else f"{DATASETS}:{name}")
    order = ReferenceOrder(source=source, request=ScopeRequest(), folder=str(read))
    reference = read_reference(order, logs=read, tmp=tmp)
    runner = ProcessRunner(
        source,
        reference,
        folder=folder / "trials",
        tmp=tmp,
        isolation=isolation,
        policy=GatePolicy(hang_after_s=stall_s),
        memory_bytes=memory_bytes,
        on_pass=on_pass,
    )
    with runner:
        yield runner


@pytest.mark.slow
def test_a_hang_is_named_with_its_stage_and_the_stacks(tmp_path: Path) -> None:
    """A worker that waits for ever ends as hung; the log shows where it waited."""
    with runner_of("Hangs", tmp_path, stall_s=4.0) as runner:
        failure = runner.gate(TWO_WORKERS, examples=101)
    left = [stat for stat in children_of(os.getpid()) if stat.state not in "ZX"]

    assert isinstance(failure, Failure)
    assert failure.kind == "hung"
    assert "while loading" in failure.message
    assert failure.log is not None
    stacks = (Path(failure.log) / "stderr.txt").read_text()
    assert "datasets.py" in stacks
    assert "__getitem__" in stacks
    assert not left


@pytest.mark.slow
def test_after_a_hang_the_next_trial_runs(tmp_path: Path) -> None:
    """A hung trial is a result; the host is started anew."""
    single = LoaderConfig(num_workers=0, batch_size=8)
    with runner_of("Hangs", tmp_path, stall_s=4.0) as runner:
        first = runner.gate(TWO_WORKERS, examples=101)
        second = runner.gate(single, examples=101)

    assert isinstance(first, Failure)
    assert isinstance(second, Verdict)
    assert second.passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "isolation", "used"),
    [
        ("Honest", "auto", "fork"),
        ("Honest", "fresh", "fresh"),
        ("Threads", "auto", "fresh"),
    ],
)
def test_passes_are_forked_only_where_that_is_safe(
    name: str, isolation: Isolation, used: str, tmp_path: Path
) -> None:
    """All three passes work either way, and the outcome can say which it was."""
    begun: list[PassOrder] = []
    with runner_of(name, tmp_path, isolation=isolation, on_pass=begun.append) as runner:
        verdict = runner.gate(TWO_WORKERS, examples=101)
        assert isinstance(verdict, Verdict)
        reading = runner.time(
            TWO_WORKERS, verdict=verdict, purpose="search", plan=wave_plan(2)
        )
        memory = runner.weigh(TWO_WORKERS, examples=101)
        isolation_used = runner.isolation

    assert verdict.passed
    assert isinstance(reading, Reading)
    assert epoch_rate(reading) > 0
    assert isinstance(memory, MemoryReading)
    assert memory.queue_was_full
    assert len(memory.epoch_end_bytes) == 2
    assert isolation_used == used
    assert [order.kind for order in begun] == ["gate", "timed", "memory"]
    assert begun[1].plan == wave_plan(2)


@pytest.mark.slow
def test_a_pass_that_takes_more_than_the_budget_is_ended(tmp_path: Path) -> None:
    """Before the machine is in danger, and nothing of it is left."""
    budget = 800 << 20
    spec = f"{DATASETS.with_name('hungry.py')}:Hungry"
    shared = _left_in_shared_memory()

    with runner_of(spec, tmp_path, memory_bytes=budget) as runner:
        failure = runner.gate(TWO_WORKERS, examples=1024)
        left = [stat for stat in children_of(os.getpid()) if stat.state not in "ZX"]
        alone = runner.weigh(LoaderConfig(num_workers=0, batch_size=8), examples=0)

    assert isinstance(failure, Failure)
    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.phase == "gate"
    taken = re.fullmatch(
        r"it took ([\d.]+) ([MG]iB) when it was ended; the budget is 800\.0 MiB",
        failure.message,
    )
    assert taken is not None
    assert float(taken[1]) * (1 if taken[2] == "MiB" else 1024) < 4 * 800
    assert failure.hint == "raise --memory, or allow fewer workers"
    assert left == []
    assert _left_in_shared_memory() <= shared
    assert isinstance(alone, MemoryReading)


def _left_in_shared_memory() -> set[str]:
    """Return the files of PyTorch's own whose maker has ended."""
    names = {path.name for path in Path("/dev/shm").glob("torch_[0-9]*_*")}
    return {name for name in names if process_stat(int(name.split("_")[1])) is None}
