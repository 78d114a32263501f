"""State what pinned memory was seen to do: rates with and without it, and the copies.

Pure: readings in, plain values out. Rates here are of loops that move batches, or run
the training step; those of loaders alone stand in other sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval
from autoloader.measure.transfer import transfer_shares
from autoloader.search.pin_gain import gain_of
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.transfer import PinReadings, TransferReading


def pin_section(readings: PinReadings) -> dict[str, Any]:
    """Return the section `pinning`."""
    gain = gain_of(readings)
    known = readings.plain or readings.pinned
    return {
        "kept": gain.is_seen,
        "by": readings.by,
        "gain": None if gain.ratio is None else gain.ratio.to_dict(),
        "rounds": len(readings.plain_rates),
        "dataloader": readings.config.dataloader_kwargs(),
        "device": None if known is None else known.device,
        "name": None if known is None else known.name,
        "batch_bytes": None if known is None else known.batch_bytes,
        "unpinned": _loop(readings.plain_rates, readings.plain),
        "pinned": _loop(readings.pinned_rates, readings.pinned),
        "not_shown": None if known is None else known.untimed,
        "failed": readings.failed,
    }


def _loop(
    rates: Sequence[float | None], reading: TransferReading | None
) -> dict[str, Any]:
    """Return what loops with pinning, or without, showed."""
    read = [rate for rate in rates if rate is not None]
    interval = Interval.of(read, error=1 - CONFIDENCE).to_dict() if read else None
    told: dict[str, Any] = {"loop_rate": interval}
    if reading is None:
        return told
    shares = transfer_shares(reading)
    return {
        **told,
        "transfer_s": None if shares is None else shares.transfer_s,
        "stood_s": None if shares is None else shares.stood_s,
        "hidden_share": None if shares is None else shares.hidden_share,
        "bytes_per_s": None if shares is None else shares.bytes_per_s,
        "tensors": reading.tensors,
        "tensors_pinned": reading.pinned,
        "pinned_bytes": reading.pinned_bytes,
        "accelerator_bytes": reading.accelerator_bytes,
        "seen": None if reading.loop.device is None else reading.loop.device.to_dict(),
    }
