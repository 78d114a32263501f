"""The nights of a recommendation, as people are told of them all.

Pure: a history in, values and sentences out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from autoloader.export.history import drifts_of, series_of
from autoloader.measure.trend import FIRST_LOOK
from autoloader.report.night import VERDICTS, drift_words
from autoloader.units import format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from autoloader.values.night import Drift, Night, NightVerdict

SCHEMA = 1

_TO = "\u2013"

SHORT: dict[NightVerdict, str] = {
    "holds": "holds",
    "renewed": "renewed",
    "rewritten": "rewritten",
    "proposed": "proposed",
    "called_for": "does not hold",
    "undecided": "undecided",
    "wrong_data": "wrong data",
    "target_lost": "target lost",
    "dataset_fails": "dataset fails",
    "failed": "failed",
}
"""A verdict where there is room for a word or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """All nights of a recommendation, and what follows from them."""

    name: str
    """Its file, as the user named it."""
    nights: tuple[Night, ...]
    """The oldest first; at least one."""
    drifts: tuple[Drift, ...]
    """What drifts over the nights that judged the same file as the last one."""
    sentences: tuple[tuple[str, str], ...]
    """What is said, with its label; the most important first."""

    @property
    def last(self) -> Night:
        """The night that was last."""
        return self.nights[-1]

    @property
    def verdict(self) -> str:
        """What the last night said; before a colon the state, after it the reason."""
        return f"{VERDICTS[self.last.verdict]}: {self.last.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        return {
            "schema": SCHEMA,
            "file": self.name,
            "nights": [night.to_dict() for night in self.nights],
            "drifts": [drift.to_dict() for drift in self.drifts],
            "sentences": [
                {"label": label, "said": said} for label, said in self.sentences
            ],
        }


def nights_report(name: str, nights: Sequence[Night]) -> Nights:
    """Return what is told of a history.

    Args:
        name: of the recommendation, as the user named it.
        nights: of its history, the oldest first; at least one.
    """
    series = series_of(nights, nights[-1].file_date)
    drifts = drifts_of(series)
    return Nights(
        name=name,
        nights=tuple(nights),
        drifts=drifts,
        sentences=tuple(_sentences(nights, series, drifts)),
    )


def day(night: Night) -> str:
    """Return the date of a night: `2026-11-30`; as it stands where it is no time."""
    try:
        return datetime.fromisoformat(night.at).date().isoformat()
    except ValueError:
        return night.at


def settings_words(night: Night) -> str:
    """Return the settings that the file recommends after a night, the workers first."""
    return ", ".join(f"{name}={value}" for name, value in night.dataloader.items())


def changed_settings(nights: Sequence[Night], number: int) -> str:
    """Return which settings a night changed: `num_workers=4` where it was another.

    Args:
        nights: all of a history.
        number: place of the night in it.
    """
    before = nights[number - 1].dataloader if number else nights[number].dataloader
    after = nights[number].dataloader
    return ", ".join(
        f"{name}={after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _sentences(
    nights: Sequence[Night], series: Sequence[Night], drifts: Sequence[Drift]
) -> Iterator[tuple[str, str]]:
    for drift in drifts:
        yield "drift", drift_words(drift)
    yield "nights", _counts(nights)
    for label, values, words in (
        ("rate", _known(night.rate for night in series), _rate),
        ("gain", _known(night.vs_default for night in series), _gain),
    ):
        if values:
            yield label, words(values)
    if not drifts:
        yield "drift", _no_drift(series)
    yield "settings", settings_words(nights[-1])


def _counts(nights: Sequence[Night]) -> str:
    """Return how many nights there were, since when, by their verdicts."""
    counts = Counter(SHORT[night.verdict] for night in nights)
    by_verdict = ", ".join(f"{said} {count}" for said, count in counts.most_common())
    first, last = day(nights[0]), day(nights[-1])
    span = first if first == last else f"{first} to {last}"
    return f"{len(nights)}, {span}: {by_verdict}"


def _rate(values: Sequence[float]) -> str:
    middle, reach = _spread(values, format_rate)
    return f"{middle} examples/s{reach}"


def _gain(values: Sequence[float]) -> str:
    middle, reach = _spread(values, "{:.2f}".format)
    return f"{middle} times as fast as PyTorch's default in the same rounds{reach}"


def _spread(values: Sequence[float], words: Callable[[float], str]) -> tuple[str, str]:
    """Return the middle of values, and between what all of them lie."""
    middle = words(median(values))
    if len(values) == 1:
        return middle, ", one night with the file as it is"
    least, most = words(min(values)), words(max(values))
    return (
        middle,
        f", {least}{_TO}{most} over {len(values)} nights with the file as it is",
    )


def _no_drift(series: Sequence[Night]) -> str:
    seen = len(_known(night.rate for night in series))
    if seen < FIRST_LOOK:
        return f"not looked for before {FIRST_LOOK} nights with one file, {seen} so far"
    return "none is seen: looked for after 8, 16, 32, ... nights with one file"


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
