"""What cannot fit is refused before it runs, and nothing else is."""

from dataclasses import replace

import pytest

from autoloader.measure.proc import shm_space
from autoloader.search.prediction import (
    cannot_fit,
    need_of,
    shared_example_bytes,
    shm_free_now,
)
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Failure
from autoloader.values.scope import DatasetFacts, FieldFacts
from tests.fakes import a_machine, some_facts

MIB = 1 << 20

FACTS = replace(some_facts(), example_bytes=MIB)

FOUR = LoaderConfig.canonical(num_workers=4, prefetch_factor=2, batch_size=8)
"""Eight batches of 8 MiB in flight, one in use, four being made."""

ALONE = LoaderConfig(num_workers=0, batch_size=8)


def a_field(
    path: str, kind: str, dtype: str | None, shape: tuple[int | None, ...] | None
) -> FieldFacts:
    """Return a field that does not change."""
    return FieldFacts(path=path, type=kind, dtype=dtype, shape=shape, random=False)


def refusal(
    config: LoaderConfig,
    *,
    facts: DatasetFacts = FACTS,
    memory_bytes: int | None = None,
    room: int | None = None,
    files: int | None = None,
    ranks: int = 1,
) -> Failure | None:
    """Return why a config is refused on a machine with so much room."""
    machine = replace(a_machine(), shm_free_bytes=room, open_files_limit=files)
    return cannot_fit(
        config, facts=facts, machine=machine, memory_bytes=memory_bytes, ranks=ranks
    )


def test_all_that_can_be_there_at_once_is_needed() -> None:
    """Batches in flight, the one in use, and the examples that are not collated yet."""
    need = need_of(FOUR, FACTS)

    assert need.queued_bytes == 64 * MIB
    assert need.held_bytes == 8 * MIB
    assert need.making_bytes == 32 * MIB
    assert need.shared_bytes == 72 * MIB
    assert need.total_bytes == 104 * MIB


def test_without_workers_one_batch_is_made_while_another_is_in_use() -> None:
    """Nothing goes through shared memory."""
    need = need_of(ALONE, FACTS)

    assert need.queued_bytes == need.held_bytes == 8 * MIB
    assert need.shared_bytes == 0
    assert need.total_bytes == 24 * MIB


def test_padding_makes_a_batch_larger_than_its_examples() -> None:
    """What one process has collated tells how large."""
    padded = replace(FACTS, collated_example_bytes=4.0 * MIB)

    need = need_of(FOUR, padded)

    assert need.queued_bytes == 256 * MIB
    assert need.making_bytes == 32 * MIB


def test_a_batch_is_no_smaller_than_its_examples_are_said_to_be() -> None:
    """The few that were collated may have been small ones."""
    lucky = replace(FACTS, collated_example_bytes=10.0)

    assert need_of(FOUR, lucky).queued_bytes == 64 * MIB


def test_what_fits_exactly_is_tried() -> None:
    """A limit is what may be used."""
    assert refusal(FOUR, memory_bytes=104 * MIB, room=72 * MIB, files=104) is None


def test_batches_beyond_the_memory_budget_are_refused() -> None:
    """They would take the machine down before they could be weighed."""
    failure = refusal(FOUR, memory_bytes=104 * MIB - 1)

    assert failure is not None
    assert failure.kind == "out_of_memory"
    assert failure.phase == "prediction"
    assert failure.message == (
        "4 workers x 2 batches in flight, one in use and the examples of 4 more need "
        "104.0 MiB, the memory budget is 104.0 MiB"
    )
    assert failure.hint == "raise --memory, or lower --batch-size"


def test_ranks_share_memory_and_the_room_for_batches() -> None:
    """Each has as many batches; the limit of open files is that of each process."""
    assert (
        refusal(FOUR, memory_bytes=208 * MIB, room=144 * MIB, files=104, ranks=2)
        is None
    )

    memory = refusal(FOUR, memory_bytes=207 * MIB, ranks=2)
    room = refusal(FOUR, room=143 * MIB, ranks=2)

    assert memory is not None
    assert memory.message == (
        "4 workers x 2 batches in flight, one in use and the examples of 4 more in "
        "each of 2 ranks need 208.0 MiB, the memory budget is 207.0 MiB"
    )
    assert room is not None
    assert room.message == (
        "4 workers x 2 batches in flight and one in use in each of 2 ranks need "
        "144.0 MiB of shared memory, 143.0 MiB are free"
    )


def test_without_workers_the_memory_budget_holds_too() -> None:
    """A batch can be too large for any config."""
    failure = refusal(ALONE, memory_bytes=16 * MIB)

    assert failure is not None
    assert failure.message == (
        "1 batch in flight, one in use and the examples of 1 more need 24.0 MiB, "
        "the memory budget is 16.0 MiB"
    )


def test_a_queue_beyond_the_room_in_shared_memory_is_refused() -> None:
    """A worker that writes there would be killed by SIGBUS."""
    failure = refusal(FOUR, room=64 * MIB)

    assert failure is not None
    assert failure.kind == "shared_memory_full"
    assert failure.message == (
        "4 workers x 2 batches in flight and one in use need 72.0 MiB of shared "
        "memory, 64.0 MiB are free"
    )
    assert failure.hint == (
        "enlarge /dev/shm (docker run --shm-size), or have fewer in flight"
    )


def test_the_room_is_asked_for_anew() -> None:
    """Others may have filled it since the machine was read, or emptied it."""
    full, empty = a_machine(), replace(a_machine(), shm_free_bytes=0)

    now_full = cannot_fit(
        FOUR, facts=FACTS, machine=full, memory_bytes=None, shm_free_bytes=lambda: 0
    )
    now_empty = cannot_fit(
        FOUR,
        facts=FACTS,
        machine=empty,
        memory_bytes=None,
        shm_free_bytes=lambda: 2**30,
    )

    assert now_full is not None
    assert now_full.kind == "shared_memory_full"
    assert now_empty is None


def test_the_room_of_this_machine_is_told() -> None:
    """As much as this user can still write there, or nothing where it is not there."""
    room, space = shm_free_now(), shm_space()

    assert (room is None) == (space is None)
    assert room is None or (space is not None and 0 <= room <= space.total_bytes)


def test_without_workers_shared_memory_may_be_full() -> None:
    """Nothing is sent from process to process."""
    assert refusal(ALONE, room=0, files=1) is None


def test_more_tensors_than_open_files_are_refused() -> None:
    """Each tensor in flight is an open file."""
    failure = refusal(FOUR, files=64)

    assert failure is not None
    assert failure.kind == "descriptors_exhausted"
    assert failure.message == (
        "4 workers x 2 batches in flight need about 72 open files, the limit is 64"
    )
    assert failure.hint == "raise `ulimit -n`"


JPEG = a_field("jpeg", "bytes", None, None)


@pytest.mark.parametrize(
    ("fields", "shared"),
    [
        ((JPEG,), 0.0),
        ((JPEG, a_field("label", "int", None, ())), 8.0),
        ((JPEG, a_field("box", "tensor", "float16", (2, 2))), 8.0),
        ((JPEG, a_field("is_cat", "number", "bool", ())), 1.0),
        ((JPEG, a_field("tokens", "array", "int64", (None,))), float(MIB)),
        ((a_field("0", "tensor", "uint8", (MIB,)),), float(MIB)),
    ],
)
def test_what_is_pickled_needs_no_shared_memory(
    fields: tuple[FieldFacts, ...], shared: float
) -> None:
    """Bytes as they were read go through a pipe; what is unknown counts whole."""
    facts = replace(FACTS, fields=fields)

    assert shared_example_bytes(facts) == shared
