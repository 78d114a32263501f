"""Rows of the table of configs that a recommendation file alone tells of.

Pure: its sections in, values out. With the study's readings, `report.rows` has more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval
from autoloader.measure.throughput import Waits
from autoloader.report.rows import ConfigRow
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import value_of
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.report.rows import RowName


def rows_in_file(
    data: Mapping[str, Any], named: Mapping[RowName, LoaderConfig]
) -> tuple[ConfigRow, ...]:
    """Return the rows that a file alone tells of.

    The speed against PyTorch's default has ends where it was read in the same rounds as
    the chosen config.
    """
    sections: dict[RowName, Mapping[str, Any]] = {
        name: data["measured"] if name == "chosen" else data["compared"][name]
        for name in named
    }
    names: dict[LoaderConfig, list[RowName]] = {}
    for name, config in named.items():
        names.setdefault(config, []).append(name)
    default = sections.get("pytorch_default")
    return tuple(
        ConfigRow(
            names=tuple(found),
            config=config,
            status=Status.MEASURED,
            code=None,
            rate=_interval(sections[found[0]]["epoch_rate"]),
            relative=_against(default, sections[found[0]], is_chosen="chosen" in found),
            waits=_waits(sections[found[-1]].get("wait_s")),
            peak_bytes=sections[found[0]]["peak_memory_bytes"],
            queue_was_full=sections[found[-1]].get("full_queue_was_seen") is not False,
        )
        for config, found in names.items()
    )


def _against(
    default: Mapping[str, Any] | None, section: Mapping[str, Any], *, is_chosen: bool
) -> Interval | None:
    """Return a speed as a multiple of the default's, as far as the file tells."""
    if default is None:
        return None
    base, rate = _interval(default["epoch_rate"]), _interval(section["epoch_rate"])
    if base is None or rate is None or not base.median:
        return None
    paired = _interval(default["relative_to_chosen"])
    if is_chosen and paired is not None and paired.low and paired.high:
        return Interval(
            median=1 / paired.median, low=1 / paired.high, high=1 / paired.low
        )
    return Interval(median=rate.median / base.median, low=None, high=None)


def _interval(section: Mapping[str, Any] | None) -> Interval | None:
    if section is None:
        return None
    return value_of(Interval, section, place="epoch_rate")


def _waits(section: Mapping[str, Any] | None) -> Waits | None:
    """Return the waits that the file has of its own config; None of the others."""
    if section is None:
        return None
    return Waits(p50_s=section["p50"], p99_s=section["p99"], max_s=section["max"])


def config_in(section: Mapping[str, Any]) -> LoaderConfig:
    """Return the config of a section that has one."""
    return value_of(LoaderConfig, section["dataloader"], place="dataloader")
