"""What an example, a worker and a batch took, for tests of what follows from it."""

from autoloader.measure.needs import NeedsBasis

MIB = 2**20

BASIS = NeedsBasis(
    cpu_s_per_example=0.004,
    wall_s_per_example=0.010,
    bytes_per_example=600_000,
    measured_workers=2,
    read_bytes_per_example=100_000,
    batch_examples=64,
    batch_bytes=40 * MIB,
    shared_batch_bytes=39 * MIB,
    prefetch_factor=2,
    base_memory_bytes=300 * MIB,
    memory_per_worker_bytes=100 * MIB,
    rank_ceiling_examples_per_s=5_000,
)
"""Four milliseconds of CPU time and six of waiting; batches of 64."""
