"""Map values to places of a drawing, and find round values to label an axis with.

Pure numbers: what is drawn, and how it looks, is for charts to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Distances of labels that people count with, times a power of ten."""

_ROUNDING = 1e-9
"""Part of a step by which a label may miss its value."""

DECADE_MARKS = (1, 2, 5)
"""Values of a decade that are labelled where an axis has few decades."""

_FEW_DECADES = 3.0


class Scale(Protocol):
    """Maps values to places."""

    @property
    def low(self) -> float:
        """Smallest value."""
        ...

    @property
    def high(self) -> float:
        """Largest value."""
        ...

    def __call__(self, value: float) -> float:
        """Return the place of a value; of one outside, that of the nearest end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Equal differences are equal distances."""

    low: float
    """Smallest value."""
    high: float
    """Largest value, above `low`."""
    start: float
    """Place of the smallest value."""
    end: float
    """Place of the largest value."""

    def __post_init__(self) -> None:
        """Check that there is something between the ends."""
        if not self.low < self.high:
            msg = f"low must be below high, got {self.low:g} and {self.high:g}"
            raise ValueError(msg)

    def __call__(self, value: float) -> float:
        """Return the place of a value; of one outside, that of the nearest end."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Equal ratios are equal distances."""

    low: float
    """Smallest value, above 0."""
    high: float
    """Largest value, above `low`."""
    start: float
    """Place of the smallest value."""
    end: float
    """Place of the largest value."""

    def __post_init__(self) -> None:
        """Check that there is something between the ends, with logarithms."""
        if not 0 < self.low < self.high:
            msg = f"low must be above 0 and below high, got {self.low:g}, {self.high:g}"
            raise ValueError(msg)

    def __call__(self, value: float) -> float:
        """Return the place of a value; of one outside, that of the nearest end."""
        inside = min(max(value, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Return round values from `low` to `high`, `most` of them at most.

    Args:
        low: smallest value of an axis.
        high: largest value, above `low`.
        most: how many there may be, at least 2.
    """
    step = nice_step((high - low) / (most - 1))
    while True:
        first = math.ceil(low / step - _ROUNDING)
        last = math.floor(high / step + _ROUNDING)
        if last - first < most:
            found = (number * step for number in range(first, last + 1))
            return tuple(float(f"{value:.15g}") for value in found)  # 0.3, not 3 * 0.1
        step = nice_step(step * 1.01)


def nice_step(least: float) -> float:
    """Return the smallest distance of labels that is not below `least`, above 0."""
    power = 10.0 ** math.floor(math.log10(least))
    steps = (step * power for step in _STEPS)
    return next(step for step in steps if step >= least * (1 - _ROUNDING))


def whole_ticks(low: int, high: int, most: int = 17) -> tuple[int, ...]:
    """Return whole numbers from `low` to `high`, each one where there is room."""
    if high - low < most:
        return tuple(range(low, high + 1))
    return tuple(int(tick) for tick in ticks(low, high, most) if tick == int(tick))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return powers of ten from `low` to `high`, and values between where they are few.

    Args:
        low: smallest value, above 0.
        high: largest value.
    """
    decades = math.log10(high / low)
    marks = DECADE_MARKS if decades <= _FEW_DECADES else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [
        float(f"{mark}e{power}") for power in range(first, last + 1) for mark in marks
    ]
    return tuple(
        value
        for value in found
        if low * (1 - _ROUNDING) <= value <= high * (1 + _ROUNDING)
    )


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Return places for labels, as near as they can be and no nearer to each other.

    Args:
        places: where each would like to be; the order of the answer is theirs.
        gap: least distance of two.
        low: smallest place that may be used.
        high: largest one; where there is no room for all, the last ones pass it.
    """
    order = sorted(range(len(places)), key=lambda number: places[number])
    found = [0.0] * len(places)
    least = low
    for number in order:
        found[number] = max(places[number], least)
        least = found[number] + gap
    most = high
    for number in reversed(order):
        found[number] = min(found[number], most)
        most = found[number] - gap
    if order and found[order[0]] < low:
        for rank, number in enumerate(order):
            found[number] = low + rank * gap
    return found
