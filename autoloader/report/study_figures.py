"""Figures of a study that tables and charts are made of: trials, race, waits.

Pure: outcomes and readings in, values out. No layout, no words but names.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.measure.intervals import Interval, bounded_exp, log_ratios
from autoloader.measure.throughput import epoch_rate, gaps_s
from autoloader.report.failed import code_of
from autoloader.report.rows import rate_interval
from autoloader.search.race_order import rounds_in
from autoloader.values.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from autoloader.export.study_files import Taken
    from autoloader.report.rows import RowName
    from autoloader.search.standings import Round
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Finding, Outcome

Names = tuple["RowName", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """One trial: what was tried, what came of it."""

    number: int
    """Place in the study, from 0."""
    config: LoaderConfig
    names: Names
    """What else it is: `chosen`, say; mostly nothing."""
    source: str
    """Who proposed it."""
    status: Status
    code: str | None
    """Finding or failure that ended it; None where it was measured."""
    seconds: float
    """Wall time of the whole trial, without the race."""
    begun_s: float | None
    """Seconds that the study had taken when it began; None: an older record."""
    begun_at: str | None
    """The same as a time of day, by ISO 8601."""
    searched: float | None
    """Epoch rate of its first reading that counts; None: it has none."""
    rate: Interval | None
    """Epoch rate of the readings that count; None: it has none."""
    readings: int
    """How many these are."""
    is_raced: bool
    """Whether they are of the race."""
    peak_bytes: int | None
    """Memory of all processes; None where it was not weighed, or has no speed."""
    queue_was_full: bool
    """Whether the queue was seen full; else `peak_bytes` is a lower bound."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields under the names that files have."""
        return {
            "number": self.number,
            "config": self.config.to_dict(),
            "names": list(self.names),
            "source": self.source,
            "status": self.status.value,
            "code": self.code,
            "seconds": self.seconds,
            "begun_s": self.begun_s,
            "begun_at": self.begun_at,
            "epoch_rate": None if self.rate is None else self.rate.to_dict(),
            "readings": self.readings,
            "raced": self.is_raced,
            "peak_memory_bytes": self.peak_bytes,
            "full_queue_was_seen": self.queue_was_full,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RacedReading:
    """One reading of the race, in time."""

    config: LoaderConfig
    names: Names
    begun_s: float
    """Seconds that the study had taken when it began."""
    end_s: float
    """The same when it was over."""
    rate: float
    """Epoch rate, examples a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceLine:
    """What one config did in the race."""

    config: LoaderConfig
    names: Names
    rates: tuple[float | None, ...]
    """Epoch rate in each round; None where it did not run, or failed."""
    relative: Interval | None
    """Speed as a multiple of the base's, by the rounds that both ran in; None: there
    are none, or it is the base."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "config": self.config.to_dict(),
            "names": list(self.names),
            "examples_per_s": list(self.rates),
            "relative": None if self.relative is None else self.relative.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceFigures:
    """The race, round by round."""

    base: LoaderConfig
    """What the others are compared with: the chosen config, else the fastest."""
    lines: tuple[RaceLine, ...]
    """In the order in which they first ran."""
    rounds: tuple[Round, ...]
    """Rates by config, in the order they ran."""
    error: float
    """Share of cases in which an interval of a ratio misses."""

    def relative(self, new: LoaderConfig, old: LoaderConfig) -> Interval | None:
        """Return how many times as fast as `old` a config is; None: not told."""
        rates = [[round_.get(item) for round_ in self.rounds] for item in (new, old)]
        ratios = log_ratios(*rates)
        if not ratios:
            return None
        return Interval.of([bounded_exp(item) for item in ratios], error=self.error)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "base": self.base.to_dict(),
            "rounds": len(self.rounds),
            "error": self.error,
            "lines": [line.to_dict() for line in self.lines],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCurve:
    """How long the loop waited for its batches, with one config."""

    config: LoaderConfig
    names: Names
    gaps_s: tuple[float, ...]
    """All waits of its steady windows, the shortest first."""

    def quantile(self, share: float) -> float:
        """Return the wait that this share of them (0-1) does not exceed."""
        last = len(self.gaps_s) - 1
        return self.gaps_s[min(last, max(0, round(share * last)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFigures:
    """What the gate said of all trials."""

    passed: int
    """Trials whose data was right."""
    refused: int
    """Trials whose data was wrong."""
    unread: int
    """Trials that ended before it could say."""
    least_examples: int
    """Fewest examples that a trial was compared with the reference on, an epoch."""
    most_examples: int
    """Most of them."""
    findings: tuple[tuple[str, int], ...]
    """Codes of faults, with the number of trials that show them."""
    cautions: tuple[tuple[str, int], ...]
    """Codes of what is worth knowing, with the number of trials that show it."""


def names_of(named: Mapping[RowName, LoaderConfig], config: LoaderConfig) -> Names:
    """Return all names that a config has."""
    return tuple(name for name, found in named.items() if found == config)


def trials_of(
    outcomes: Sequence[Outcome], named: Mapping[RowName, LoaderConfig]
) -> tuple[TrialFigures, ...]:
    """Return the trials in order of their numbers."""
    return tuple(
        _trial(outcome, names_of(named, outcome.config)) for outcome in outcomes
    )


def race_of(
    taken: Sequence[Taken],
    named: Mapping[RowName, LoaderConfig],
    *,
    error: float,
) -> RaceFigures | None:
    """Return the race; None where nothing was raced.

    Args:
        taken: all readings of the study, in order.
        named: the configs that have a name.
        error: share of cases in which an interval of a ratio may miss.
    """
    rounds = rounds_in(
        (item.outcome.config, epoch_rate(item.reading))
        for item in taken
        if item.reading.purpose == "race" and item.reading.replaced_because is None
    )
    broken = {
        item.outcome.config
        for item in taken
        if item.outcome.status is not Status.MEASURED
    }
    rounds = tuple(
        {tried: rate for tried, rate in found.items() if rate and tried not in broken}
        for found in rounds
    )
    configs = list(dict.fromkeys(config for found in rounds for config in found))
    if not configs:
        return None
    wanted = (named.get("chosen"), named.get("fastest"), configs[0])
    base = next(item for item in wanted if item is not None and item in configs)
    race = RaceFigures(base=base, lines=(), rounds=rounds, error=error)
    lines = tuple(
        RaceLine(
            config=config,
            names=names_of(named, config),
            rates=tuple(found.get(config) for found in rounds),
            relative=None if config == base else race.relative(config, base),
        )
        for config in configs
    )
    return RaceFigures(base=base, lines=lines, rounds=rounds, error=error)


def raced_of(
    taken: Sequence[Taken], named: Mapping[RowName, LoaderConfig]
) -> tuple[RacedReading, ...]:
    """Return the race's readings that count and whose time is known, in order."""
    return tuple(
        RacedReading(
            config=item.outcome.config,
            names=names_of(named, item.outcome.config),
            begun_s=begun_s,
            end_s=begun_s + item.reading.total_s,
            rate=epoch_rate(item.reading),
        )
        for item in taken
        if item.reading.purpose == "race"
        and item.reading.replaced_because is None
        and item.outcome.status is Status.MEASURED
        and (begun_s := item.reading.begun_s) is not None
    )


def waits_of(
    outcomes: Sequence[Outcome], named: Mapping[RowName, LoaderConfig]
) -> tuple[WaitCurve, ...]:
    """Return the waits of each config that has a name, as far as they were seen."""
    known = {outcome.config: outcome for outcome in outcomes}
    curves = []
    for config in dict.fromkeys(named.values()):
        if config not in known:
            continue
        gaps = [gap for item in known[config].raced for gap in gaps_s(item)]
        if gaps:
            names = names_of(named, config)
            curves.append(WaitCurve(config=config, names=names, gaps_s=_sorted(gaps)))
    return tuple(curves)


def gate_of(outcomes: Sequence[Outcome]) -> GateFigures:
    """Return what the gate said of all trials."""
    verdicts = [item.verdict for item in outcomes if item.verdict is not None]
    compared = [item.examples for item in verdicts]
    return GateFigures(
        passed=sum(item.passed for item in verdicts),
        refused=sum(not item.passed for item in verdicts),
        unread=len(outcomes) - len(verdicts),
        least_examples=min(compared, default=0),
        most_examples=max(compared, default=0),
        findings=_by_code(item.findings for item in verdicts),
        cautions=_by_code(item.cautions for item in verdicts),
    )


def _by_code(found: Iterable[Sequence[Finding]]) -> tuple[tuple[str, int], ...]:
    """Return in how many trials each code was seen, the most frequent first."""
    counts = Counter(code for items in found for code in {item.code for item in items})
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def pareto(trials: Sequence[TrialFigures]) -> tuple[TrialFigures, ...]:
    """Return the trials that no other one beats in both, from least memory to most.

    Each is faster than all that take no more memory.
    """
    weighed = [item for item in trials if item.rate and item.peak_bytes is not None]
    weighed.sort(key=lambda item: (item.peak_bytes, -_median(item)))
    found: list[TrialFigures] = []
    for item in weighed:
        if not found or _median(item) > _median(found[-1]):
            found.append(item)
    return tuple(found)


def _median(trial: TrialFigures) -> float:
    return 0.0 if trial.rate is None else trial.rate.median


def _sorted(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(sorted(values))


def _trial(outcome: Outcome, names: Names) -> TrialFigures:
    memory = outcome.memory
    is_measured = outcome.status is Status.MEASURED
    counted = outcome.counted
    first = next(iter(counted), None)
    return TrialFigures(
        number=outcome.number,
        config=outcome.config,
        names=names,
        source=outcome.source,
        status=outcome.status,
        code=None if is_measured else code_of(outcome),
        seconds=outcome.seconds,
        begun_s=outcome.begun_s,
        begun_at=outcome.begun_at,
        searched=None if first is None else epoch_rate(first),
        rate=rate_interval(outcome),
        readings=len(outcome.raced),
        is_raced=any(item.purpose == "race" for item in counted),
        peak_bytes=memory.peak_bytes if memory is not None and is_measured else None,
        queue_was_full=memory is None or memory.queue_was_full,
    )
