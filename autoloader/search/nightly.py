"""Judge a night: whether a recommendation still holds, by a short race of it tonight.

Pure: the study's readings, tonight's rounds and earlier nights in, a judgement out.

**What is compared** is never a rate with a rate of another night, which a busy night
changes for all configs alike, but the ratio of a rival (PyTorch's default, the fastest
config of the study) to the stored config, in rounds that ran both (`search.shifts`). A
ratio has changed where its shift is beyond what chance gives in one night of 2,000,
both sides and all rivals together, and beyond 5 %, below which nothing is worth a tune.
There is one such look a night: after the first rounds a night may only be found quiet.
So, where nothing has changed, one night in 2,000 at most calls for a tune by its noise.
Either direction counts: a rival that has gained may be the better choice now, and one
that has lost says that the study speaks of another workload.

**The target.** A share of the fastest is lost where a rival is faster than allowed with
that certainty. A rate is held against the study's rate times what tonight's ratio to
PyTorch's default has changed by: a night on which the default slowed equally loses no
target. Without the default among the rivals the rate itself is judged, and what whole
machines do from night to night, `LEVEL_SPREAD`, is allowed for.

**Slow nights.** Where no ratio has changed, the stored config's own rate still tells
whether the machine is slower than in the study, by `LEVEL_ZONE` or more, and by more
than nights of this machine differ by. One such night is a night; the `LEVEL_NIGHTS`-th
in a row is another machine, or slower storage, and the study's rates are of the past.
Faster ones count as well.

**Too noisy** is a night on which a change by 40 % could not have been seen with any
rival.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from autoloader.measure.intervals import median
from autoloader.search.shifts import (
    LEAST_ROUNDS,
    MOST_NIGHTS,
    NIGHT_ERROR,
    NIGHT_SPREAD_FREEDOM,
    Shift,
    bound_of,
    pooled_spread,
    shifts_of,
    variance_of_mean,
)
from autoloader.units import format_percent, format_rate
from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.baseline import Baseline, Rival
    from autoloader.search.standings import Round
    from autoloader.values.night import Night, Pace

LEVEL_SPREAD = 0.05
"""Scatter of log rates of a whole machine from night to night, until the nights have
told their own."""

LEVEL_ZONE = 0.2
"""Share by which the rate of a night differs at least to count as slow or fast."""

LEVEL_TIMES = 2
"""The same, as a multiple of how two nights differ here."""

LEVEL_NIGHTS = 3
"""Slow (or fast) nights in a row, the last one among them, that make it the machine."""

LOOKS = (6, 12)
"""Rounds after which a night may be found quiet; the last ones end it."""

Says = Literal["holds", "changed", "lost", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a night's rounds say of a recommendation."""

    says: Says
    reason: str
    """Why, in one sentence without a full stop."""
    rounds: int
    """Rounds in which the stored config ran."""
    rate: float | None
    """Its median epoch rate."""
    level: float | None
    """Its rate as a multiple of the study's."""
    pace: Pace | None
    """Whether the night was slow or fast; None: it was not read."""
    vs_default: float | None
    """How many times as fast as PyTorch's default it was; None: not compared."""
    vs_second: float | None
    """The same against the file's other config."""
    could_see: float | None
    """Least change (0-1) against a rival that would have been seen; None: no rival."""


def judge(
    baseline: Baseline, rounds: Sequence[Round], past: Sequence[Night]
) -> Judgement:
    """Return what tonight's rounds say.

    Args:
        baseline: what the file says.
        rounds: rates by config, in the order they ran; None: the pass failed.
        past: earlier nights of this very file, the oldest first.
    """
    own = _own(baseline, rounds)
    shifts = shifts_of(baseline, rounds, past)
    level = _level(baseline, own)
    pace = _pace(level, past)
    says, reason = _says(baseline, own, shifts, pace, past)
    times = {item.rival.name == "pytorch_default": item.times_now for item in shifts}
    return Judgement(
        says=says,
        reason=reason,
        rounds=len(own),
        rate=median(own) if own else None,
        level=None if level is None else math.exp(level),
        pace=pace,
        vs_default=times.get(True),
        vs_second=times.get(False),
        could_see=min((item.could_see for item in shifts), default=None),
    )


def is_quiet(
    baseline: Baseline, rounds: Sequence[Round], past: Sequence[Night]
) -> bool:
    """Return whether nothing speaks for further rounds: all is as it was."""
    shifts = shifts_of(baseline, rounds, past)
    if len(shifts) < len(baseline.rivals) or not all(item.can_tell for item in shifts):
        return False
    is_suspicious = any(item.is_suspicious for item in shifts)
    return not is_suspicious and judge(baseline, rounds, past).says == "holds"


def _own(baseline: Baseline, rounds: Sequence[Round]) -> list[float]:
    """Return the stored config's rates."""
    rates = (item.get(baseline.config) for item in rounds)
    return [rate for rate in rates if rate]


def _level(baseline: Baseline, own: Sequence[float]) -> float | None:
    """Return the log of the stored config's rate as a multiple of the study's."""
    if not own or not baseline.rates:
        return None
    return _mean_log(own) - _mean_log(baseline.rates)


def _mean_log(rates: Sequence[float]) -> float:
    return fmean(math.log(rate) for rate in rates)


def _pace(level: float | None, past: Sequence[Night]) -> Pace | None:
    """Return whether a night was slow or fast, beyond what nights are here.

    How levels scatter is assumed and learned as `spread_of_nights` does it for ratios;
    the latest nights, which may be of a machine that has changed, are left out.
    """
    if level is None:
        return None
    told = [night.level for night in past[: 1 - LEVEL_NIGHTS]][-MOST_NIGHTS:]
    spread, _ = pooled_spread([math.log(item) for item in told if item], LEVEL_SPREAD)
    edge = max(-math.log1p(-LEVEL_ZONE), LEVEL_TIMES * math.sqrt(2) * spread)
    if abs(level) <= edge:
        return "usual"
    return "slow" if level < 0 else "fast"


def _says(
    baseline: Baseline,
    own: Sequence[float],
    shifts: Sequence[Shift],
    pace: Pace | None,
    past: Sequence[Night],
) -> tuple[Says, str]:
    """Return the judgement and its reason; the first that applies."""
    if len(own) < LEAST_ROUNDS:
        times = "once" if len(own) == 1 else f"{len(own)} times"
        return "undecided", f"the stored settings were read {times} only"
    lost = _why_lost(baseline, own, shifts)
    if lost is not None:
        return "lost", lost
    real = [item for item in shifts if item.is_real]
    if real:
        return "changed", _change_words(max(real, key=lambda item: abs(item.log)))
    if baseline.rivals and not any(item.can_tell for item in shifts):
        return "undecided", _noise_words(shifts)
    count = _in_a_row(pace, past)
    if pace in {"slow", "fast"} and count >= LEVEL_NIGHTS:
        told = f"{count} {pace} nights in a row: {_pace_words(baseline, own)}"
        return "changed", told
    return "holds", _hold_words(baseline, own, shifts, pace)


def _why_lost(
    baseline: Baseline, own: Sequence[float], shifts: Sequence[Shift]
) -> str | None:
    """Return how the target is lost, beyond doubt; None: it is not."""
    target = baseline.target
    if target.share_of_best is not None:
        edge = -math.log(target.share_of_best * (1 - INDIFFERENCE))
        for item in shifts:
            if item.now - item.bound > edge:
                return (
                    f"{_name(item.rival)} is {math.exp(item.now):.2f} times as fast as "
                    f"the stored settings, and {target.describe()} is wanted"
                )
        return None
    if target.examples_per_s is None:
        return None
    highest = _highest(baseline, own, shifts)
    wanted = math.log(target.examples_per_s * (1 - INDIFFERENCE))
    if highest is None or highest >= wanted:
        return None
    rate = format_rate(math.exp(highest))
    return f"at most {rate} examples/s on a usual night, {target.describe()} wanted"


def _highest(
    baseline: Baseline, own: Sequence[float], shifts: Sequence[Shift]
) -> float | None:
    """Return the log rate that the stored config has at most, on a usual night.

    None where it is compared by its ratio to PyTorch's default, and has none tonight.
    """
    for item in shifts:
        if item.rival.name == "pytorch_default" and baseline.rates:
            return _mean_log(baseline.rates) - item.log + item.bound
    if any(rival.name == "pytorch_default" for rival in baseline.rivals):
        return None
    logs = [math.log(rate) for rate in own]
    nights = (LEVEL_SPREAD**2, NIGHT_SPREAD_FREEDOM)
    return fmean(logs) + bound_of((variance_of_mean(logs), nights), NIGHT_ERROR)


def _in_a_row(pace: Pace | None, past: Sequence[Night]) -> int:
    """Return how many nights in a row had this pace, tonight among them.

    A night that read nothing says nothing.
    """
    count = 1
    for night in reversed(past):
        if night.pace is not None and night.pace != pace:
            break
        count += night.pace is not None
    return count


def _change_words(shift: Shift) -> str:
    return (
        f"{shift.times_now:.2f} times as fast as {_name(shift.rival)}, "
        f"{shift.times_then:.2f} times in the study; a change by "
        f"{format_percent(shift.could_see)} is no accident"
    )


def _hold_words(
    baseline: Baseline, own: Sequence[float], shifts: Sequence[Shift], pace: Pace | None
) -> str:
    if not shifts:
        return _pace_words(baseline, own)
    first = shifts[0]
    said = (
        f"{first.times_now:.2f} times as fast as {_name(first.rival)}, "
        f"{first.times_then:.2f} times in the study"
    )
    if pace in {"slow", "fast"}:
        said += f"; a {pace} night for both: {_pace_words(baseline, own)}"
    return said


def _pace_words(baseline: Baseline, own: Sequence[float]) -> str:
    now, then = format_rate(median(own)), format_rate(median(baseline.rates))
    return f"{now} examples/s, {then} in the study"


def _noise_words(shifts: Sequence[Shift]) -> str:
    """Return why nothing could be seen, and by whom."""
    if not shifts:
        return f"no other config was read {LEAST_ROUNDS} times beside the stored one"
    best = min(shifts, key=lambda item: item.bound)
    least = f"a change by less than {format_percent(best.could_see)} cannot be seen"
    if best.tonight_share < 0.5:
        return f"the study has so few rounds that {least}"
    return f"too noisy: {least}"


def _name(rival: Rival) -> str:
    match rival.name:
        case "pytorch_default":
            return "PyTorch's default"
        case "fastest":
            return "the fastest of the study"
        case "yours":
            return "your own settings"
