"""Wait and compute are the whole loop, and overlap is what is hidden of the shorter."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoloader.measure.stepping import (
    computes_s,
    loop_rate,
    loop_shares,
    overlap,
    wait_shares,
    waits_s,
)
from autoloader.values.step import StepReading


def reading(waits: list[float], computes: list[float], *, warm: int = 0) -> StepReading:
    """Return the reading of a loop that waits and computes so long, 8 a batch."""
    came: list[float] = []
    done: list[float] = []
    now = 0.0
    for wait, compute in zip(waits, computes, strict=True):
        came.append(now := now + wait)
        done.append(now := now + compute)
    return StepReading(
        num_workers=2,
        came_s=tuple(came),
        done_s=tuple(done),
        counts=(8,) * len(waits),
        warm_batches=warm,
        steady_batches=len(waits) - warm,
        total_s=now,
        epoch_examples=None,
        has_device=False,
    )


def test_the_start_is_left_out_of_the_shares() -> None:
    """The first batch waits for workers."""
    found = loop_shares(reading([5.0, 0.1, 0.1], [3.0, 0.3, 0.3], warm=1))

    assert found is not None
    assert found.wait_share == pytest.approx(0.25)
    assert found.steps_per_s == pytest.approx(2.5)
    assert found.examples_per_s == pytest.approx(20.0)
    assert (found.wait_s, found.compute_s) == pytest.approx((0.1, 0.3))


def test_a_loop_that_ended_in_its_warm_up_has_no_shares() -> None:
    """Nothing is told of what was not seen."""
    found = reading([0.1], [0.1], warm=1)

    assert loop_shares(found) is None
    assert loop_rate(found) is None


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=50))
def test_wait_and_compute_are_the_whole_loop(parts: list[tuple[float, float]]) -> None:
    """Nothing lies between them."""
    found = reading([wait for wait, _ in parts], [compute for _, compute in parts])

    assert sum(waits_s(found)) + sum(computes_s(found)) == pytest.approx(found.total_s)


def test_a_long_epoch_goes_on_at_the_steady_rate() -> None:
    """2 s to the first step's end, 99 more at 0.4 s, 1 s to shut workers down."""
    short = reading([1.5, 0.1, 0.1], [0.5, 0.3, 0.3], warm=1)
    found = replace(short, epoch_examples=800, total_s=short.total_s + 1.0)

    assert loop_rate(found) == pytest.approx(800 / (2.0 + 99 * 0.4 + 1.0))


def test_an_epoch_that_was_read_ends_with_its_last_step() -> None:
    """16 examples are two steps: 2.4 s, and 1 s to shut workers down."""
    short = reading([1.5, 0.1, 0.1], [0.5, 0.3, 0.3], warm=1)
    found = replace(short, epoch_examples=16, total_s=short.total_s + 1.0)

    assert loop_rate(found) == pytest.approx(16 / 3.4)


def test_without_the_length_of_an_epoch_the_steady_rate_counts() -> None:
    """As with loaders."""
    found = loop_rate(reading([5.0, 0.1, 0.1], [3.0, 0.3, 0.3], warm=1))

    assert found == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("loop_s", "share", "is_seen"),
    [(0.5, 0.0, False), (0.3, 1.0, True), (0.4, 0.5, True), (0.6, 0.0, False),
     (0.2, 1.0, True)],
)  # fmt: skip
def test_overlap_is_what_is_hidden_of_the_shorter(
    loop_s: float, share: float, is_seen: bool
) -> None:
    """Loading takes 0.3 s here, computing 0.2 s; noise does not lead beyond 0 and 1."""
    found = overlap(load_s=0.3, compute_s=0.2, loop_s=loop_s)

    assert found is not None
    assert found.share == pytest.approx(share)
    assert found.is_seen is is_seen


def test_a_step_that_takes_no_time_has_nothing_to_overlap() -> None:
    """Nor has a loader that takes none."""
    assert overlap(load_s=0.3, compute_s=0.0, loop_s=0.3) is None


def test_a_batch_that_was_never_done_is_no_reading() -> None:
    """Moments belong together."""
    sentence = "each batch of a step reading comes once and is done once"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        replace(reading([0.1], [0.1]), done_s=())


def test_waits_are_told_by_parts_of_whole_waves() -> None:
    """Two workers bring two batches at once: no wave is cut, and four parts at most."""
    found = reading([9.0, 0.3, 0.0, 0.3, 0.0, 0.1], [0.1] * 6, warm=1)

    assert wait_shares(found) == pytest.approx((0.6, 0.571428), rel=1e-3)
    assert len(wait_shares(reading([0.1] * 20, [0.1] * 20))) == 4
    assert wait_shares(reading([0.1], [0.1], warm=1)) == ()
