"""What a config will take, before it runs: room for its queue.

Predictions only refuse what cannot fit; whether a config is fast is measured.
"""

from autoloader.units import format_bytes
from autoloader.values.config import LoaderConfig
from autoloader.values.machine import Machine
from autoloader.values.outcome import Failure
from autoloader.values.scope import DatasetFacts

DESCRIPTORS_OF_A_WORKER = 8
"""Pipes and semaphores that a worker's queues hold open in the training process."""

DESCRIPTORS_RESERVED = 32
"""Files that a training process has open anyway."""


def queue_bytes(config: LoaderConfig, facts: DatasetFacts) -> int:
    """Return the bytes of all batches that can be in flight at once."""
    batches = config.num_workers * (config.prefetch_factor or 0)
    examples = config.batch_size or facts.batch_examples
    return int(batches * examples * facts.example_bytes)


def cannot_fit(
    config: LoaderConfig,
    *,
    facts: DatasetFacts,
    machine: Machine,
    memory_bytes: int | None,
) -> Failure | None:
    """Return why a config must not be tried, or None where its queue fits.

    Args:
        config: what would be tried.
        facts: sizes of an example.
        machine: room in `/dev/shm` and the limit of open files.
        memory_bytes: budget for all processes; None: no limit.
    """
    queued = queue_bytes(config, facts)
    in_flight = (
        f"{config.num_workers} workers x {config.prefetch_factor} batches in flight"
    )
    room = machine.shm_free_bytes
    if room is not None and queued > room:
        return Failure(
            kind="shared_memory_full",
            phase="prediction",
            message=(
                f"{in_flight} need {format_bytes(queued)} of shared memory, "
                f"{format_bytes(room)} are free"
            ),
            hint="enlarge /dev/shm (docker run --shm-size), or have fewer in flight",
        )
    if memory_bytes is not None and queued > memory_bytes:
        return Failure(
            kind="out_of_memory",
            phase="prediction",
            message=(
                f"{in_flight} need {format_bytes(queued)}, "
                f"the memory budget is {format_bytes(memory_bytes)}"
            ),
            hint="raise --memory, or lower --batch-size",
        )
    descriptors = (
        config.num_workers
        * ((config.prefetch_factor or 0) * facts.tensors + DESCRIPTORS_OF_A_WORKER)
        + DESCRIPTORS_RESERVED
    )
    limit = machine.open_files_limit
    if limit is not None and config.num_workers and descriptors > limit:
        return Failure(
            kind="descriptors_exhausted",
            phase="prediction",
            message=(
                f"{in_flight} need about {descriptors} open files, the limit is {limit}"
            ),
            hint="raise `ulimit -n`",
        )
    return None
