"""Rates of a timed pass, against a loader that is simple enough to know the answer.

The model: workers need START_S to come up; then each makes a batch in BATCH_S, all of a
wave at the same time; the end takes END_S. Without workers, batches come one by one.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.measure.planning import STEADY_BATCHES, STEADY_WAVES, wave_plan
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    gaps_s,
    has_steady_window,
    steady_rate,
    steady_window_s,
    wait_percentiles,
    warm_s,
)
from autoloader.values.outcome import Reading

BATCH_SIZE = 10
START_S = 3.0
BATCH_S = 0.5
END_S = 0.25


def modelled_seconds(workers: int, batches: int) -> float:
    """Return what an epoch of that many batches takes: the right answer."""
    return START_S + math.ceil(batches / max(workers, 1)) * BATCH_S + END_S


def modelled_reading(
    workers: int, *, batches: int | None = None, epoch_batches: int = 1000
) -> Reading:
    """Return what a timed pass of the planned length (or `batches`) would read."""
    plan = wave_plan(workers)
    arrived = plan.total if batches is None else batches
    waves = [place // max(workers, 1) + 1 for place in range(arrived)]
    return Reading(
        purpose="search",
        num_workers=workers,
        kept=False,
        arrivals_s=tuple(START_S + wave * BATCH_S for wave in waves),
        counts=(BATCH_SIZE,) * arrived,
        warm_batches=plan.warm_batches,
        steady_batches=plan.steady_batches,
        total_s=modelled_seconds(workers, arrived),
        epoch_examples=epoch_batches * BATCH_SIZE,
    )


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 4, 7, 8, 16, 100])
def test_a_plan_has_whole_waves_and_enough_of_them(workers: int) -> None:
    """Warm-up and window end where a wave ends, and the window is long enough."""
    plan = wave_plan(workers)

    wave = max(workers, 1)
    assert plan.warm_batches == 2 * wave
    assert plan.steady_batches % wave == 0
    assert plan.steady_batches >= max(STEADY_BATCHES, STEADY_WAVES * wave)
    assert plan.steady_batches - wave < max(STEADY_BATCHES, STEADY_WAVES * wave)


def test_a_plan_for_three_workers_rounds_eight_batches_up_to_nine() -> None:
    """One wave was asked for; three are needed for enough batches."""
    plan = wave_plan(3, 1)

    assert (plan.warm_batches, plan.steady_batches, plan.tail_batches) == (6, 9, 3)
    assert plan.total == 18


def test_a_plan_reads_one_wave_beyond_its_window_where_workers_run_ahead() -> None:
    """The tail has a batch a worker, and there is none without workers."""
    assert wave_plan(5).tail_batches == 5
    assert wave_plan(0).tail_batches == 0


@pytest.mark.parametrize("workers", [0, 1, 3, 8])
def test_the_steady_rate_is_that_of_workers_at_work(workers: int) -> None:
    """Neither the start of the workers nor the end of the pass is in it."""
    reading = modelled_reading(workers)

    assert steady_rate(reading) == pytest.approx(max(workers, 1) * BATCH_SIZE / BATCH_S)


def test_the_steady_rate_counts_examples_and_not_batches() -> None:
    """Batches of unequal size count by what is in them."""
    reading = modelled_reading(0)
    counts = (BATCH_SIZE, BATCH_SIZE, *(20,) * (len(reading.counts) - 2))

    rate = steady_rate(replace(reading, counts=counts))

    assert rate == pytest.approx(20 / BATCH_S)


def test_a_pass_that_ended_early_is_judged_by_its_whole_waves() -> None:
    """A wave that was cut off would read as too fast or too slow."""
    reading = modelled_reading(4, batches=8 + 9)

    assert steady_rate(reading) == pytest.approx(4 * BATCH_SIZE / BATCH_S)


def test_a_pass_that_ended_within_the_warm_up_reads_too_slow_rather_than_too_fast() -> (
    None
):
    """What there is, start included, is all that the rate can be taken from."""
    reading = modelled_reading(4, batches=8)

    assert steady_rate(reading) == pytest.approx(80 / (START_S + 2 * BATCH_S))
    assert epoch_rate(reading) < 10_000 / modelled_seconds(4, 1000)


def test_a_pass_with_less_than_a_wave_after_its_warm_up_uses_the_batches_it_has() -> (
    None
):
    """Two of four batches of the third wave came half a second after the second."""
    reading = modelled_reading(4, batches=10)

    assert steady_rate(reading) == pytest.approx(2 * BATCH_SIZE / BATCH_S)


@pytest.mark.parametrize("workers", [0, 1, 3, 8])
def test_the_epoch_rate_of_a_long_epoch_is_what_that_epoch_takes(workers: int) -> None:
    """A pass of a few waves foretells an epoch of many, start and end included."""
    batches = 240  # whole waves for each of these numbers of workers
    reading = modelled_reading(workers, epoch_batches=batches)

    expected = batches * BATCH_SIZE / modelled_seconds(workers, batches)
    assert epoch_rate(reading) == pytest.approx(expected)


def test_the_epoch_rate_can_be_asked_for_another_length() -> None:
    """What is given stands before what the reading names."""
    reading = modelled_reading(4, epoch_batches=100)

    expected = 4000 / modelled_seconds(4, 400)
    assert epoch_rate(reading, 4000) == pytest.approx(expected)


def test_a_whole_epoch_is_measured_and_not_modelled() -> None:
    """Its rate is its examples by its seconds, however its batches came."""
    reading = modelled_reading(4, epoch_batches=wave_plan(4).total)

    stretched = replace(reading, total_s=50.0)

    assert epoch_rate(stretched) == wave_plan(4).total * BATCH_SIZE / 50.0


@pytest.mark.parametrize(("workers", "batches"), [(4, 5), (4, 8), (8, 3), (0, 2)])
def test_an_epoch_shorter_than_the_warm_up_ends_with_its_own_last_batch(
    workers: int, batches: int
) -> None:
    """It is over before a steady rate exists, and takes as long as its waves."""
    reading = modelled_reading(workers, epoch_batches=batches)

    expected = batches * BATCH_SIZE / modelled_seconds(workers, batches)
    assert epoch_rate(reading) == pytest.approx(expected)


def test_an_epoch_that_ends_within_a_batch_takes_its_part_of_that_batch() -> None:
    """A last batch of 4 examples in place of 10 is read as 0.4 of its time."""
    reading = modelled_reading(0)

    seconds = 14 / epoch_rate(reading, 14)

    assert seconds == pytest.approx(START_S + 1.4 * BATCH_S + END_S)


def test_an_epoch_within_the_first_batch_takes_as_long_as_that_batch() -> None:
    """How much of the first batch was start-up cannot be told."""
    reading = modelled_reading(4)

    assert 3 / epoch_rate(reading, 3) == pytest.approx(START_S + BATCH_S + END_S)


@given(workers=st.integers(0, 9), shorter=st.integers(1, 600), more=st.integers(0, 600))
def test_a_longer_epoch_never_takes_less_time(
    workers: int, shorter: int, more: int
) -> None:
    """The ways of working an epoch out agree where one follows the other."""
    reading = modelled_reading(workers)

    short_s = shorter / epoch_rate(reading, shorter)
    long_s = (shorter + more) / epoch_rate(reading, shorter + more)

    assert long_s >= short_s - 1e-9


def test_a_reading_without_a_batch_has_no_rate_and_no_waits() -> None:
    """Nothing came, so nothing a second; what was not seen is None."""
    reading = modelled_reading(2, batches=0)

    assert steady_rate(reading) == 0.0
    assert epoch_rate(reading) == 0.0
    assert first_batch_s(reading) is None
    assert wait_percentiles(reading) is None


def test_batches_that_come_within_a_clock_tick_still_have_a_finite_rate() -> None:
    """A dataset that does nothing may be faster than the clock can tell."""
    reading = modelled_reading(0)
    instant = replace(
        reading,
        arrivals_s=(0.0,) * len(reading.counts),
        total_s=0.0,
        epoch_examples=100,
    )

    assert math.isfinite(steady_rate(instant))
    assert math.isfinite(epoch_rate(instant))


def test_the_first_batch_waits_for_the_start_of_the_workers() -> None:
    """It is read from the call of iter() on."""
    assert first_batch_s(modelled_reading(4)) == START_S + BATCH_S


def test_waits_without_workers_are_the_time_of_a_batch() -> None:
    """Each batch is waited for alike; the start-up lies outside the window."""
    waits = wait_percentiles(modelled_reading(0))

    assert waits is not None
    assert waits.to_dict() == pytest.approx(
        {"p50_s": BATCH_S, "p99_s": BATCH_S, "max_s": BATCH_S}
    )


def test_waits_with_workers_come_in_waves() -> None:
    """Of four batches of a wave, one is waited for and three are there already."""
    waits = wait_percentiles(modelled_reading(4))

    assert waits is not None
    assert waits.p50_s == 0.0
    assert waits.max_s == pytest.approx(BATCH_S)


def test_a_percentile_lies_between_its_neighbours() -> None:
    """Of gaps of 1 to 101 seconds, the 99th of 100 parts is at 100."""
    arrivals = [0.0, 0.0]
    for gap in range(1, 102):
        arrivals.append(arrivals[-1] + gap)
    reading = replace(
        modelled_reading(0),
        arrivals_s=tuple(arrivals),
        counts=(1,) * len(arrivals),
        steady_batches=101,
    )

    waits = wait_percentiles(reading)

    assert waits is not None
    assert (waits.p50_s, waits.p99_s, waits.max_s) == (51.0, 100.0, 101.0)


def epochs_of(
    workers: int, batches: int, epochs: int, *, kept: bool = False
) -> Reading:
    """Return a reading of whole epochs; kept workers need no start."""
    wave = max(workers, 1)
    start_s = 0.0 if kept else START_S
    length_s = start_s + math.ceil(batches / wave) * BATCH_S + END_S
    arrivals = tuple(
        epoch * length_s + start_s + (place // wave + 1) * BATCH_S
        for epoch in range(epochs)
        for place in range(batches)
    )
    return replace(
        modelled_reading(workers),
        kept=kept,
        arrivals_s=arrivals,
        counts=(BATCH_SIZE,) * (batches * epochs),
        total_s=epochs * length_s,
        epoch_examples=batches * BATCH_SIZE,
        epoch_ends_s=tuple(length_s * (epoch + 1) for epoch in range(epochs)),
    )


@pytest.mark.parametrize("epochs", [1, 2, 7])
@pytest.mark.parametrize(("workers", "batches"), [(0, 3), (4, 3), (4, 30)])
def test_the_rate_of_whole_epochs_is_their_examples_by_their_seconds(
    workers: int, batches: int, epochs: int
) -> None:
    """Start and end of each epoch included, and no model."""
    reading = epochs_of(workers, batches, epochs)

    expected = batches * BATCH_SIZE / modelled_seconds(workers, batches)
    assert epoch_rate(reading) == pytest.approx(expected)
    assert end_s(reading) == pytest.approx(END_S)


def test_each_of_several_epochs_has_a_steady_window() -> None:
    """Starts and ends between them are in none."""
    reading = epochs_of(4, 30, 5)

    assert has_steady_window(reading)
    assert steady_rate(reading) == pytest.approx(4 * BATCH_SIZE / BATCH_S)
    assert steady_window_s(reading) == pytest.approx(5 * 4 * BATCH_S)


def test_epochs_too_short_for_a_window_have_no_steady_rate_of_their_own() -> None:
    """All that can be told is what an epoch takes up to its last batch."""
    reading = epochs_of(4, 3, 5)

    assert not has_steady_window(reading)
    assert steady_rate(reading) == pytest.approx(30 / (START_S + BATCH_S))


def test_the_waits_of_short_epochs_hold_the_wait_for_the_first_batch() -> None:
    """That is how the training waits in each of them."""
    waits = wait_percentiles(epochs_of(4, 3, 5))

    assert waits is not None
    assert waits.max_s == pytest.approx(START_S + BATCH_S)


def test_warm_up_and_end_are_told_apart_from_the_steady_window() -> None:
    """Start and two waves; and what follows the last batch."""
    reading = modelled_reading(4)

    assert warm_s(reading) == pytest.approx(START_S + 2 * BATCH_S)
    assert end_s(reading) == pytest.approx(END_S)


def test_a_pass_that_ended_before_has_no_warm_up_to_tell_of() -> None:
    """Neither has one without a batch an end."""
    assert warm_s(modelled_reading(4, batches=3)) is None
    assert end_s(modelled_reading(4, batches=0)) is None


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("workers", "batches"), [(0, 300), (3, 300), (4, 4000)])
def test_a_part_of_an_epoch_and_several_whole_ones_say_the_same(
    workers: int, batches: int, kept: bool
) -> None:
    """The model and the real thing agree where workers are as steady as here."""
    whole = epochs_of(workers, batches, 2, kept=kept)
    part = replace(
        whole,
        arrivals_s=whole.arrivals_s[: wave_plan(workers).total],
        counts=whole.counts[: wave_plan(workers).total],
        epoch_ends_s=(),
        total_s=whole.arrivals_s[wave_plan(workers).total - 1] + END_S,
    )

    assert epoch_rate(part) == pytest.approx(epoch_rate(whole))


def test_a_window_without_an_example_has_no_rate() -> None:
    """A collate_fn that drops all of them, say: an epoch would never end."""
    reading = modelled_reading(2)
    counts = tuple(
        0 if place >= reading.warm_batches else BATCH_SIZE
        for place in range(len(reading.counts))
    )

    assert epoch_rate(replace(reading, counts=counts)) == 0.0


def test_gaps_are_all_waits_of_the_steady_window_the_shortest_first() -> None:
    """Of four workers three in four are nothing; without a batch there are none."""
    gaps = gaps_s(modelled_reading(4))

    waits = wait_percentiles(modelled_reading(4))
    assert waits is not None
    assert list(gaps) == sorted(gaps)
    assert gaps[-1] == waits.max_s
    assert sum(gap == 0.0 for gap in gaps) * 4 == len(gaps) * 3
    assert gaps_s(modelled_reading(2, batches=0)) == ()
