"""What each knob does by itself, as rows: one setting changed, the rest as chosen.

Pure: sections of a recommendation in, values and words out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval
from autoloader.report import sentences
from autoloader.search.selection import knob_between
from autoloader.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome

MOST_NEIGHBOURS = 2
"""Values of a knob that are told on either side of the chosen one, the nearest."""

_NAMES = {
    "num_workers": "workers",
    "prefetch_factor": "prefetch",
    "pin_memory": "pinned",
    "persistent_workers": "kept",
    "batch_size": "batch",
}
"""Settings as configs are told by, in the order of the file."""

_OF_WORKERS = {"prefetch_factor", "persistent_workers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobRow:
    """One value of one knob, against the chosen one."""

    knob: str
    """Setting, under PyTorch's name."""
    said: str
    """What is another: `workers 3`, `kept no`; of a knob without another value its
    name."""
    ratio: Interval | None
    """Rate as a multiple of the chosen config's; None: it has none."""
    memory_bytes: int | None
    """Memory, less the chosen config's; None: not known."""
    note: str = ""
    """Why there is no rate; empty: there is one."""


def knob_rows(
    knobs: Mapping[str, Sequence[Mapping[str, Any]]],
    space: Mapping[str, Any],
    chosen: LoaderConfig,
    failed: Iterable[Outcome] = (),
) -> tuple[KnobRow, ...]:
    """Return what each knob does: its neighbours that were read, and that were not.

    Args:
        knobs: section of a recommendation.
        space: what could be tried, as `study` of a recommendation has it.
        chosen: whose knobs they are.
        failed: trials without a speed.
    """
    fates = _fates(failed, chosen)
    return tuple(
        row
        for knob in _NAMES
        for row in _rows(
            knob, knobs.get(knob) or (), space.get(knob) or (), chosen, fates
        )
    )


def value_words(value: object) -> str:
    """Return a setting in words: yes, no, none, or as it stands."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _rows(
    knob: str,
    effects: Sequence[Mapping[str, Any]],
    allowed: Sequence[Any],
    chosen: LoaderConfig,
    fates: Mapping[tuple[str, Any], str],
) -> Iterator[KnobRow]:
    name, own = _NAMES[knob], getattr(chosen, knob)
    if knob in _OF_WORKERS and not chosen.num_workers:
        yield _untold(knob, name, "nothing without workers")
        return
    values = _values(knob, allowed)
    read = {item["value"]: item for item in effects}
    others = _near([*values, *(value for value in read if value not in values)], own)
    if not others:
        yield _untold(knob, name, f"fixed: {value_words(own)}")
    for value in others:
        said = f"{name} {value_words(value)}"
        effect = read.get(value)
        if effect is None:
            yield _untold(knob, said, fates.get((knob, value), "not tried"))
        else:
            yield _told(knob, said, effect)


def _fates(
    failed: Iterable[Outcome], chosen: LoaderConfig
) -> dict[tuple[str, Any], str]:
    """Return what became of neighbours without a speed, by knob and value."""
    return {
        (knob, getattr(item.config, knob)): sentences.FATES[item.status]
        for item in failed
        if (knob := knob_between(chosen, item.config)) is not None
    }


def _values(knob: str, allowed: Sequence[Any]) -> list[Any]:
    """Return all values that a knob may have."""
    if knob == "num_workers" and len(allowed) == 2:
        return list(range(allowed[0], allowed[1] + 1))
    return list(allowed)


def _near(values: Sequence[Any], own: Any) -> list[Any]:
    """Return the values around the chosen one, in ascending order, without it."""
    ordered = sorted(
        {value for value in values if value != own and value is not None},
    )
    if own is None:
        return ordered[:MOST_NEIGHBOURS]
    below = [value for value in ordered if value < own]
    above = [value for value in ordered if value > own]
    return [*below[-MOST_NEIGHBOURS:], *above[:MOST_NEIGHBOURS]]


def _untold(knob: str, said: str, note: str) -> KnobRow:
    return KnobRow(knob=knob, said=said, ratio=None, memory_bytes=None, note=note)


def _told(knob: str, said: str, effect: Mapping[str, Any]) -> KnobRow:
    return KnobRow(
        knob=knob,
        said=said,
        ratio=Interval(
            median=effect["rate_ratio"],
            low=effect.get("low"),
            high=effect.get("high"),
        ),
        memory_bytes=effect["memory_bytes"],
    )


def signed_bytes(size: float | None) -> str:
    """Return a difference of memory with its sign; empty where it is not known."""
    if size is None:
        return ""
    sign = "+" if size > 0 else "\u2212" if size < 0 else ""
    return f"{sign}{format_bytes(abs(size))}"
