"""The record sheet: a setting, what was checked, its seconds, the conclusion.

Pure: what each setting delivered in, rows out. One reading each: a row tells what was
seen, and no speed to choose by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.units import format_seconds
from autoloader.values.diagnosis import EpochTimes, RecordRow
from autoloader.values.outcome import Failure, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autoloader.values.config import LoaderConfig

ALIKE = 0.1
"""Part by which two single readings differ without meaning anything."""

ALIKE_S = 0.05
"""Seconds by which two epochs of one setting differ without meaning anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingResult:
    """What one setting delivered."""

    config: LoaderConfig
    item: Verdict | Failure
    """What the gate said."""
    epochs: tuple[EpochTimes, ...] = ()
    """Epochs against the clock; empty where its data is wrong, or it has no end."""

    @property
    def is_right(self) -> bool:
        """Whether it delivers what one process does."""
        return isinstance(self.item, Verdict) and self.item.passed


def record_sheet(settings: Iterable[SettingResult]) -> tuple[RecordRow, ...]:
    """Return the rows, an epoch each, in the order of the settings.

    Args:
        settings: the one without workers first: the others are compared with it.
    """
    rows: list[RecordRow] = []
    alone: EpochTimes | None = None
    for setting in settings:
        rows.extend(_rows(setting, alone))
        if setting.config.num_workers == 0 and setting.epochs:
            alone = setting.epochs[0]
    return tuple(rows)


def _rows(setting: SettingResult, alone: EpochTimes | None) -> Iterator[RecordRow]:
    name, item = setting.config.describe(), setting.item
    if isinstance(item, Failure):
        said = f"{item.kind}: {item.message}"
        yield RecordRow(setting=name, checked="nothing", seconds=None, conclusion=said)
        return
    checked = f"ids, labels, content, dtypes, shapes of {item.examples:,} examples"
    if not item.passed:
        codes = ", ".join(dict.fromkeys(found.code for found in item.findings))
        said = f"other data than one process reads: {codes}"
        yield RecordRow(setting=name, checked=checked, seconds=None, conclusion=said)
        return
    if not setting.epochs:
        said = "the same data; not read against the clock"
        yield RecordRow(setting=name, checked=checked, seconds=None, conclusion=said)
    for number, epoch in enumerate(setting.epochs):
        said = (
            _against_alone(epoch, alone)
            if number == 0
            else _against_first(epoch, setting.epochs[0])
        )
        yield RecordRow(
            setting=f"{name}, epoch {number + 1}",
            checked=checked if number == 0 else "the same, nothing lost or repeated",
            seconds=epoch.seconds,
            conclusion=said,
        )


def _against_alone(epoch: EpochTimes, alone: EpochTimes | None) -> str:
    """Return what workers gain or cost, beside one process."""
    if alone is None:
        return "right: what the others are compared with"
    ratio = alone.seconds / max(epoch.seconds, 1e-9)
    start = f"its first batch came after {format_seconds(epoch.first_s)}"
    if abs(ratio - 1) <= ALIKE:
        return f"as fast as 0 workers; {start}"
    if ratio > 1:
        return f"a gain: {ratio:.1f} times as fast as 0 workers; {start}"
    return f"a cost: {1 / ratio:.1f} times as slow as 0 workers; {start}"


def _against_first(epoch: EpochTimes, first: EpochTimes) -> str:
    """Return what start and cache did in the first epoch."""
    saved_s = first.seconds - epoch.seconds
    if abs(saved_s) <= max(ALIKE_S, ALIKE * first.seconds):
        return "as long as the first epoch: neither start nor cache tells"
    if saved_s < 0:
        return f"{format_seconds(-saved_s)} longer than the first epoch"
    at_start_s = max(0.0, first.first_s - epoch.first_s)
    return (
        f"{format_seconds(saved_s)} shorter than the first epoch, "
        f"{format_seconds(min(at_start_s, saved_s))} of it before the first batch"
    )
