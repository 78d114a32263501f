"""Small results of studies that never ran: what reports are made of in these tests."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.export.recommendation import Recommendation
from autoloader.search.finale import Result
from autoloader.search.race import Race
from autoloader.search.selection import choose
from autoloader.tune_values import TuneResult
from autoloader.values.config import LoaderConfig
from autoloader.values.job import Reference
from autoloader.values.machine import Machine
from autoloader.values.outcome import (
    Failure,
    Finding,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from autoloader.values.scope import AccessFacts, DatasetFacts, FieldFacts, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.values.target import Target

MIB = 2**20

MACHINE = Machine(
    cpu_model="Test CPU",
    logical_cpus=8,
    affinity_cpus=4,
    quota_cpus=2.5,
    effective_cpus=2.5,
    memory_total_bytes=4096 * MIB,
    memory_limit_bytes=2048 * MIB,
    memory_available_bytes=1024 * MIB,
    shm_total_bytes=64 * MIB,
    shm_free_bytes=32 * MIB,
    open_files_limit=1024,
    accelerators=(),
    accelerator_note="the NVIDIA driver is not loaded",
    system="Linux x86_64",
    kernel="6.1",
    python="3.12.1",
)

FACTS = DatasetFacts(
    kind="map",
    name="Photos",
    length=1600,
    fields=(
        FieldFacts(
            path="0", type="tensor", dtype="float32", shape=(3, None, 32), random=True
        ),
        FieldFacts(path="1", type="int", dtype="int64", shape=None, random=False),
    ),
    label="1",
    baseline=None,
    batching="size",
    batch_examples=1.0,
    example_s=0.002,
    example_cpu_s=0.002,
    example_bytes=12288,
    tensors=1,
    start_method="fork",
    access=AccessFacts(
        source="local",
        files=1600,
        file_systems=("ext4",),
        connections=0,
        read_bytes_per_example=49152.0,
        storage_bytes_per_example=0.0,
        decoding="inside",
    ),
)

SCOPE = Scope(
    examples=1600,
    distinct=1600,
    of=1600,
    epoch_examples=1600,
    order="shuffled",
    seed=0,
    transforms="random",
    drop_last=False,
)

MISSING = Finding(
    code="missing_ids",
    count=2,
    ids=(5, 7),
    epoch=0,
    message="2 examples never arrived: ids 5, 7",
    hint="usual cause: a collate_fn that drops what fails to load",
)

JITTER = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0)
"""Scatter of the six rounds that a race has here."""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def config(workers: int, **settings: Any) -> LoaderConfig:
    """Return a config with a batch size of 64."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=64, **settings)


def reading(rate: float, purpose: str = "search") -> Reading:
    """Return a reading of one epoch of four batches at a rate."""
    seconds = 1000 / rate
    return Reading(
        purpose=purpose,
        num_workers=0,
        kept=False,
        arrivals_s=tuple(seconds * quarter / 4 for quarter in range(1, 5)),
        counts=(250,) * 4,
        warm_batches=0,
        steady_batches=4,
        total_s=seconds,
        epoch_examples=1000,
    )


def verdict(*findings: Finding, examples: int = 1600) -> Verdict:
    """Return a verdict over an epoch of 1,600 examples."""
    return Verdict(
        passed=not findings,
        examples=examples,
        of=1600,
        epochs=2,
        compared="rows",
        findings=findings,
    )


def measured(
    number: int, tried: LoaderConfig, rates: Sequence[float], source: str = "search"
) -> Outcome:
    """Return the outcome of a trial with one reading of the search, then of a race."""
    first, *raced = rates
    return _outcome(
        number,
        tried,
        Status.MEASURED,
        source,
        verdict=verdict(examples=512),
        readings=(reading(first), *(reading(rate, "race") for rate in raced)),
        memory=memory(tried),
    )


def memory(tried: LoaderConfig) -> MemoryReading:
    """Return 100 MiB a worker; the queue of eight workers is never seen full."""
    return MemoryReading(
        full_queue_bytes=100 * MIB * (tried.num_workers + 1),
        epoch_end_bytes=(),
        queued_bytes=0,
        queue_was_full=tried.num_workers < 8,
    )


def refused(
    number: int, tried: LoaderConfig, *findings: Finding, source: str = "search"
) -> Outcome:
    """Return the outcome of a trial whose data was wrong."""
    judged = verdict(*(findings or (MISSING,)))
    return _outcome(number, tried, Status.REFUSED, source, verdict=judged)


def crashed(number: int, tried: LoaderConfig, message: str) -> Outcome:
    """Return the outcome of a trial that a worker ended."""
    return failed(
        number,
        tried,
        kind="worker_exception",
        phase="gate",
        message=message,
        hint="the traceback is in stderr.txt of the log folder",
        log="logs/0007-gate",
    )


def failed(
    number: int, tried: LoaderConfig, *, source: str = "search", **failure: Any
) -> Outcome:
    """Return the outcome of a trial that a failure with these fields ended."""
    found = Failure(**failure)
    return _outcome(number, tried, found.status, source, failure=found)


def _outcome(
    number: int,
    tried: LoaderConfig,
    status: Status,
    source: str,
    **found: Any,
) -> Outcome:
    return Outcome(
        number=number,
        config=tried,
        status=status,
        source=source,
        isolation="fork",
        seconds=1.0,
        **found,
    )


def result(
    rates: Mapping[LoaderConfig, float],
    *,
    target: Target,
    sources: Mapping[LoaderConfig, str],
    failed: Sequence[Outcome] = (),
    jitter: Sequence[float] = JITTER,
    cautions: Sequence[Mapping[str, Any]] = (),
    written: Path | None = Path("autoloader.yaml"),
) -> TuneResult:
    """Return the result of a study in which these configs were raced.

    Args:
        rates: rate of each config that was measured.
        target: what is wanted.
        sources: who proposed a config, where it was not the search.
        failed: outcomes of further trials.
        jitter: factor of every rate in each round.
        cautions: section of the recommendation.
        written: where the recommendation went.
    """
    rounds = tuple(
        {
            tried: rate * jitter[(number + place) % len(jitter)]
            for place, (tried, rate) in enumerate(rates.items())
        }
        for number in range(len(jitter))
    )
    race = Race(
        rounds=rounds,
        stopped_because="settled",
        looks=(len(rounds),),
        dropped=(),
        confidence=0.95,
    )
    standings = race.standings(target)
    choice = choose(standings, memory={}, batch_sizes=(64,))
    outcomes = [
        measured(
            number,
            tried,
            [rate, *(round_[tried] for round_ in rounds)],
            sources.get(tried, "search"),
        )
        for number, (tried, rate) in enumerate(rates.items())
    ]
    verified = {
        tried: verdict() for tried in (choice.config, choice.best) if tried is not None
    }
    data = {"dataset": "mypackage.data:train_set", "cautions": list(cautions)}
    return TuneResult(
        state=choice.state,
        recommendation=Recommendation(data),
        written=written,
        result=Result(
            choice=choice,
            race=race,
            standings=standings,
            verified=verified,
            memory={tried: memory(tried) for tried in rates},
        ),
        outcomes=(*outcomes, *failed),
        reference=Reference(facts=FACTS, scope=SCOPE, folder="reference", seconds=2.0),
        stopped_search="budget",
        study=Path("study"),
        seconds=95.0,
        budget_s=180.0,
    )
