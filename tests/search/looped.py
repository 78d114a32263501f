"""Training loops that take exactly what they are told to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autoloader.search.loops import Entrant, LoopRace, Loops
from autoloader.values.config import LoaderConfig
from autoloader.values.job import PassPlan
from autoloader.values.outcome import Failure, Verdict
from autoloader.values.step import StepReading

STEP_S = 0.2
"""Seconds of a step on a batch of 8."""


def config(workers: int) -> LoaderConfig:
    """Return a config of batch 8."""
    return LoaderConfig.canonical(num_workers=workers, batch_size=8)


def loop(
    workers: int | None, *, wait_s: float, step_s: float = STEP_S, batches: int = 10
) -> StepReading:
    """Return a reading of so many equal batches, two of them to warm up."""
    batch_s = wait_s + step_s
    return StepReading(
        num_workers=workers,
        came_s=tuple(place * batch_s + wait_s for place in range(batches)),
        done_s=tuple((place + 1) * batch_s for place in range(batches)),
        counts=(8,) * batches,
        warm_batches=min(2, batches),
        steady_batches=max(0, batches - 2),
        total_s=batches * batch_s,
        epoch_examples=None,
        has_device=False,
    )


@dataclass
class LoopTable:
    """Runs loops that wait as the table says, in rounds by turns."""

    waits_s: Mapping[LoaderConfig, tuple[float, ...]]
    failing: frozenset[LoaderConfig] = frozenset()
    now: float = 0.0
    calls: list[LoaderConfig] = field(default_factory=list)
    plans: list[PassPlan] = field(default_factory=list)

    def clock(self) -> float:
        """Return seconds that pass with readings only."""
        return self.now

    def consume(
        self, config: LoaderConfig, *, plan: PassPlan, limit_s: float
    ) -> StepReading | Failure:
        """Return the step alone."""
        return loop(None, wait_s=0.0)

    def step(
        self, config: LoaderConfig, *, verdict: Verdict, plan: PassPlan
    ) -> StepReading | Failure:
        """Return a reading of exactly these seconds."""
        if config in self.failing:
            self.calls.append(config)
            return Failure(kind="crashed", phase="step", message="was killed")
        waits = self.waits_s[config]
        found = loop(
            config.num_workers,
            wait_s=waits[self.calls.count(config) % len(waits)],
            batches=plan.total,
        )
        self.calls.append(config)
        self.plans.append(plan)
        self.now += found.total_s
        return found


def entrant(config: LoaderConfig, rate: float = 80.0) -> Entrant:
    """Return a config whose loader alone has a rate."""
    verdict = Verdict(
        passed=True, examples=64, of=64, epochs=2, compared="rows", count_path=(0,)
    )
    return Entrant(
        config=config, verdict=verdict, batch_examples=8.0, loader_examples_per_s=rate
    )


def raced(
    table: LoopTable,
    *,
    looks: tuple[int, ...] = (4,),
    deadline: float = 1e9,
    is_settled: Callable[[Loops], bool] = lambda _loops: False,
    kept: list[tuple[LoaderConfig, StepReading]] | None = None,
) -> Loops:
    """Return the loops of the table's configs.

    Args:
        table: how long each waits.
        looks: rounds after which they may be settled; the last one ends them.
        deadline: time of the table's clock.
        is_settled: whether they are.
        kept: to which each reading is added; None: nobody keeps them.
    """
    noted = [] if kept is None else kept
    race = LoopRace(
        runner=table,
        step="train.py:step",
        consumer=(loop(None, wait_s=0.0),),
        alone=config(0),
        alone_s=10.0,
        limit_s=100.0,
        clock=table.clock,
        on_reading=lambda config, reading: noted.append((config, reading)),
    )
    entrants = [entrant(config) for config in table.waits_s]
    return race.run(entrants, looks=looks, deadline=deadline, is_settled=is_settled)
