"""Say what several ranks reached at once, and which of them is behind.

Words only; the numbers are `measure.rank_rates`'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.units import format_percent, format_rate

if TYPE_CHECKING:
    from collections.abc import Mapping


def rank_words(section: Mapping[str, Any] | None) -> str | None:
    """Return what is said of the ranks; None where there is one training process.

    Args:
        section: as `RankRates.to_dict` returns it; None: there is none.
    """
    if section is None:
        return None
    rates, slowest = section["examples_per_s"], section["slowest"]
    return (
        f"{len(rates)} at once, whose rates and memory add up; the slowest is rank "
        f"{slowest} with {format_rate(rates[slowest])} examples/s, "
        f"{format_percent(section['slowest_share'])} of the mean"
    )
