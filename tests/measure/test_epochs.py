"""Epochs of one pass are told apart by their ends."""

from autoloader.measure.epochs import epoch_times
from autoloader.values.diagnosis import EpochTimes
from autoloader.values.outcome import Reading


def reading(arrivals: tuple[float, ...], ends: tuple[float, ...]) -> Reading:
    """Return a reading of whole epochs."""
    return Reading(
        purpose="diagnosis",
        num_workers=2,
        kept=False,
        arrivals_s=arrivals,
        counts=(8,) * len(arrivals),
        warm_batches=0,
        steady_batches=1,
        total_s=ends[-1],
        epoch_examples=24,
        epoch_ends_s=ends,
    )


def test_the_first_batch_and_the_later_ones_are_told_apart() -> None:
    """In each epoch by itself."""
    found = epoch_times(reading((1.0, 1.25, 1.5, 2.5, 2.75, 3.0), (2.0, 3.5)))

    assert found == (
        EpochTimes(seconds=2.0, first_s=1.0, later_s=0.25),
        EpochTimes(seconds=1.5, first_s=0.5, later_s=0.25),
    )


def test_an_epoch_of_one_batch_has_no_later_ones() -> None:
    """What was not seen is not told."""
    (found,) = epoch_times(reading((1.0,), (1.5,)))

    assert found.later_s is None


def test_an_epoch_without_a_batch_is_left_out() -> None:
    """A source may be used up by the first."""
    found = epoch_times(reading((1.0, 1.25), (1.5, 1.75)))

    assert len(found) == 1
