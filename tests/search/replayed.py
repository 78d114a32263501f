"""Small tables for replays: a simulated workload, and outcomes as a study has them."""

from dataclasses import replace

from autoloader.search.simulated import Cost, SimulatedLoader
from autoloader.search.space import Space, SpaceRequest
from autoloader.search.tables import Table
from autoloader.search.workload import Workload
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from tests.fakes import a_machine, a_scope, some_facts

RIGHT = Verdict(
    passed=True, examples=512, of=1600, epochs=2, compared="rows", count_path=(0,)
)
"""What the gate says where nothing is wrong."""

SMALL = Workload(
    name="small",
    about="four cores that decode for 4 ms; two workers reach 80 % of the best",
    loader=SimulatedLoader(cores=2.5, example_cpu=Cost(mean_s=0.004)),
    examples=64_000,
    request=SpaceRequest(num_workers=(0, 4), prefetch_factor=(2,)),
)
"""A space of nine configs, quickly simulated."""

NARROW = Space(
    num_workers=(0, 2),
    prefetch_factor=(2,),
    pin_memory=(False,),
    persistent_workers=(False,),
    batch_size=(64,),
)
"""Three configs, for recorded tables."""


def config(workers: int, *, kept: bool = False) -> LoaderConfig:
    """Return a config of batch 64."""
    return LoaderConfig.canonical(
        num_workers=workers, persistent_workers=kept, batch_size=64
    )


def a_reading(rate: float, *, workers: int, purpose: str = "race") -> Reading:
    """Return a reading of four whole epochs of 1,600 examples at exactly this rate."""
    step_s = 64 / rate
    arrivals = tuple(step_s * (number + 1) for number in range(100))
    return Reading(
        purpose=purpose,
        num_workers=workers,
        kept=False,
        arrivals_s=arrivals,
        counts=(64,) * 100,
        warm_batches=2,
        steady_batches=8,
        total_s=arrivals[-1],
        epoch_examples=1600,
        epoch_ends_s=arrivals[24::25],
        own_cpu=1.5,
    )


def an_outcome(number: int, rates: tuple[float, ...]) -> Outcome:
    """Return the outcome of as many workers as its number, read at these rates."""
    readings = [a_reading(rate, workers=number) for rate in rates]
    searched = a_reading(1.0, workers=number, purpose="search")
    return Outcome(
        number=number,
        config=config(number),
        status=Status.MEASURED,
        source="search",
        isolation="fork",
        seconds=9.0,
        verdict=RIGHT,
        readings=(searched, *readings),
        memory=MemoryReading(
            full_queue_bytes=10_000_000 * (number + 1),
            epoch_end_bytes=(),
            queued_bytes=0,
            queue_was_full=True,
        ),
    )


def a_recorded_table(*outcomes: Outcome, space: Space = NARROW) -> Table:
    """Return the table of outcomes; three measured configs where none are given."""
    found = outcomes or (
        an_outcome(0, (100.0, 105.0, 95.0, 110.0, 90.0)),
        an_outcome(1, (95.0, 99.75, 90.25, 104.5, 85.5)),
        an_outcome(2, (190.0, 199.5, 180.5, 209.0, 171.0)),
    )
    return Table.of(
        found,
        name="recorded",
        facts=some_facts(),
        scope=a_scope(),
        space=space,
        machine=a_machine(),
    )


def broken(
    outcome: Outcome,
    status: Status,
    *,
    verdict: Verdict | None = None,
    failure: Failure | None = None,
) -> Outcome:
    """Return an outcome that came to nothing."""
    return replace(
        outcome,
        status=status,
        readings=(),
        memory=None,
        verdict=verdict,
        failure=failure,
    )
