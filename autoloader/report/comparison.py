"""What changed from one recommendation to another: nights, machines, versions.

Pure: sections of two files in, values and sentences out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval, unpaired_ratio
from autoloader.report.damage import damage_named
from autoloader.report.limit_words import WORDS
from autoloader.search.differences import key_differences
from autoloader.units import format_bytes, format_percent, format_rate
from autoloader.values.decode import value_of
from autoloader.values.target import CONFIDENCE, INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autoloader.search.differences import Difference

SCHEMA = 1

_TO, _TIMES, _ARROW = "\u2013", "\u00d7", "\u2192"

_SETTINGS = (
    "num_workers",
    "prefetch_factor",
    "pin_memory",
    "persistent_workers",
    "batch_size",
)

_PASSING = {
    "machine": ("memory_available_bytes", "shm_free_bytes"),
    "scope": ("excluded", "fields", "measures"),
    "contract": ("fields", "seen"),
}
"""What differs from hour to hour, or is told elsewhere."""

_DATA = ("dataset", "fields.", "scope.", "contract.")
"""Beginnings of what makes two rates those of different data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two recommendations."""

    name: str
    """File, as the user named it."""
    date: str | None
    """When it was found; None: it does not say."""
    met: bool
    """Whether its target was met."""
    asked: str
    """Its target, in words."""
    settings: Mapping[str, Any]
    """Keyword arguments of `DataLoader`."""
    rate: Interval | None
    """Epoch rate of its config; None: not measured."""
    peak_bytes: float | None
    """Memory of all processes; None: not weighed."""
    limit: str | None
    """Name of what limits; None: nothing was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changed from one to the other."""

    before: Side
    after: Side
    speed: Interval | None
    """Rate after, as a multiple of that before; without ends where one of them was read
    once; None: not measured."""
    differences: tuple[Difference, ...]
    """Parts of dataset, target, machine, versions, scope and contract that differ."""
    sentences: tuple[tuple[str, str], ...]
    """What is said, with its label; the most important first."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        return {
            "schema": SCHEMA,
            "before": _side_dict(self.before),
            "after": _side_dict(self.after),
            "speed": None if self.speed is None else self.speed.to_dict(),
            "differences": [
                {"field": item.field, "before": item.old, "after": item.new}
                for item in self.differences
            ],
            "sentences": [
                {"label": label, "said": said} for label, said in self.sentences
            ],
        }


def compare(
    before: tuple[str, Mapping[str, Any]], after: tuple[str, Mapping[str, Any]]
) -> Comparison:
    """Return what changed.

    Args:
        before: name and sections of the first file.
        after: of the second.

    Raises:
        StoredFileError: a section cannot be used; says which of which file.
    """
    sides = (_side(*before), _side(*after))
    speed = _speed(before, after)
    differences = key_differences(_surroundings(*before), _surroundings(*after))
    return Comparison(
        before=sides[0],
        after=sides[1],
        speed=speed,
        differences=differences,
        sentences=tuple(_sentences(*sides, speed, differences)),
    )


def setting_rows(found: Comparison) -> tuple[tuple[str, str, str], ...]:
    """Return each setting with its value before and after."""
    return tuple(
        (name, _value(found.before.settings, name), _value(found.after.settings, name))
        for name in _SETTINGS
    )


def date_words(side: Side) -> str:
    """Return when a recommendation was found, to the minute; empty: not told."""
    return "" if side.date is None else str(side.date)[:16].replace("T", " ")


def _side(name: str, data: Mapping[str, Any]) -> Side:
    with damage_named("measured", name):
        measured: Mapping[str, Any] = data.get("measured") or {}
        rate = measured.get("epoch_rate")
        limit = data.get("limit")
        target, study = data["target"], data.get("study") or {}
        return Side(
            name=name,
            date=study.get("date"),
            met=target["met"],
            asked=str(target.get("asked", "its target")),
            settings=data["dataloader"],
            rate=None if rate is None else value_of(Interval, rate, place="epoch_rate"),
            peak_bytes=measured.get("peak_memory_bytes"),
            limit=None if limit is None else limit["name"],
        )


def _speed(
    before: tuple[str, Mapping[str, Any]], after: tuple[str, Mapping[str, Any]]
) -> Interval | None:
    rates = []
    for name, data in (after, before):
        with damage_named("measured", name):
            found = (data.get("measured") or {}).get("readings") or ()
            rates.append([float(rate) for rate in found if rate > 0])
    if not all(rates):
        return None
    return unpaired_ratio(rates[0], rates[1], error=1 - CONFIDENCE)


def _surroundings(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what rates are of: dataset, target, machine, versions, scope, contract."""
    with damage_named("scope", name):
        target, scope = data["target"], data.get("scope") or {}
        found: dict[str, Any] = {
            "dataset": data["dataset"],
            "target": {key: target.get(key) for key in ("asked", "ranks")},
            "fields": _by_path(scope.get("fields") or ()),
        }
        for section in ("machine", "versions", "scope", "contract"):
            left_out = _PASSING.get(section, ())
            found[section] = {
                key: value
                for key, value in (data.get(section) or {}).items()
                if key not in left_out
            }
        return found


def _by_path(fields: Any) -> dict[str, Any]:
    return {
        item["path"] or "(the example)": {
            key: value for key, value in item.items() if key != "path"
        }
        for item in fields
    }


def _sentences(
    before: Side,
    after: Side,
    speed: Interval | None,
    differences: tuple[Difference, ...],
) -> Iterator[tuple[str, str]]:
    data = [item.field for item in differences if item.field.startswith(_DATA)]
    if data:
        named = ", ".join(data[:4]) + (", ..." if len(data) > 4 else "")
        yield (
            "caution",
            f"the data or their scope differ, so rates may not compare: {named}",
        )
    yield "speed", _speed_said(speed)
    yield "settings", _settings_said(before, after)
    if before.peak_bytes is not None and after.peak_bytes is not None:
        yield "memory", _memory_said(before.peak_bytes, after.peak_bytes)
    if (before.met, before.asked) != (after.met, after.asked):
        said = f"A {_met(before)}, B {_met(after)}"
        yield "target", said
    if before.limit != after.limit:
        yield "limit", f"A: {_limit(before.limit)}; B: {_limit(after.limit)}"
    others = [
        item for item in differences if item.field.startswith(("machine.", "versions."))
    ]
    if not others:
        yield "surroundings", "machine and versions are the same"
    else:
        changes = "; ".join(
            f"{item.field} {item.old} {_ARROW} {item.new}" for item in others[:6]
        )
        more = len(others) - 6
        yield "surroundings", changes + (f"; {more} more" if more > 0 else "")


def _speed_said(speed: Interval | None) -> str:
    if speed is None:
        return "not told: one of them was not measured"
    ratio = f"{speed.median:.2f}{_TIMES}"
    if speed.low is None or speed.high is None:
        return f"B is {ratio} as fast as A, by too few readings for an interval"
    span = f"{speed.low:.2f}{_TIMES}{_TO}{speed.high:.2f}{_TIMES}"
    apart = "read apart, not in the same rounds"
    if speed.low > 1 - INDIFFERENCE and speed.high < 1 + INDIFFERENCE:
        return (
            f"B and A are equal within {format_percent(INDIFFERENCE)} ({span}; {apart})"
        )
    if speed.low > 1 or speed.high < 1:
        return f"B is {ratio} as fast as A ({span}; {apart})"
    return f"cannot tell B from A: {span} ({apart})"


def _settings_said(before: Side, after: Side) -> str:
    changed = [
        f"{name} {old} {_ARROW} {new}"
        for name in _SETTINGS
        if (old := _value(before.settings, name))
        != (new := _value(after.settings, name))
    ]
    return "; ".join(changed) or "the same"


def _memory_said(before: float, after: float) -> str:
    said = f"{format_bytes(before)} {_ARROW} {format_bytes(after)}"
    if not before:
        return said
    share = after / before - 1
    sign = "+" if share >= 0 else "\u2212"
    return f"{said} ({sign}{format_percent(abs(share))})"


def _met(side: Side) -> str:
    return f"{'meets' if side.met else 'does not meet'} {side.asked}"


def _limit(name: str | None) -> str:
    return "not told" if name is None else WORDS.get(name, name)


def _value(settings: Mapping[str, Any], name: str) -> str:
    value = settings.get(name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _side_dict(side: Side) -> dict[str, Any]:
    return {
        "file": side.name,
        "date": None if side.date is None else str(side.date),
        "met": side.met,
        "asked": side.asked,
        "dataloader": dict(side.settings),
        "epoch_rate": None if side.rate is None else side.rate.to_dict(),
        "peak_memory_bytes": side.peak_bytes,
        "limit": side.limit,
    }


def rate_words(rate: Interval | None) -> tuple[str, str]:
    """Return a rate and its interval in words; empty where it was not measured."""
    if rate is None:
        return "", ""
    if rate.low is None or rate.high is None:
        return format_rate(rate.median), ""
    return format_rate(
        rate.median
    ), f"{format_rate(rate.low)}{_TO}{format_rate(rate.high)}"
