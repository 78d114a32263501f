"""Rates of several ranks: their sum, and the slowest of them."""

from dataclasses import replace

import pytest

from autoloader.measure.noise import is_spoiled
from autoloader.measure.rank_rates import rank_rates
from autoloader.measure.throughput import (
    end_s,
    epoch_rate,
    first_batch_s,
    gaps_s,
    ranks_of,
    steady_rate,
    warm_s,
)
from autoloader.values.outcome import Reading


def reading(batch_s: float, *, own_cpu: float = 0.0) -> Reading:
    """Return ten batches of 4, one every `batch_s`, half a second until the end."""
    return Reading(
        purpose="race",
        num_workers=1,
        kept=False,
        arrivals_s=tuple(batch_s * (number + 1) for number in range(10)),
        counts=(4,) * 10,
        warm_batches=2,
        steady_batches=8,
        total_s=10 * batch_s + 0.5,
        epoch_examples=40,
        own_cpu=own_cpu,
    )


FAST, SLOW = reading(0.1, own_cpu=0.5), reading(0.2, own_cpu=0.7)

BOTH = replace(FAST, others=(SLOW,))


def test_rates_add_up() -> None:
    """Of the steady window, and of whole epochs, each rank by its own length."""
    assert steady_rate(BOTH) == pytest.approx(40 + 20)
    assert epoch_rate(BOTH) == pytest.approx(40 / 1.5 + 40 / 2.5)
    each = epoch_rate(FAST, 60) + epoch_rate(SLOW, 60)
    assert epoch_rate(BOTH, 120) == pytest.approx(each)


def test_what_is_waited_for_once_is_that_of_the_slowest() -> None:
    """First batch, warm-up and end; gaps are those of all."""
    never = replace(SLOW, arrivals_s=(), counts=())

    assert first_batch_s(BOTH) == pytest.approx(0.2)
    assert warm_s(BOTH) == pytest.approx(0.4)
    assert end_s(BOTH) == pytest.approx(0.5)
    assert len(gaps_s(BOTH)) == 16
    assert first_batch_s(replace(FAST, others=(never,))) is None


def test_each_rank_is_a_reading_of_its_own() -> None:
    """One that is alone is what it was."""
    assert ranks_of(BOTH) == (FAST, SLOW)
    assert ranks_of(FAST) == (FAST,)


def test_the_slowest_rank_is_named_with_its_share() -> None:
    """By the medians of all readings."""
    found = rank_rates([BOTH, BOTH, replace(SLOW, others=(FAST,))])

    assert found is not None
    assert found.slowest == 1
    assert found.examples_per_s == pytest.approx((40 / 1.5, 16))
    assert found.slowest_share == pytest.approx(16 / ((40 / 1.5 + 16) / 2))
    assert found.to_dict() == {
        "examples_per_s": list(found.examples_per_s),
        "slowest": 1,
        "slowest_share": found.slowest_share,
    }


def test_one_training_process_has_no_ranks() -> None:
    """Nothing is told of it."""
    assert rank_rates([FAST, SLOW]) is None
    assert rank_rates([]) is None


def test_ranks_without_a_batch_have_no_share() -> None:
    """A share of nothing is none."""
    nothing = replace(FAST, arrivals_s=(), counts=(), total_s=1.0, epoch_examples=None)

    found = rank_rates([replace(nothing, others=(nothing,))])

    assert found is not None
    assert found.slowest_share == 0.0


def test_cpus_that_other_ranks_use_are_not_idle() -> None:
    """Two ranks use 1.2 of 2 CPUs, others 0.7: nothing is left."""
    disturbed = replace(BOTH, foreign_cpu=0.7)

    assert is_spoiled(disturbed, 2)
    assert not is_spoiled(replace(disturbed, others=()), 2)
