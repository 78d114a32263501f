"""A runner that answers from a table, and a clock that only it moves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from autoloader.search.stopwatch import Stopwatch
from autoloader.values.ceiling import CeilingReading
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan
from autoloader.values.machine import Machine
from autoloader.values.outcome import Failure, Finding, MemoryReading, Reading, Verdict
from autoloader.values.scope import DatasetFacts, FieldFacts, Scope


@dataclass
class FakeClock:
    """Seconds that pass only when a pass takes them."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass
class FakeRunner:
    """Answers each pass from `rate`; `wrong` and `failing` configs say so."""

    rate: Callable[[LoaderConfig], float]
    clock: FakeClock = field(default_factory=FakeClock)
    wrong: frozenset[LoaderConfig] = frozenset()
    wrong_when_whole: frozenset[LoaderConfig] = frozenset()
    failing: dict[LoaderConfig, Failure] = field(default_factory=dict)
    failing_ceiling: Failure | None = None
    memory: Callable[[LoaderConfig], int] = lambda config: (
        100_000_000 * config.num_workers
    )
    epoch_examples: int = 1600
    calls: list[tuple[str, LoaderConfig]] = field(default_factory=list)
    isolation: str = "fork"
    start_method: str = "fork"

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Refuse what is wrong, in the whole verification or always."""
        self._note("gate", config, 2 * examples / self.rate(config))
        if config in self.failing:
            return self.failing[config]
        whole = examples >= self.epoch_examples
        is_wrong = config in self.wrong or (whole and config in self.wrong_when_whole)
        lost = Finding(
            code="missing_ids", count=1, ids=(33,), epoch=0, message="lost: 33"
        )
        return Verdict(
            passed=not is_wrong,
            examples=examples,
            of=self.epoch_examples,
            epochs=2,
            compared="rows",
            findings=(lost,) if is_wrong else (),
            count_path=(0,),
        )

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Return a reading of exactly the table's rate."""
        assert verdict.passed
        size = config.batch_size or 1
        step = size / self.rate(config)
        in_epoch = -(-self.epoch_examples // size)
        last = self.epoch_examples - (in_epoch - 1) * size
        counts = (size,) * plan.total
        ends: tuple[float, ...] = ()
        if plan.epochs:
            counts = ((size,) * (in_epoch - 1) + (last,)) * plan.epochs
        read = list(accumulate(count / size * step for count in counts))
        if plan.epochs:
            ends = tuple(read[in_epoch - 1 :: in_epoch])
        self._note("time", config, read[-1])
        return Reading(
            purpose=purpose,
            num_workers=config.num_workers,
            kept=config.persistent_workers,
            arrivals_s=tuple(read),
            counts=counts,
            warm_batches=plan.warm_batches,
            steady_batches=plan.steady_batches,
            total_s=read[-1],
            epoch_examples=self.epoch_examples,
            epoch_ends_s=ends,
        )

    def weigh(self, config: LoaderConfig, *, examples: int) -> MemoryReading | Failure:
        """Return the table's memory."""
        self._note("weigh", config, 0.5)
        size = self.memory(config)
        return MemoryReading(
            full_queue_bytes=size,
            epoch_end_bytes=(size, size) if examples else (),
            queued_bytes=0,
            queue_was_full=True,
        )

    def ceiling(
        self, config: LoaderConfig, *, plan: PassPlan
    ) -> CeilingReading | Failure:
        """Return a reading of ten times the table's rate, where examples are free."""
        if self.failing_ceiling is not None:
            return self.failing_ceiling
        size = config.batch_size or 1
        step = size / self.rate(config) / 10
        read = tuple(step * (number + 1) for number in range(plan.total + 10))
        self._note("ceiling", config, read[-1])
        return CeilingReading(
            num_workers=config.num_workers,
            batch_examples=float(size),
            batch_bytes=1000 * size,
            collate_s=(step,),
            collate_cpu_s=(step,),
            arrivals_s=read,
            window_batches=10,
            main_cpu_s=2 * step,
            workers_cpu_s=12 * step if config.num_workers else 0.0,
        )

    def _note(self, kind: str, config: LoaderConfig, seconds: float) -> None:
        self.calls.append((kind, config))
        self.clock.now += seconds


def a_machine(cpus: int = 2) -> Machine:
    """Return a machine without an accelerator."""
    return Machine(
        cpu_model="Test CPU",
        logical_cpus=cpus,
        affinity_cpus=cpus,
        quota_cpus=None,
        effective_cpus=float(cpus),
        memory_total_bytes=2**34,
        memory_limit_bytes=2**34,
        memory_available_bytes=2**34,
        shm_total_bytes=2**33,
        shm_free_bytes=2**33,
        open_files_limit=1024,
        accelerators=(),
        accelerator_note="none here",
        system="Linux x86_64",
        kernel="6.1",
        python="3.11.7",
    )


def some_facts(
    *,
    example_s: float = 0.004,
    cpu_s: float = 0.004,
    baseline: LoaderConfig | None = None,
) -> DatasetFacts:
    """Return the facts of a small map-style dataset."""
    pixels = FieldFacts(
        path="0", type="tensor", dtype="float32", shape=(3, 8, 8), random=False
    )
    return DatasetFacts(
        kind="map",
        name="Fake",
        length=1600,
        fields=(pixels,),
        label=None,
        baseline=None if baseline is None else baseline.to_dict(),
        batching="size",
        batch_examples=1.0,
        example_s=example_s,
        example_cpu_s=cpu_s,
        example_bytes=768,
        tensors=1,
        start_method="fork",
    )


def a_stopwatch(runner: FakeRunner, *, facts: DatasetFacts | None = None) -> Stopwatch:
    """Return a stopwatch over a fake runner, on a machine of two CPUs."""
    return Stopwatch(
        runner=runner,
        facts=facts or some_facts(),
        scope=a_scope(runner.epoch_examples),
        machine=a_machine(),
        limit_s=1000.0,
    )


def a_scope(examples: int = 1600) -> Scope:
    """Return a scope over a whole dataset."""
    return Scope(
        examples=examples,
        distinct=examples,
        of=examples,
        epoch_examples=examples,
        order="shuffled",
        seed=0,
        transforms="fixed",
        drop_last=False,
    )
