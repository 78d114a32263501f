"""Say what of an accelerator casts doubt on a reading: heat, a narrow link, others.

Pure: what the driver told in, cautions out. That a device works at its power limit is
how it is built, and no caution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.measure.device_meter import SLOWED_BY
from autoloader.units import counted
from autoloader.values.outcome import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.values.device import DeviceSeen

USUAL = SLOWED_BY[0x4]
"""What holds the clocks of a busy device back as a rule."""


def device_doubts(seen: Iterable[DeviceSeen | None]) -> list[Finding]:
    """Return what is worth knowing of the accelerator that readings were taken on.

    Args:
        seen: what was told during each pass; None: nothing.
    """
    known = [device for device in seen if device is not None]
    if not known:
        return []
    doubts = (_slowed(known), _shared(known), _narrow(known))
    return [found for found in doubts if found is not None]


def _slowed(seen: Sequence[DeviceSeen]) -> Finding | None:
    slowed = [item for item in seen if set(item.slowed_by) - {USUAL}]
    if not slowed:
        return None
    named = dict.fromkeys(
        why for item in slowed for why in item.slowed_by if why != USUAL
    )
    return Finding(
        code="accelerator_slowed",
        count=len(slowed),
        message=f"{slowed[0].name} was slowed by {', '.join(named)} in "
        f"{len(slowed)} of {len(seen)} passes",
        hint="cool it, or look at its power supply: steps take longer than they need",
    )


def _shared(seen: Sequence[DeviceSeen]) -> Finding | None:
    shared = [item for item in seen if item.other_processes]
    if not shared:
        return None
    most = max(item.other_processes or 0 for item in shared)
    others = counted(most, "other process", "other processes")
    return Finding(
        code="accelerator_shared",
        count=most,
        message=f"{others} used {shared[0].name} as well",
        hint="CUDA_VISIBLE_DEVICES names another device",
    )


def _narrow(seen: Sequence[DeviceSeen]) -> Finding | None:
    """Return the caution of a link that was never seen as wide as it can be."""
    link = max(seen, key=lambda item: (item.link_generation or 0, item.link_width or 0))
    generation, width = link.link_generation, link.link_width
    most_generation, most_width = link.most_link_generation, link.most_link_width
    if None in (generation, width, most_generation, most_width):
        return None
    if (generation, width) == (most_generation, most_width):
        return None
    return Finding(
        code="link_narrow",
        count=1,
        message=f"{link.name} was seen on PCI Express {generation} x{width}, of "
        f"{most_generation} x{most_width} that it and its board can have",
        hint="another slot, or the board's settings; copies take longer than they need",
    )
