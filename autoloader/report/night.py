"""What came of a night, laid out for people.

Pure: a result in, something that rich can draw out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from autoloader.report.cleaning import clean
from autoloader.report.table import labelled
from autoloader.units import format_percent, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from autoloader.retune_values import RetuneResult
    from autoloader.values.night import Drift, Night, NightVerdict

VERDICTS: dict[NightVerdict, str] = {
    "holds": "The recommendation holds",
    "renewed": "Tuned again: the same settings, new evidence",
    "rewritten": "Tuned again: other settings",
    "proposed": "Tuned again, into a file of its own",
    "called_for": "It does not hold: tuning again is called for",
    "undecided": "It cannot be told tonight whether it holds",
    "wrong_data": "The data that arrives is wrong",
    "target_lost": "The target is lost",
    "dataset_fails": "The dataset fails by itself",
    "failed": "The night came to no end",
}
"""Verdicts in words; the reason follows."""

GOOD = frozenset({"holds", "renewed"})
"""Verdicts after which nothing is to be done."""


def draw(result: RetuneResult) -> RenderableType:
    """Return the verdict, and what it rests on, one fact a line."""
    style = "good" if result.night.verdict in GOOD else "doubt"
    (label, verdict), *facts = _lines(result)
    first = (Text(label, style="label"), Text(clean(verdict), style=style))
    return labelled(
        [
            first,
            *((Text(name, style="label"), Text(clean(said))) for name, said in facts),
        ]
    )


def _lines(result: RetuneResult) -> Iterator[tuple[str, str]]:
    night = result.night
    yield "verdict", f"{VERDICTS[night.verdict]}: {night.reason}."
    for change in night.changes:
        yield "changed", change.sentence
    if night.rate is not None:
        yield "rate", _rate(night)
    for drift in result.drifts:
        yield "drift", drift_words(drift)
    if night.wrote is not None:
        kept = "" if night.kept is None else f"; the one before is {night.kept}"
        yield "file", f"{night.wrote}{kept}"
    else:
        yield "file", f"{result.file.name}, as it was"
    if night.verdict == "undecided":
        yield "next", "the same command with a longer --budget, which has more rounds"
    yield "time", format_seconds(night.seconds)


def _rate(night: Night) -> str:
    """Return how fast the stored settings were, and what would have been seen."""
    said = f"{format_rate(night.rate or 0.0)} examples/s, {night.rounds} rounds"
    if night.level is not None:
        said += f"; {night.level:.2f} times that of the study"
    if night.could_see is not None:
        least = format_percent(night.could_see)
        said += f"; a change beside other settings by {least} would have been seen"
    return said


def drift_words(drift: Drift) -> str:
    """Return what drifts, by how much, over how many nights."""
    what = {
        "rate": "examples/s",
        "vs_default": "the gain over PyTorch's default",
    }[drift.of]
    way = "falls" if drift.per_night < 0 else "rises"
    share = format_percent(abs(drift.per_night))
    return f"{what} {way} by {share} a night, over {drift.nights} nights"
