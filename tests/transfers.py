"""Readings of batches on their way to an accelerator, without one."""

from itertools import accumulate

from autoloader.values.config import LoaderConfig
from autoloader.values.step import StepReading
from autoloader.values.transfer import PinReadings, TransferReading


def a_transfer(
    *,
    transfer_s: float | None = 0.010,
    stood_s: float = 0.001,
    wait_s: float = 0.004,
    batches: int = 12,
    is_pinned: bool = True,
    untimed: str | None = None,
) -> TransferReading:
    """Return a reading of equal batches of 64 examples and 40 MB."""
    steps = [wait_s, stood_s] * batches
    moments = list(accumulate(steps))
    loop = StepReading(
        num_workers=2,
        came_s=tuple(moments[::2]),
        done_s=tuple(moments[1::2]),
        counts=(64,) * batches,
        warm_batches=4,
        steady_batches=batches - 4,
        total_s=moments[-1],
        epoch_examples=None,
        has_device=True,
    )
    return TransferReading(
        loop=loop,
        transfer_s=None if transfer_s is None else (transfer_s,) * batches,
        untimed=untimed,
        batch_bytes=40_000_000,
        device="cuda",
        name="A GPU",
        tensors=2,
        pinned=2 if is_pinned else 0,
        pinned_bytes=2**27 if is_pinned else None,
        accelerator_bytes=80_000_000,
    )


def pin_readings(
    plain: tuple[float | None, ...],
    pinned: tuple[float | None, ...],
    *,
    failed: str | None = None,
) -> PinReadings:
    """Return what rounds with these rates said."""
    return PinReadings(
        config=LoaderConfig.canonical(num_workers=2, batch_size=64),
        by="transfer",
        plain_rates=plain,
        pinned_rates=pinned,
        plain=a_transfer(transfer_s=0.020, stood_s=0.020, is_pinned=False),
        pinned=a_transfer(),
        failed=failed,
    )
