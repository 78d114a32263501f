"""What a target takes of a node, laid out for people.

Pure: needs and the file's machine in, something that rich can draw out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.report.table import labelled
from autoloader.units import format_bytes, format_rate
from autoloader.values.decode import value_of
from autoloader.values.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from rich.console import RenderableType

    from autoloader.measure.needs import Needs

UNTOLD = "not measured"


def draw(needs: Needs, machine: Mapping[str, Any]) -> RenderableType:
    """Return what a target takes, one line each, then what is taken for granted.

    Args:
        needs: of the target.
        machine: section of the file: where the amounts were measured.
    """
    measured_on = value_of(Machine, machine, place="machine")
    lines = labelled(
        (Text(label, style="label"), Text(clean(said)))
        for label, said in needs_words(needs, measured_on)
    )
    assumed = labelled(
        (Text("assumed", style="label"), Text(clean(said)))
        for said in needs.assumptions
    )
    return Group(lines, Text(""), assumed)


def needs_words(needs: Needs, machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield what a target takes, each amount with its label."""
    cores = math.ceil(round(needs.cores, 3))
    workers, in_flight = needs.workers_per_rank, needs.in_flight_per_rank
    yield "target", _target(needs)
    if not needs.is_within_a_rank:
        said = "one training process cannot take over its part, with any workers"
        yield "caution", f"{said}: at least {needs.least_ranks} ranks are needed"
    said = f"{needs.cores:.2f} always busy; the file's machine has"
    yield "cores", f"{cores:,} ({said} {machine.effective_cpus:g})"
    yield "workers", f"{workers:,} a rank, {in_flight:,} batches in flight"
    yield "storage", _per_second(needs.read_bytes_per_s)
    yield "delivered", _per_second(needs.delivered_bytes_per_s)
    yield "memory", _bytes(needs.memory_bytes)
    yield "shared memory", _bytes(needs.shm_bytes)
    yield "measured on", machine.key


def _target(needs: Needs) -> str:
    said = f"{format_rate(needs.examples_per_s)} examples/s"
    if needs.ranks == 1:
        return said
    each = format_rate(needs.examples_per_s / needs.ranks)
    return f"{said} by {needs.ranks} ranks, {each} each"


def _per_second(amount: float | None) -> str:
    return UNTOLD if amount is None else f"{format_bytes(amount)}/s"


def _bytes(amount: float | None) -> str:
    return UNTOLD if amount is None else format_bytes(amount)
