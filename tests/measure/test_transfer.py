"""Of copies to the accelerator: how long they take, and what of it is hidden."""

from dataclasses import replace

import pytest

from autoloader.measure.transfer import transfer_shares
from tests.transfers import a_transfer


def test_what_the_loop_does_not_stand_for_is_hidden() -> None:
    """By two clocks: the device's, and the loop's."""
    found = transfer_shares(a_transfer(transfer_s=0.010, stood_s=0.001))

    assert found is not None
    assert found.transfer_s == pytest.approx(0.010)
    assert found.stood_s == pytest.approx(0.001)
    assert found.hidden_share == pytest.approx(0.9)
    assert found.bytes_per_s == pytest.approx(4e9)


@pytest.mark.parametrize("stood_s", [0.010, 0.013])
def test_a_copy_that_is_waited_for_hides_nothing(stood_s: float) -> None:
    """Unpinned memory is copied before the call returns, however it is asked for."""
    found = transfer_shares(a_transfer(transfer_s=0.010, stood_s=stood_s))

    assert found is not None
    assert found.hidden_share == pytest.approx(0.0)


def test_batches_of_the_warm_up_do_not_count() -> None:
    """The first ones wait for a context, and for memory to be pinned."""
    reading = a_transfer()
    slow = (1.0,) * reading.loop.warm_batches
    rest = (0.010,) * (len(reading.loop.came_s) - len(slow))

    found = transfer_shares(replace(reading, transfer_s=slow + rest))

    assert found is not None
    assert found.transfer_s == pytest.approx(0.010)
    assert found.hidden_share == pytest.approx(0.9)


@pytest.mark.parametrize("transfer_s", [None, 0.0])
def test_what_the_device_does_not_tell_is_not_worked_out(
    transfer_s: float | None,
) -> None:
    """A clock that stands tells as little as none."""
    assert transfer_shares(a_transfer(transfer_s=transfer_s)) is None


def test_each_batch_is_copied_once() -> None:
    """Another number of copies belongs to another reading."""
    reading = a_transfer()

    with pytest.raises(
        ValueError, match=r"^each batch of a transfer reading is copied once$"
    ):
        replace(reading, transfer_s=(0.01,))
