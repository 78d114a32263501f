"""What is said of a training that was watched.

Pure: a value in, lines out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoloader.measure.stepping import WAIT_SHARE
from autoloader.units import counted, format_percent, format_rate, format_seconds

if TYPE_CHECKING:
    from autoloader.measure.consumption import Consumption


def lines_of(found: Consumption) -> list[str]:
    """Return how long the training waited, what it takes, and the flag that asks it."""
    epochs = counted(found.epochs, "epoch")
    examples = "" if found.examples is None else f", {found.examples:,} examples"
    whole = format_seconds(found.wait_s + found.compute_s)
    lines = [
        f"autoloader: {found.batches:,} batches{examples} of {epochs} in {whole}: "
        f"{format_percent(found.wait_share)} of the time the training waited for data"
    ]
    if found.examples is None:
        lines.append(
            f"without waiting it takes {format_rate(found.batches_per_s)} batches/s; "
            "how many examples they bring is not known"
        )
    rate, target = found.examples_per_s, found.target_examples_per_s
    if rate is None or target is None:
        return lines
    how = " (batches times batch_size)" if found.is_estimated else ""
    ranks = "" if found.ranks == 1 else f" --ranks {found.ranks}"
    each = "" if found.ranks == 1 else f", as do {found.ranks} ranks each"
    lines.append(
        f"without waiting it takes {format_rate(rate)} examples/s{how}{each}; "
        f"with a wait of {format_percent(WAIT_SHARE)}:"
    )
    lines.append(f"autoloader tune --dataset SPEC --target {_plain(target)}{ranks}")
    return lines


def _plain(rate: float) -> str:
    """Return a rate as a flag takes it, with three or more significant digits."""
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"
