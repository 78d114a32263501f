"""What people are told of a measuring, as one plain value: for the terminal and JSON.

Pure: a result in, facts and sentences out. No layout, no colour and no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autoloader.export.scope_section import scope_section
from autoloader.export.step_section import step_section
from autoloader.measure.intervals import median
from autoloader.measure.noise import taken_cpu
from autoloader.measure.versions import versions
from autoloader.report.failed import FailedTrial
from autoloader.report.measure_cautions import cautions_of
from autoloader.report.measure_rows import MeasureRow, counted_readings, rows_of
from autoloader.report.scope_words import scope_words
from autoloader.report.sentences import compared, resources
from autoloader.search.comparison import LOOKS, RUN_ERROR, Pair, PairVerdict
from autoloader.units import format_rate, format_seconds, in_number
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from pathlib import Path

    from autoloader.measuring import MeasureResult
    from autoloader.report.data import ReportedCaution
    from autoloader.search.rounds import StopReason
    from autoloader.values.machine import Machine

SCHEMA = 1

MOST_ROUNDS = 1000
"""Rounds beyond which more of them are no way out."""

_TO, _TIMES = "\u2013", "\u00d7"

_WHY_STOPPED: dict[StopReason, str] = {
    "settled": "every pair was settled",
    "deadline": "the time for them was up",
    "all_rounds": "all of them were run",
    "nothing_left": "fewer than two configs were left",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is known of one pair, in words."""

    verdict: PairVerdict
    words: str

    @classmethod
    def of(cls, pair: Pair) -> Statement:
        """Return what to say of a pair, the faster one first."""
        ratio = pair.ratio
        words = f"cannot tell {pair.a} from {pair.b}: "
        match pair.verdict:
            case PairVerdict.DIFFERENT if ratio is not None:
                times = multiple(ratio.median, ratio.median)
                words = f"{pair.a} is {times} as fast as {pair.b} ({_ends(pair)})"
            case PairVerdict.EQUAL:
                zone = f"{INDIFFERENCE * 100:g} %"
                words = f"{pair.a} and {pair.b} are equally fast, within {zone}"
            case _ if pair.rounds < 2:
                words += f"{_rounds(pair.rounds)} {_had(pair.rounds)} both"
            case _:
                words += f"{_ends(pair)} after {_rounds(pair.rounds)}"
        return cls(verdict=pair.verdict, words=words)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureReport:
    """Everything that is shown at the end of a measuring."""

    dataset: str
    """SPEC, as the user wrote it."""
    state: Literal["settled", "undecided", "failed"]
    cautions: tuple[ReportedCaution, ...]
    """To be shown first."""
    rows: tuple[MeasureRow, ...]
    """Every config, in the order of their names."""
    baseline: str | None
    """Name of the config that relative speeds refer to; None: nothing was measured."""
    statements: tuple[Statement, ...]
    """Pairs against the baseline, and neighbours in the order of speed."""
    hint: str | None
    """What would tell undecided pairs apart; None where there are none."""
    failed: tuple[tuple[str, FailedTrial], ...]
    """Configs without a speed, by name, and why."""
    pairs: tuple[Pair, ...]
    """Every pair."""
    verified: dict[str, int | None]
    """Examples of the reference that every measured config was compared on."""
    data: str | None
    """The same in words; None where nothing was measured."""
    rounds: str
    """How many rounds were run, and why no more."""
    rounds_run: int
    looks: tuple[int, ...]
    """Rounds that had been run at each look."""
    stopped_because: StopReason | None
    """Why the rounds ended; None where there were none."""
    units: str | None
    """Rates in what the user counts; None where nothing is."""
    step: dict[str, Any] | None
    """Training loops, as a recommendation has them, by the configs' letters; None:
    there is no step, or nothing could be measured."""
    scope: str
    """What the rates are of."""
    scope_section: dict[str, Any]
    """The same, as a recommendation has it."""
    machine: Machine
    study: Path
    """Folder with every reading."""
    seconds: float

    @classmethod
    def of(cls, result: MeasureResult) -> MeasureReport:
        """Return the report of a result."""
        comparison, found = result.comparison, result.side_by_side
        rows = rows_of(result)
        named = [(item.contender.name, item.outcome) for item in result.measured]
        run = 0 if found is None else len(found.rounds.rates)
        stopped = None if found is None else found.rounds.stopped_because
        told = () if comparison is None else comparison.told()
        return cls(
            dataset=result.source.spec,
            state=result.state,
            cautions=cautions_of(result),
            rows=rows,
            baseline=next((row.name for row in rows if row.is_baseline), None),
            statements=tuple(Statement.of(pair) for pair in told),
            hint=_hint(result),
            failed=tuple(
                (row.name, FailedTrial.of(outcome))
                for row, (_, outcome) in zip(rows, named, strict=True)
                if not row.has_speed
            ),
            pairs=() if comparison is None else comparison.pairs,
            verified=_verified(result),
            data=_data(result),
            rounds=_why_no_more(run, stopped),
            rounds_run=run,
            looks=() if found is None else found.rounds.looks,
            stopped_because=stopped,
            units=_units(result, rows),
            step=_step(result, rows),
            scope=scope_words(result.reference.scope, result.reference.facts),
            scope_section=scope_section(
                result.source,
                result.reference.scope,
                result.reference.facts,
                [reading for item in result.measured for reading in item.readings],
            ),
            machine=result.machine,
            study=result.study,
            seconds=result.seconds,
        )

    @property
    def certainty(self) -> str | None:
        """How sure the statements are; None where there is none to be sure of."""
        if all(item.verdict is PairVerdict.UNDECIDED for item in self.statements):
            return None
        return (
            f"all intervals together hold with {(1 - RUN_ERROR) * 100:g} % confidence"
        )

    @property
    def place(self) -> str:
        """Where it was measured, and how long that took."""
        return f"{resources(self.machine)}; {format_seconds(self.seconds)}"

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        return {
            "schema": SCHEMA,
            "dataset": self.dataset,
            "state": self.state,
            "baseline": self.baseline,
            "configs": [row.to_dict() for row in self.rows],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "statements": [item.words for item in self.statements],
            "verified": self.verified or None,
            "failed": [
                {"name": name, **trial.to_dict()} for name, trial in self.failed
            ],
            "rounds": self.rounds_run,
            "looks": list(self.looks),
            "stopped_because": self.stopped_because,
            "confidence": 1 - RUN_ERROR,
            "indifference": INDIFFERENCE,
            "hint": self.hint,
            "step": self.step,
            "scope": self.scope_section,
            "cautions": [caution.to_dict() for caution in self.cautions],
            "machine": self.machine.to_dict(),
            "versions": versions(),
            "seconds": round(self.seconds, 1),
            "study": str(self.study),
        }


def multiple(ratio: float, like: float) -> str:
    """Return a ratio as `1.31\u00d7`, with as many digits as `like` carries."""
    digits = 2 if like < 10 else 1 if like < 100 else 0
    return f"{ratio:,.{digits}f}{_TIMES}"


def _ends(pair: Pair) -> str:
    """Return the ends of a pair's interval."""
    ratio = pair.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return "-"
    low, high = multiple(ratio.low, ratio.median), multiple(ratio.high, ratio.median)
    return f"{low}{_TO}{high}"


def _rounds(count: int) -> str:
    return f"{count or 'no'} {in_number(count, 'round')}"


def _had(count: int) -> str:
    return "has" if count == 1 else "have"


def _why_no_more(count: int, stopped: StopReason | None) -> str:
    if stopped is None:
        return "none: fewer than two configs could be measured"
    return f"{_rounds(count)}; {_WHY_STOPPED[stopped]}"


def _verified(result: MeasureResult) -> dict[str, int | None]:
    """Return what the gate compared of the config that it compared least of."""
    verdicts = [
        item.outcome.verdict
        for item in result.measured
        if item.has_speed and item.outcome.verdict is not None
    ]
    if not verdicts:
        return {}
    least = min(verdicts, key=lambda verdict: verdict.examples)
    return {"examples": least.examples, "of": least.of, "epochs": least.epochs}


def _data(result: MeasureResult) -> str | None:
    found, facts = _verified(result), result.reference.facts
    stream = result.reference.scope.stream
    if not found:
        return None
    return compared(
        examples=found["examples"] or 0,
        of=found["of"],
        epochs=found["epochs"] or 0,
        label=facts.label,
        random_fields=facts.random_fields,
        is_comparable=stream is None or stream.can_be_compared,
    )


def _hint(result: MeasureResult) -> str | None:
    """Return what would tell undecided pairs apart."""
    comparison, found = result.comparison, result.side_by_side
    if comparison is None or found is None or comparison.is_settled:
        return None
    readings = [
        reading
        for item in result.measured
        if item.has_speed
        for reading in counted_readings(item.readings)
    ]
    taken = median([taken_cpu(item) for item in readings])
    cpus = result.machine.effective_cpus
    others = f"others took {taken:.1f} of {cpus:g} CPUs meanwhile"
    needed = comparison.rounds_to_tell()
    if needed is None:
        return f"more rounds would tell (--rounds {LOOKS[1]}); {others}"
    if needed > MOST_ROUNDS:
        return f"a quieter machine would tell; {others}"
    return f"about {needed} rounds would tell (--rounds {needed}); {others}"


def _units(result: MeasureResult, rows: tuple[MeasureRow, ...]) -> str | None:
    """Return the rates in what the user counts; None where nothing is."""
    said = []
    for unit in result.reference.facts.units:
        rates = (
            f"{row.name} {format_rate(row.rate.median * unit.per_example)}"
            for row in rows
            if row.rate is not None
        )
        said.append(f"{unit.name}/s: {', '.join(rates)}")
    return "; ".join(said) or None


def _step(result: MeasureResult, rows: tuple[MeasureRow, ...]) -> dict[str, Any] | None:
    """Return the training loops by the letters of their configs."""
    if result.loops is None:
        return None
    named = {item.contender.name: item.contender.config for item in result.measured}
    rates = {row.config: row.rate.median for row in rows if row.rate is not None}
    base = next((row.name for row in rows if row.is_baseline), "A")
    fastest = result.loops.standings().best
    judged = next((name for name in named if named[name] == fastest), base)
    return step_section(
        result.loops, named, judged=judged, base=base, loader_rates=rates
    )
