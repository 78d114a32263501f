"""Readings and failures of several ranks become one."""

from dataclasses import replace

import pytest

from autoloader.trial.merging import (
    is_aftermath,
    merged_failure,
    merged_memory,
    merged_reading,
)
from autoloader.values.outcome import Failure, MemoryReading, Reading

READING = Reading(
    purpose="race",
    num_workers=1,
    kept=False,
    arrivals_s=(1.0,),
    counts=(4,),
    warm_batches=0,
    steady_batches=1,
    total_s=1.0,
    epoch_examples=4,
    own_cpu=0.8,
    foreign_cpu=1.5,
)

CRASHED = Failure(
    kind="crashed", phase="gate", message="the trial's process was killed by SIGKILL"
)

MISSED = Failure(
    kind="worker_exception",
    phase="gate",
    message="RankLost: another rank ended",
    exception="RankLost",
)


def test_ranks_are_no_foreign_load_to_each_other() -> None:
    """Of 1.5 CPUs that others took, 1.1 were the other rank's."""
    other = replace(READING, own_cpu=1.1, foreign_cpu=1.2)

    found = merged_reading([READING, other])

    assert found.foreign_cpu == pytest.approx(0.4)
    (second,) = found.others
    assert second.foreign_cpu == pytest.approx(0.4)
    assert second.own_cpu == 1.1
    assert Reading.from_dict(found.to_dict()) == found


def test_memory_adds_up() -> None:
    """Each rank at its own peak; the queue was full where all were."""
    first = MemoryReading(
        full_queue_bytes=100,
        epoch_end_bytes=(120,),
        queued_bytes=10,
        queue_was_full=True,
    )
    second = replace(first, full_queue_bytes=300, queue_was_full=False)

    found = merged_memory([first, second])

    assert found.peak_bytes == 420
    assert not found.queue_was_full
    assert MemoryReading.from_dict(found.to_dict()) == found


def test_the_rank_at_fault_is_told_not_the_one_that_missed_it() -> None:
    """Whichever came first."""
    found = merged_failure({0: MISSED, 1: CRASHED})

    assert found == replace(
        CRASHED,
        rank=1,
        message="rank 1: the trial's process was killed by SIGKILL",
    )
    assert is_aftermath(MISSED)
    assert not is_aftermath(CRASHED)


def test_ranks_that_only_miss_each_other_are_told() -> None:
    """The one at fault said nothing."""
    found = merged_failure({1: MISSED})

    assert found.rank == 1
    assert found.message == "rank 1: RankLost: another rank ended"


def test_a_field_of_all_ranks_is_their_sum() -> None:
    """None where one of them was not asked."""
    first = MemoryReading(
        full_queue_bytes=1, epoch_end_bytes=(), queued_bytes=2, queue_was_full=True
    )
    pinned = replace(first, pinned_bytes=3)

    assert merged_memory([first, first]).of_all("queued_bytes") == 4
    assert merged_memory([pinned, pinned]).of_all("pinned_bytes") == 6
    assert merged_memory([pinned, first]).of_all("pinned_bytes") is None
