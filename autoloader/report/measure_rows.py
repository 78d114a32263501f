"""Rows of a comparison: each config with what was read of it.

Pure: readings in, values out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.export.scope_section import rates_in_units
from autoloader.export.study_files import figures_of
from autoloader.measure.intervals import Interval, median
from autoloader.measure.rank_rates import RankRates, rank_rates
from autoloader.measure.throughput import (
    Waits,
    end_s,
    epoch_rate,
    first_batch_s,
    has_steady_window,
    steady_rate,
    wait_percentiles,
)
from autoloader.report.failed import code_of
from autoloader.values.target import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.measuring import Measured, MeasureResult
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import MemoryReading, Reading, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """One config with what was measured of it."""

    name: str
    """Letter that it goes by."""
    source: str
    """`given`, `yours` or `pytorch_default`."""
    config: LoaderConfig
    is_baseline: bool
    """Whether relative speeds refer to it."""
    status: Status
    """Fate of its trial."""
    code: str | None
    """Finding or failure that ended it; None where it was measured."""
    rate: Interval | None
    """Epoch rate, examples a second, of the rounds; None: it has no speed."""
    rates: dict[str, float]
    """Its median in every unit that is known, by name; empty: it has no speed."""
    relative: Interval | None
    """Speed as a multiple of the baseline's; None of the baseline itself, and where the
    two were never read in the same round."""
    steady: Interval | None
    """Steady rate, examples a second; None where no reading has one."""
    first_batch_s: float | None
    """Seconds to the first batch, by the median."""
    end_s: float | None
    """Seconds from the last batch to the end, workers shut down, by the median."""
    waits: Waits | None
    """Seconds that the loop waited for a batch: medians, and the longest of all."""
    memory: MemoryReading | None
    """Memory of all its processes; None where it was not weighed."""
    ranks: RankRates | None
    """Rates of each rank; None: there is one training process."""
    readings: tuple[Reading, ...]
    """Everything that was read, in order."""

    @property
    def has_speed(self) -> bool:
        """Whether it was measured, and never failed."""
        return self.rate is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under the names of the recommendation file."""
        memory, waits = self.memory, self.waits
        return {
            "name": self.name,
            "source": self.source,
            "dataloader": self.config.dataloader_kwargs(),
            "status": self.status.value,
            "code": self.code,
            "epoch_rate": _interval(self.rate),
            "rates": self.rates,
            "relative_to_baseline": _interval(self.relative),
            "steady_rate": _interval(self.steady),
            **({} if self.ranks is None else {"ranks": self.ranks.to_dict()}),
            "first_batch_s": self.first_batch_s,
            "wait_s": None if waits is None else waits.to_dict(),
            "end_s": self.end_s,
            "peak_memory_bytes": None if memory is None else memory.peak_bytes,
            "full_queue_was_seen": None if memory is None else memory.queue_was_full,
            "queued_bytes": _of_all(memory, "queued_bytes"),
            "resident_bytes": _of_all(memory, "resident_bytes"),
            "pinned_bytes": _of_all(memory, "pinned_bytes"),
            "accelerator_bytes": _of_all(memory, "accelerator_bytes"),
            "readings": [
                {**reading.to_dict(), **figures_of(reading)}
                for reading in self.readings
            ],
        }


def counted_readings(readings: Iterable[Reading]) -> list[Reading]:
    """Return the readings that rates are made of.

    Those of the rounds, or the first one where there were none; replaced ones are none.
    """
    counted = [item for item in readings if item.replaced_because is None]
    return [item for item in counted if item.purpose == "race"] or counted


def rows_of(result: MeasureResult) -> tuple[MeasureRow, ...]:
    """Return a row for each config; what was refused or failed has no speed in it."""
    left = [item.contender.name for item in result.measured if item.has_speed]
    baseline = left[0] if left else None
    return tuple(_row(result, item, baseline) for item in result.measured)


def _row(result: MeasureResult, item: Measured, baseline: str | None) -> MeasureRow:
    name = item.contender.name
    counted = counted_readings(item.readings) if item.has_speed else []
    steady = [steady_rate(reading) for reading in counted if has_steady_window(reading)]
    rate = _of([epoch_rate(reading) for reading in counted])
    facts = result.reference.facts
    return MeasureRow(
        name=name,
        source=item.contender.source,
        config=item.contender.config,
        is_baseline=name == baseline,
        status=item.outcome.status,
        code=None if item.has_speed else code_of(item.outcome),
        rate=rate,
        rates={} if rate is None else rates_in_units(rate.median, facts),
        relative=_relative(result, name, baseline) if item.has_speed else None,
        steady=_of(steady),
        first_batch_s=_median([first_batch_s(reading) for reading in counted]),
        end_s=_median([end_s(reading) for reading in counted]),
        waits=_waits(counted),
        memory=item.outcome.memory,
        ranks=rank_rates(counted),
        readings=item.readings,
    )


def _relative(
    result: MeasureResult, name: str, baseline: str | None
) -> Interval | None:
    if result.comparison is None or baseline is None or name == baseline:
        return None
    return result.comparison.between(name, baseline).ratio


def _of(rates: Sequence[float]) -> Interval | None:
    positive = [rate for rate in rates if rate > 0]
    return Interval.of(positive, error=1 - CONFIDENCE) if positive else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _waits(readings: Sequence[Reading]) -> Waits | None:
    found = [waits for item in readings if (waits := wait_percentiles(item))]
    if not found:
        return None
    return Waits(
        p50_s=median([item.p50_s for item in found]),
        p99_s=median([item.p99_s for item in found]),
        max_s=max(item.max_s for item in found),
    )


def _of_all(memory: MemoryReading | None, name: str) -> int | None:
    return None if memory is None else memory.of_all(name)


def _interval(interval: Interval | None) -> dict[str, float | None] | None:
    return None if interval is None else interval.to_dict()
