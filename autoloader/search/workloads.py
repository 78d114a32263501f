"""Workloads on machines of 2 to 256 cores, simulated, whose best config is known.

Each is one situation that a search must get right; a bench replays studies of all.
"""

from __future__ import annotations

from autoloader.search.simulated import Cost, SimulatedLoader
from autoloader.search.space import SpaceRequest
from autoloader.search.workload import Workload
from autoloader.values.config import LoaderConfig


def _ms(mean_ms: float, *, tail: float = 0.5) -> Cost:
    """Return a cost that scatters as decoding does."""
    return Cost(mean_s=mean_ms / 1000, shape="lognormal", tail=tail)


WORKLOADS: tuple[Workload, ...] = (
    Workload(
        name="decode-2",
        about="CPU-bound decoding: the cores are the limit, more workers are idle",
        loader=SimulatedLoader(cores=2, example_cpu=_ms(4.0)),
        examples=1600,
    ),
    Workload(
        name="decode-4",
        about="as decode-2, of an epoch too long to be read whole",
        loader=SimulatedLoader(cores=4, example_cpu=_ms(8.0)),
        examples=50_000,
        batch_size=(32,),
    ),
    Workload(
        name="decode-8",
        about="augmentation on 8 cores, the user's own loader has 4 workers",
        loader=SimulatedLoader(cores=8, example_cpu=_ms(12.0)),
        examples=50_000,
        baseline=LoaderConfig.canonical(num_workers=4, batch_size=64),
    ),
    Workload(
        name="decode-16",
        about="decoding on 16 cores; running too many costs a little",
        loader=SimulatedLoader(cores=16, example_cpu=_ms(6.0), switching=0.1),
        examples=200_000,
    ),
    Workload(
        name="decode-64",
        about="decoding until the main process cannot take over more",
        loader=SimulatedLoader(
            cores=64, example_cpu=_ms(9.0), handover_bytes_per_s=5e9
        ),
        examples=1_281_167,
        batch_size=(128,),
    ),
    Workload(
        name="decode-128",
        about="light decoding on 128 cores: a few dozen are enough",
        loader=SimulatedLoader(
            cores=128, example_cpu=_ms(5.0), handover_bytes_per_s=8e9
        ),
        examples=1_281_167,
        batch_size=(256,),
    ),
    Workload(
        name="decode-256",
        about="heavy work on 256 cores, where a user allows 128 workers",
        loader=SimulatedLoader(cores=256, example_cpu=_ms(40.0), example_bytes=1 << 20),
        examples=500_000,
        request=SpaceRequest(num_workers=(0, 128)),
    ),
    Workload(
        name="quota-1.5",
        about="a container of one and a half CPUs",
        loader=SimulatedLoader(cores=1.5, example_cpu=_ms(5.0)),
        examples=5_000,
        batch_size=(32,),
    ),
    Workload(
        name="store-2",
        about="a store of 15 ms and an epoch of 64 batches: whole waves count",
        loader=SimulatedLoader(
            cores=2, example_cpu=_ms(0.8), example_wait=_ms(15.0), example_bytes=110_592
        ),
        examples=2048,
        batch_size=(32,),
    ),
    Workload(
        name="store-4",
        about="a store of 10 ms: many more workers than cores",
        loader=SimulatedLoader(
            cores=4, example_cpu=_ms(0.4), example_wait=_ms(10.0), example_bytes=150_528
        ),
        examples=20_000,
        batch_size=(32,),
    ),
    Workload(
        name="store-16",
        about="a store of 20 ms with slow requests, decoding beside it",
        loader=SimulatedLoader(
            cores=16,
            example_cpu=_ms(3.0),
            example_wait=Cost(mean_s=0.020, shape="pareto", tail=2.5),
        ),
        examples=100_000,
    ),
    Workload(
        name="ceiling-8",
        about="storage that gives 2,500 examples a second, to any number of workers",
        loader=SimulatedLoader(cores=8, example_cpu=_ms(1.5), store_s=0.0004),
        examples=50_000,
    ),
    Workload(
        name="crowded-8",
        about="a disk that slows down with each further reader: more workers hurt",
        loader=SimulatedLoader(
            cores=8, example_cpu=_ms(2.0), store_s=0.0004, store_crowding=0.15
        ),
        examples=50_000,
    ),
    Workload(
        name="switching-2",
        about="two cores on which each process too many costs the others a third",
        loader=SimulatedLoader(cores=2, example_cpu=_ms(3.0), switching=0.3),
        examples=8_000,
    ),
    Workload(
        name="skewed-8",
        about="heavy-tailed cost: slow batches hold up the others, prefetching helps",
        loader=SimulatedLoader(cores=8, example_cpu=_ms(6.0, tail=1.5)),
        examples=50_000,
        batch_size=(32,),
    ),
    Workload(
        name="skewed-32",
        about="heavy-tailed waiting and cost on 32 cores",
        loader=SimulatedLoader(
            cores=32,
            example_cpu=_ms(6.0, tail=1.2),
            example_wait=Cost(mean_s=0.004, shape="pareto", tail=2.2),
        ),
        examples=100_000,
        batch_size=(32,),
    ),
    Workload(
        name="frames-16",
        about="arrays of 3 MB: the main process takes over 2 GB a second, no more",
        loader=SimulatedLoader(
            cores=16,
            example_cpu=Cost(mean_s=0.002),
            example_bytes=3_000_000,
            handover_bytes_per_s=2e9,
        ),
        examples=20_000,
        batch_size=(32,),
    ),
    Workload(
        name="tiny-4",
        about="tensors in memory: workers cost more than they bring",
        loader=SimulatedLoader(
            cores=4,
            example_cpu=Cost(mean_s=0.000004),
            example_bytes=12_288,
            batch_s=0.0002,
            handover_s=0.001,
        ),
        examples=50_000,
    ),
    Workload(
        name="starting-8",
        about="workers that start for a second, epochs of a few: keep them",
        loader=SimulatedLoader(
            cores=8, example_cpu=_ms(5.0), fork_s=0.05, start_s=1.0, end_s=0.02
        ),
        examples=4_000,
    ),
    Workload(
        name="starting-32",
        about="workers that start one after another, short epochs: fewer are faster",
        loader=SimulatedLoader(
            cores=32, example_cpu=_ms(8.0), fork_s=0.3, start_s=0.5, end_s=0.02
        ),
        examples=20_000,
        request=SpaceRequest(persistent_workers=(False,)),
    ),
    Workload(
        name="consumer-8",
        about="a main process that is busy with each example: few workers do",
        loader=SimulatedLoader(cores=8, example_cpu=_ms(4.0), consume_s=0.0008),
        examples=50_000,
    ),
    Workload(
        name="pinned-16",
        about="an accelerator that pinned memory reaches in a third of the time",
        loader=SimulatedLoader(
            cores=16,
            example_cpu=_ms(3.0),
            consume_s=0.0004,
            consume_pinned=0.35,
            pin_bytes_per_s=6e9,
        ),
        examples=100_000,
        has_accelerator=True,
    ),
    Workload(
        name="batches-16",
        about="20 ms a batch beside its examples: large batches are faster",
        loader=SimulatedLoader(cores=16, example_cpu=_ms(1.0), batch_s=0.020),
        examples=50_000,
        batch_size=(32, 64, 128),
    ),
    Workload(
        name="memory-16",
        about="queues that do not fit the memory beyond a few workers",
        loader=SimulatedLoader(
            cores=16, example_cpu=_ms(20.0), example_bytes=12_000_000
        ),
        examples=10_000,
        batch_size=(16,),
        memory_bytes=6 * 2**30,
    ),
    Workload(
        name="ranks-64",
        about="one of 8 ranks on 64 cores: its share is 8",
        loader=SimulatedLoader(cores=8, example_cpu=_ms(7.0)),
        examples=160_000,
        ranks=8,
        has_accelerator=True,
    ),
    Workload(
        name="ranks-256",
        about="one of 8 ranks on 256 cores that reads from a store of 15 ms",
        loader=SimulatedLoader(cores=32, example_cpu=_ms(5.0), example_wait=_ms(15.0)),
        examples=160_000,
        batch_size=(128,),
        ranks=8,
    ),
)
"""All of them, from the plain to the odd."""
