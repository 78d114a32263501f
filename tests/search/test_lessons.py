"""What was too much once is not asked for again; what has no size teaches nothing."""

from dataclasses import replace

import pytest

from autoloader.search.lessons import Lessons
from autoloader.search.prediction import need_of
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import (
    Failure,
    MemoryReading,
    Outcome,
    Reading,
    Status,
    Verdict,
)
from tests.fakes import some_facts

MIB = 1 << 20

FACTS = replace(some_facts(), example_bytes=MIB, tensors=4)


def config(workers: int, prefetch: int = 2, batch: int = 8) -> LoaderConfig:
    """Return a config of fresh workers."""
    return LoaderConfig.canonical(
        num_workers=workers, prefetch_factor=prefetch, batch_size=batch
    )


def failed(
    tried: LoaderConfig, kind: str, *, phase: str = "gate", number: int = 3
) -> Outcome:
    """Return the outcome of a trial that failed."""
    failure = Failure(kind=kind, phase=phase, message="it failed")
    return Outcome(
        number=number,
        config=tried,
        status=failure.status,
        source="search",
        isolation="fork",
        seconds=1.0,
        failure=failure,
    )


def measured(tried: LoaderConfig, *, peak_bytes: int | None = None) -> Outcome:
    """Return the outcome of a trial that came to its end."""
    memory = None
    if peak_bytes is not None:
        memory = MemoryReading(
            full_queue_bytes=peak_bytes,
            epoch_end_bytes=(),
            queued_bytes=0,
            queue_was_full=True,
        )
    reading = Reading(
        purpose="search",
        num_workers=tried.num_workers,
        kept=False,
        arrivals_s=(1.0, 2.0),
        counts=(8, 8),
        warm_batches=0,
        steady_batches=2,
        total_s=2.0,
        epoch_examples=16,
    )
    verdict = Verdict(passed=True, examples=8, of=8, epochs=2, compared="rows")
    return Outcome(
        number=9,
        config=tried,
        status=Status.MEASURED,
        source="search",
        isolation="fork",
        seconds=1.0,
        verdict=verdict,
        readings=(reading,),
        memory=memory,
    )


def why_not(tried: LoaderConfig, *outcomes: Outcome) -> str | None:
    """Return why a config must not be tried after these outcomes."""
    return Lessons(facts=FACTS, outcomes=outcomes).why_not(tried)


def test_nothing_speaks_against_a_config_at_first() -> None:
    """There is nothing to learn from."""
    assert why_not(config(8)) is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (
            "out_of_memory",
            "at least as much memory as 4 workers, prefetch 2, batch 8, which ran out "
            "of it",
        ),
        (
            "shared_memory_full",
            "at least as much in flight as 4 workers, prefetch 2, batch 8, which "
            "filled shared memory",
        ),
        (
            "descriptors_exhausted",
            "at least as many open files as 4 workers, prefetch 2, batch 8, which "
            "reached their limit",
        ),
        (
            "throttled",
            "at least as many workers as 4 workers, prefetch 2, batch 8, which the "
            "store turned away",
        ),
    ],
)
def test_what_asks_for_as_much_is_not_tried(kind: str, reason: str) -> None:
    """More, or just as much; what asks for less is."""
    lesson = failed(config(4), kind)

    assert why_not(config(4), lesson) == reason
    assert why_not(config(6), lesson) == reason
    assert why_not(config(3), lesson) is None
    assert why_not(config(0), lesson) is None


@pytest.mark.parametrize("kind", ["out_of_memory", "shared_memory_full"])
def test_a_larger_batch_or_queue_asks_for_more_as_well(kind: str) -> None:
    """Memory is workers times prefetch times batch."""
    lesson = failed(config(4), kind)

    assert why_not(config(2, 8), lesson) is not None
    assert why_not(config(2, 2, 32), lesson) is not None
    assert why_not(config(2, 3), lesson) is None


def test_a_store_counts_workers_and_nothing_else() -> None:
    """A longer queue asks for no more at once."""
    lesson = failed(config(4), "throttled")

    assert why_not(config(3, 16, 256), lesson) is None
    assert why_not(config(4, 1, 1), lesson) is not None


def test_a_store_that_turns_one_process_away_says_nothing_of_workers() -> None:
    """Else nothing at all would be left to try."""
    assert why_not(config(4), failed(config(0), "throttled")) is None


def test_shared_memory_is_no_matter_without_workers() -> None:
    """Nothing goes through it."""
    lesson = failed(config(1, 1, 1), "shared_memory_full")

    assert why_not(config(0, batch=1024), lesson) is None


@pytest.mark.parametrize(
    "kind", ["crashed", "hung", "worker_exception", "cannot_pickle", "disk_full"]
)
def test_failures_without_a_size_teach_nothing(kind: str) -> None:
    """What crashed with four workers may run with eight."""
    assert why_not(config(8), failed(config(4), kind)) is None


def test_a_refused_or_predicted_trial_teaches_nothing() -> None:
    """Wrong data is no matter of size; a prediction is made anew for each config."""
    refused = replace(failed(config(4), "crashed"), failure=None, status=Status.REFUSED)
    predicted = failed(config(4), "out_of_memory", phase="prediction")

    assert why_not(config(8), refused, predicted) is None


def test_a_lesson_is_refuted_by_what_was_measured_beyond_it() -> None:
    """Eight workers run: what four ran into was something else."""
    lesson, beyond = failed(config(4), "throttled"), measured(config(8))

    assert why_not(config(6), lesson) is not None
    assert why_not(config(6), lesson, beyond) is None
    assert why_not(config(6), lesson, measured(config(2))) is not None


def test_processes_count_as_they_were_weighed() -> None:
    """Where workers are large, a long queue of few of them takes less than many."""
    lesson = failed(config(8), "out_of_memory")
    few = config(3, 8)
    size = need_of(config(1), FACTS).total_bytes + 2 * 1024 * MIB

    assert why_not(few, lesson) is not None
    assert why_not(few, lesson, measured(config(1), peak_bytes=size)) is None


def test_examples_of_unknown_size_teach_nothing() -> None:
    """All configs would be alike."""
    unknown = replace(FACTS, example_bytes=0)
    lesson = failed(config(4), "shared_memory_full")

    assert Lessons(facts=unknown, outcomes=[lesson]).why_not(config(8)) is None


def full(tried: LoaderConfig, phase: str) -> Outcome:
    """Return the outcome of a config for which the accelerator had no room."""
    found = failed(tried, "out_of_memory", phase=phase)
    assert found.failure is not None
    return replace(found, failure=replace(found.failure, of_accelerator=True))


def test_a_batch_that_the_step_had_no_room_for_bounds_all_batches() -> None:
    """However many workers make it; a smaller one is tried, with any of them."""
    lessons = Lessons(facts=FACTS, outcomes=[full(config(0, batch=128), "consumer")])

    assert lessons.why_not(config(4, batch=64)) is None
    assert lessons.why_not(config(4, batch=128)) == (
        "as large a batch as 0 workers, batch 128, which the accelerator had too "
        "little memory for"
    )


def test_a_loader_that_was_measured_says_nothing_of_the_step() -> None:
    """It made the batch, and put nothing on the device."""
    outcomes = [full(config(0, batch=128), "step"), measured(config(2, batch=128))]
    lessons = Lessons(facts=FACTS, outcomes=outcomes)

    assert lessons.why_not(config(4, batch=128)) is not None


def test_workers_that_use_the_accelerator_share_its_memory() -> None:
    """Until as much was measured: then something else had taken it."""
    tried = full(config(4, batch=32), "gate")
    lessons = Lessons(facts=FACTS, outcomes=[tried])
    refuted = Lessons(facts=FACTS, outcomes=[tried, measured(config(8, batch=32))])

    assert lessons.why_not(config(2, batch=32)) is None
    assert lessons.why_not(config(8, batch=32)) == (
        "at least as many examples on the accelerator as "
        "4 workers, prefetch 2, batch 32, which ran out of its memory"
    )
    assert refuted.why_not(config(8, batch=32)) is None
