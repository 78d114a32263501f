"""How long batches are under way to the accelerator, and how much of it is hidden.

Pure functions of transfer readings. Hidden is what the loop did not stand for: by the
device's clock on one side, by the loop's on the other, never by what a flag promises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.measure.intervals import median
from autoloader.measure.stepping import computes_s, steady_places
from autoloader.measure.throughput import CLOCK_TICK_S

if TYPE_CHECKING:
    from autoloader.values.transfer import TransferReading


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferShares:
    """What the steady part of a loop that moves batches shows of its copies."""

    transfer_s: float
    """Median seconds of a copy, by the device's clock."""
    stood_s: float
    """Median seconds that the loop stood for one: for asking, and for a place."""
    hidden_share: float
    """Part of the copies' time (0-1) that the loop did not stand for."""
    bytes_per_s: float
    """Bytes that the median copy moved in a second."""


def transfer_shares(reading: TransferReading) -> TransferShares | None:
    """Return what copies took; None where the device does not tell."""
    if reading.transfer_s is None:
        return None
    begin, end = steady_places(reading.loop)
    copies, stood = reading.transfer_s[begin:end], computes_s(reading.loop)[begin:end]
    whole_s = sum(copies)
    if whole_s <= CLOCK_TICK_S:
        return None
    return TransferShares(
        transfer_s=median(copies),
        stood_s=median(stood),
        hidden_share=min(1.0, max(0.0, 1 - sum(stood) / whole_s)),
        bytes_per_s=reading.batch_bytes / max(median(copies), CLOCK_TICK_S),
    )
