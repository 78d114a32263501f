"""Rows of the final table: the configs that a result is told by.

Pure: readings in, values out. A config that several names fit is one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoloader.export.evidence import race_readings
from autoloader.measure.intervals import Interval
from autoloader.measure.throughput import Waits, epoch_rate, pooled_waits
from autoloader.report.failed import code_of
from autoloader.values.outcome import Status
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from autoloader.tune_values import TuneResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import MemoryReading, Outcome

    Relative = Callable[[LoaderConfig, LoaderConfig], Interval | None]

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
    waits: Waits | None
    """How long the loop waited for its batches, by the readings that count; None: it is
    not told."""
    peak_bytes: int | None
    """Memory of all processes; None where it was not weighed."""
    queue_was_full: bool
    """Whether the queue was seen full; else `peak_bytes` is a lower bound."""

    @property
    def title(self) -> str:
        """The names in words, such as `fastest = chosen`."""
        return names_in_words(self.names)

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
            "wait_s": None if self.waits is None else _waits(self.waits),
            "peak_memory_bytes": self.peak_bytes,
            "full_queue_was_seen": self.queue_was_full,
        }


def names_in_words(names: Iterable[RowName]) -> str:
    """Return names that one config has, such as `fastest = chosen`."""
    return " = ".join(_WORDS[name] for name in names)


def rows_of(result: TuneResult) -> tuple[ConfigRow, ...]:
    """Return PyTorch's default, the user's own, the fastest and the chosen config.

    What was not tried has no row; what was tried and is wrong or broken has one without
    a rate.
    """
    choice, standings = result.result.choice, result.result.standings
    return rows_for(
        named_configs(result.outcomes, fastest=choice.best, chosen=choice.config),
        result.outcomes,
        memory=result.result.memory,
        relative=(lambda _new, _old: None) if standings is None else standings.relative,
    )


def named_configs(
    outcomes: Sequence[Outcome],
    *,
    fastest: LoaderConfig | None,
    chosen: LoaderConfig | None,
) -> dict[RowName, LoaderConfig]:
    """Return the configs that a result is told by, those that were tried."""
    named: dict[RowName, LoaderConfig | None] = {
        "pytorch_default": _proposed(outcomes, "pytorch_default")
        or _yours_if_default(outcomes),
        "yours": _proposed(outcomes, "yours"),
        "fastest": fastest,
        "chosen": chosen,
    }
    tried = {outcome.config for outcome in outcomes}
    return {
        name: config
        for name, config in named.items()
        if config is not None and config in tried
    }


def rows_for(
    named: Mapping[RowName, LoaderConfig],
    outcomes: Sequence[Outcome],
    *,
    memory: Mapping[LoaderConfig, MemoryReading],
    relative: Relative,
) -> tuple[ConfigRow, ...]:
    """Return the rows of these configs; one that several names fit is one row.

    Args:
        named: the configs, each with an outcome, in the order of the table.
        outcomes: of the study.
        memory: last weighing of each config.
        relative: how many times as fast as another one a config is, by the rounds of a
            race; None where it does not tell.
    """
    names: dict[LoaderConfig, list[RowName]] = {}
    for name, config in named.items():
        names.setdefault(config, []).append(name)
    known = {outcome.config: outcome for outcome in outcomes}
    default = named.get("pytorch_default")
    base = None if default is None else known[default]
    return tuple(
        _row(
            tuple(found),
            known[config],
            memory.get(config),
            None if base is None else _relative(relative, known[config], base),
        )
        for config, found in names.items()
    )


def _proposed(outcomes: Sequence[Outcome], source: str) -> LoaderConfig | None:
    return next((item.config for item in outcomes if item.source == source), None)


def _yours_if_default(outcomes: Sequence[Outcome]) -> LoaderConfig | None:
    """Return the user's own config where it is PyTorch's default as well."""
    yours = _proposed(outcomes, "yours")
    if yours is None or yours.num_workers or yours.pin_memory:
        return None
    return yours


def _row(
    names: tuple[RowName, ...],
    outcome: Outcome,
    memory: MemoryReading | None,
    relative: Interval | None,
) -> ConfigRow:
    measured = outcome.status is Status.MEASURED
    return ConfigRow(
        names=names,
        config=outcome.config,
        status=outcome.status,
        code=None if measured else code_of(outcome),
        rate=rate_interval(outcome),
        relative=relative,
        waits=pooled_waits(outcome.raced),
        peak_bytes=memory.peak_bytes if memory is not None and measured else None,
        queue_was_full=memory is None or memory.queue_was_full,
    )


def rate_interval(outcome: Outcome) -> Interval | None:
    """Return the epoch rate of a config, by the readings that count; None: none do."""
    rates = [epoch_rate(reading) for reading in race_readings(outcome)]
    return Interval.of(rates, error=1 - CONFIDENCE) if rates else None


def _waits(waits: Waits) -> dict[str, float]:
    """Return waits under the names of the recommendation file."""
    return {"p50": waits.p50_s, "p99": waits.p99_s, "max": waits.max_s}


def _relative(
    relative: Relative, outcome: Outcome, default: Outcome
) -> Interval | None:
    """Return the speed as a multiple of the default's, paired where it can be."""
    rate, base = rate_interval(outcome), rate_interval(default)
    if rate is None or base is None or not base.median:
        return None
    paired = (
        relative(outcome.config, default.config)
        if outcome.config != default.config
        else None
    )
    if paired is not None:
        return paired
    return Interval(median=rate.median / base.median, low=None, high=None)
