"""Rows of the final table: the configs that a result is told by.

Pure: readings in, values out. A config that several names fit is one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoloader.export.evidence import race_readings
from autoloader.measure.intervals import Interval
from autoloader.measure.throughput import epoch_rate
from autoloader.report.failed import code_of
from autoloader.values.outcome import Status
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome

RowName = Literal["pytorch_default", "yours", "fastest", "chosen"]

_WORDS: dict[RowName, str] = {
    "pytorch_default": "PyTorch default",
    "yours": "yours",
    "fastest": "fastest",
    "chosen": "chosen",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRow:
    """One config with what was measured of it."""

    names: tuple[RowName, ...]
    """What it is, in the order of the table."""
    config: LoaderConfig
    """Its settings."""
    status: Status
    """Fate of its trial."""
    code: str | None
    """Finding or failure that ended it; None where it was measured."""
    rate: Interval | None
    """Epoch rate, examples a second, of the readings that count; None: none."""
    relative: Interval | None
    """Speed as a multiple of PyTorch's default, without ends where the two were never
    read in the same round of a race; None where one of them has no rate."""
    peak_bytes: int | None
    """Memory of all processes; None where it was not weighed."""
    queue_was_full: bool
    """Whether the queue was seen full; else `peak_bytes` is a lower bound."""

    @property
    def title(self) -> str:
        """The names in words, such as `fastest = chosen`."""
        return " = ".join(_WORDS[name] for name in self.names)

    @property
    def is_chosen(self) -> bool:
        """Whether this is the recommendation."""
        return "chosen" in self.names

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under the names of the recommendation file."""
        return {
            "names": list(self.names),
            "dataloader": self.config.dataloader_kwargs(),
            "status": self.status.value,
            "code": self.code,
            "epoch_rate": None if self.rate is None else self.rate.to_dict(),
            "relative_to_default": (
                None if self.relative is None else self.relative.to_dict()
            ),
            "peak_memory_bytes": self.peak_bytes,
            "full_queue_was_seen": self.queue_was_full,
        }


def rows_of(result: TuneResult) -> tuple[ConfigRow, ...]:
    """Return PyTorch's default, the user's own, the fastest and the chosen config.

    What was not tried has no row; what was tried and is wrong or broken has one without
    a rate.
    """
    default = _proposed(result, "pytorch_default") or _yours_if_default(result)
    choice = result.result.choice
    named: tuple[tuple[RowName, LoaderConfig | None], ...] = (
        ("pytorch_default", default),
        ("yours", _proposed(result, "yours")),
        ("fastest", choice.best),
        ("chosen", choice.config),
    )
    names: dict[LoaderConfig, list[RowName]] = {}
    for name, config in named:
        if config is not None:
            names.setdefault(config, []).append(name)
    outcomes = {outcome.config: outcome for outcome in result.outcomes}
    base = None if default is None else outcomes[default]
    return tuple(
        _row(result, tuple(names[config]), outcomes[config], base) for config in names
    )


def _proposed(result: TuneResult, source: str) -> LoaderConfig | None:
    return next(
        (item.config for item in result.outcomes if item.source == source), None
    )


def _yours_if_default(result: TuneResult) -> LoaderConfig | None:
    """Return the user's own config where it is PyTorch's default as well."""
    yours = _proposed(result, "yours")
    if yours is None or yours.num_workers or yours.pin_memory:
        return None
    return yours


def _row(
    result: TuneResult,
    names: tuple[RowName, ...],
    outcome: Outcome,
    default: Outcome | None,
) -> ConfigRow:
    memory = result.result.memory.get(outcome.config)
    measured = outcome.status is Status.MEASURED
    return ConfigRow(
        names=names,
        config=outcome.config,
        status=outcome.status,
        code=None if measured else code_of(outcome),
        rate=_rate(outcome),
        relative=None if default is None else _relative(result, outcome, default),
        peak_bytes=memory.peak_bytes if memory is not None and measured else None,
        queue_was_full=memory is None or memory.queue_was_full,
    )


def _rate(outcome: Outcome) -> Interval | None:
    rates = [epoch_rate(reading) for reading in race_readings(outcome)]
    return Interval.of(rates, error=1 - CONFIDENCE) if rates else None


def _relative(
    result: TuneResult, outcome: Outcome, default: Outcome
) -> Interval | None:
    """Return the speed as a multiple of the default's, paired where it can be."""
    rate, base = _rate(outcome), _rate(default)
    if rate is None or base is None or not base.median:
        return None
    standings = result.result.standings
    paired = (
        standings.relative(outcome.config, default.config)
        if standings is not None and outcome.config != default.config
        else None
    )
    if paired is not None:
        return paired
    return Interval(median=rate.median / base.median, low=None, high=None)
