"""What an accelerator's driver told of it while a loop ran: raw, as a frozen value.

What of it is worth a caution is said in `measure.device_doubts`.
"""

from dataclasses import dataclass

from autoloader.values.decode import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSeen(Stored):
    """One accelerator, looked at now and then. None: the driver does not tell."""

    name: str
    """Product name."""
    uuid: str | None
    """What tells it from all others."""
    looks: int
    """Times that it was looked at."""
    utilisation: float | None
    """Mean part of the time (0-1) in which any of its cores worked."""
    clock_mhz: float | None
    """Mean clock of its cores."""
    most_clock_mhz: int | None
    """Highest clock that they can have."""
    slowed_by: tuple[str, ...]
    """What held its clocks back at one look or more, in words."""
    link_generation: int | None
    """Highest generation of its PCI Express link that was seen: at rest it is lower."""
    most_link_generation: int | None
    """Generation that device and board can have."""
    link_width: int | None
    """Most lanes that its link was seen with."""
    most_link_width: int | None
    """Lanes that device and board can have."""
    other_processes: int | None
    """Processes that used it before the pass began; None: not told."""
