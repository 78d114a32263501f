"""What a config will take, before it runs: room for its batches.

Predictions only refuse what cannot fit; whether a config is fast is measured, and what
it takes is weighed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.measure.proc import shm_space
from autoloader.units import format_bytes
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.values.config import LoaderConfig
    from autoloader.values.machine import Machine
    from autoloader.values.scope import DatasetFacts, FieldFacts

DESCRIPTORS_OF_A_WORKER = 8
"""Pipes and semaphores that a worker's queues hold open in the training process."""

DESCRIPTORS_RESERVED = 32
"""Files that a training process has open anyway."""

PICKLED = frozenset({"str", "bytes", "none"})
"""Fields that go through a pipe; all others become tensors, in shared memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Bytes of a config's batches, all that there can be at one moment."""

    queued_bytes: int
    """Batches in flight: those that are being made are among them."""

    held_bytes: int
    """The batch in use, which lies where it came from."""

    making_bytes: int
    """Examples of the batches that are being made, before they are collated."""

    shared_bytes: int
    """What of the queue and the batch in use must fit into shared memory."""

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.queued_bytes + self.held_bytes + self.making_bytes

    def times(self, ranks: int) -> Need:
        """Return what so many loaders need at once."""
        return Need(
            queued_bytes=self.queued_bytes * ranks,
            held_bytes=self.held_bytes * ranks,
            making_bytes=self.making_bytes * ranks,
            shared_bytes=self.shared_bytes * ranks,
        )


def need_of(config: LoaderConfig, facts: DatasetFacts) -> Need:
    """Return the bytes that a config's batches need.

    Without workers, one batch is made while another is in use.
    """
    examples = config.batch_size or facts.batch_examples
    batch = examples * collated_bytes(facts)
    in_flight = config.num_workers * (config.prefetch_factor or 0)
    shared = examples * shared_example_bytes(facts)
    return Need(
        queued_bytes=int(max(1, in_flight) * batch),
        held_bytes=int(batch),
        making_bytes=int(max(1, config.num_workers) * examples * facts.example_bytes),
        shared_bytes=int((in_flight + 1) * shared) if in_flight else 0,
    )


def collated_bytes(facts: DatasetFacts) -> float:
    """Return the bytes that an example has in a batch, as far as is known.

    Padding makes it larger than the example itself.
    """
    return max(facts.example_bytes, facts.collated_example_bytes or 0.0)


def shared_example_bytes(facts: DatasetFacts) -> float:
    """Return the bytes of an example that travel in shared memory.

    Texts and bytes go through a pipe, as bytes of a file that are decoded after the
    loader do. Where the other fields' sizes vary, all of it is taken to be shared.
    """
    others = [field for field in facts.fields if field.type not in PICKLED]
    sizes = [_tensor_bytes(field) for field in others]
    known = [size for size in sizes if size is not None]
    if len(others) == len(facts.fields) or len(known) < len(others):
        return collated_bytes(facts)
    return float(sum(known))


def _tensor_bytes(field: FieldFacts) -> int | None:
    """Return the bytes of a field as a tensor; None where its size varies."""
    if field.shape is None or None in field.shape:
        return None
    bits = re.search(r"\d+", field.dtype or "float64")
    item = int(bits[0]) // 8 if bits else 1  # bool
    return item * math.prod(size for size in field.shape if size is not None)


def shm_free_now() -> int | None:
    """Return the room in `/dev/shm` at this moment; None where there is none."""
    space = shm_space()
    return None if space is None else space.free_bytes


def cannot_fit(
    config: LoaderConfig,
    *,
    facts: DatasetFacts,
    machine: Machine,
    memory_bytes: int | None,
    shm_free_bytes: Callable[[], int | None] | None = None,
    ranks: int = 1,
) -> Failure | None:
    """Return why a config must not be tried, or None where its batches fit.

    Args:
        config: what would be tried.
        facts: sizes of an example.
        machine: room in `/dev/shm` and the limit of open files.
        memory_bytes: budget for all processes; None: no limit.
        shm_free_bytes: tells the room in `/dev/shm` now (`shm_free_now`); None: it is
            as the machine says.
        ranks: training processes that run it at once, and share memory and room.
    """
    need = need_of(config, facts).times(ranks)
    if config.num_workers:
        room = machine.shm_free_bytes if shm_free_bytes is None else shm_free_bytes()
        failure = _shared_memory(config, need, room, ranks) or _descriptors(
            config, facts, machine.open_files_limit
        )
        if failure is not None:
            return failure
    if memory_bytes is None or need.total_bytes <= memory_bytes:
        return None
    batches = (
        f"{_in_flight(config)}, one in use and the examples of "
        f"{config.num_workers or 1} more{_of_each(ranks)}"
    )
    return Failure(
        kind="out_of_memory",
        phase="prediction",
        message=(
            f"{batches} need {format_bytes(need.total_bytes)}, "
            f"the memory budget is {format_bytes(memory_bytes)}"
        ),
        hint="raise --memory, or lower --batch-size",
    )


def _in_flight(config: LoaderConfig) -> str:
    if not config.num_workers:
        return "1 batch in flight"
    return f"{config.num_workers} workers x {config.prefetch_factor} batches in flight"


def _of_each(ranks: int) -> str:
    return "" if ranks == 1 else f" in each of {ranks} ranks"


def _shared_memory(
    config: LoaderConfig, need: Need, room: int | None, ranks: int
) -> Failure | None:
    if room is None or need.shared_bytes <= room:
        return None
    return Failure(
        kind="shared_memory_full",
        phase="prediction",
        message=(
            f"{_in_flight(config)} and one in use{_of_each(ranks)} need "
            f"{format_bytes(need.shared_bytes)} of shared memory, "
            f"{format_bytes(room)} are free"
        ),
        hint="enlarge /dev/shm (docker run --shm-size), or have fewer in flight",
    )


def open_files_of(config: LoaderConfig, facts: DatasetFacts) -> int:
    """Return about how many files a training process has open with a config."""
    in_flight = (config.prefetch_factor or 0) * facts.tensors
    return (
        config.num_workers * (in_flight + DESCRIPTORS_OF_A_WORKER)
        + DESCRIPTORS_RESERVED
    )


def _descriptors(
    config: LoaderConfig, facts: DatasetFacts, limit: int | None
) -> Failure | None:
    needed = open_files_of(config, facts)
    if limit is None or needed <= limit:
        return None
    return Failure(
        kind="descriptors_exhausted",
        phase="prediction",
        message=(
            f"{_in_flight(config)} need about {needed} open files, the limit is {limit}"
        ),
        hint="raise `ulimit -n`",
    )
