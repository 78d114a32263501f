"""Pinned memory is kept where a gain was seen, and only there."""

import math
from dataclasses import replace

import numpy as np
import pytest

from autoloader.search.pin_gain import LEAST_GAIN, LOOKS, gain_of, is_settled
from tests.transfers import pin_readings


def noisy(rate: float, rounds: int, seed: int, sd: float = 0.04) -> tuple[float, ...]:
    """Return rates that scatter."""
    draw = np.random.default_rng(seed)
    return tuple(rate * math.exp(draw.normal(0, sd)) for _ in range(rounds))


def test_a_gain_that_every_round_shows_is_seen() -> None:
    """It is told by its ratio, with ends."""
    found = gain_of(pin_readings((1000, 1010, 990, 1000), (1400, 1390, 1410, 1400)))

    assert found.is_seen
    assert found.ratio is not None
    assert found.ratio.median == pytest.approx(1.4, rel=0.01)
    assert found.ratio.low is not None
    assert found.ratio.low > 1.3


@pytest.mark.parametrize(
    ("plain", "pinned"),
    [
        ((1000, 1000, 1000, 1000), (1001, 1001, 1001, 1001)),  # too small to count
        ((1000, 1000, 1000, 1000), (900, 910, 900, 890)),
        ((1000, 1000, 1000, 1000), (1500, 700, 1400, 800)),
        ((1000,), (2000,)),  # one round shows no scatter
        ((None,), (2000,)),
        ((), ()),
    ],
)
def test_what_is_not_seen_is_not_kept(
    plain: tuple[float | None, ...], pinned: tuple[float | None, ...]
) -> None:
    """Neither a loss, nor what scatters, nor what no two rounds show."""
    assert not gain_of(pin_readings(plain, pinned)).is_seen


def test_without_a_round_of_both_there_is_no_ratio() -> None:
    """A pass failed."""
    assert gain_of(pin_readings((1000, None), (None, 1000))).ratio is None


def test_equal_loops_are_rarely_called_faster() -> None:
    """In less than the stated share of a thousand replayed decisions."""
    wrong = sum(
        gain_of(
            pin_readings(
                noisy(1000, LOOKS[-1], seed), noisy(1000, LOOKS[-1], seed + 10_000)
            )
        ).is_seen
        for seed in range(1000)
    )

    assert wrong <= 50


def test_a_true_gain_of_a_fifth_is_found() -> None:
    """In all but a few of two hundred replayed decisions."""
    found = sum(
        gain_of(
            pin_readings(
                noisy(1000, LOOKS[-1], seed), noisy(1200, LOOKS[-1], seed + 10_000)
            )
        ).is_seen
        for seed in range(200)
    )

    assert found >= 195


@pytest.mark.parametrize(
    ("ratio", "spread", "settled"),
    [(0.3, 0.01, True), (-0.1, 0.01, True), (0.0, 0.001, True), (0.02, 0.1, False)],
)
def test_rounds_end_where_more_would_not_change_it(
    ratio: float, spread: float, settled: bool
) -> None:
    """A gain is seen, or there is none that counts."""
    ratios = [ratio - spread, ratio + spread, ratio - spread, ratio + spread]

    assert is_settled(ratios) is settled
    assert pytest.approx(math.log(1.03)) == LEAST_GAIN


def test_a_gain_without_pinned_batches_is_none_of_pinning() -> None:
    """The flag did nothing, and the rounds differ for another reason."""
    found = pin_readings((1000, 1010, 990, 1000), (1400, 1390, 1410, 1400))
    assert found.pinned is not None

    unpinned = replace(found, pinned=replace(found.pinned, pinned=0))
    failed = replace(found, failed="a pass failed: a worker was killed")

    assert not gain_of(unpinned).is_seen
    assert not gain_of(failed).is_seen
