"""Count what the user counts beside examples and bytes, at the first reading.

Runs in the reference's process alone: a timed pass counts nothing.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any

from autoloader.child.source import load_function
from autoloader.errors import UsageError
from autoloader.values.scope import UnitFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.values.scope import SourceSpec, UnitSpec

RULE = "it takes one example and returns a number of at least 0"
"""What a unit's function must do."""


class UnitCounter:
    """Calls the functions of `--unit` with each example.

    Args:
        units: what is counted.
        source: with functions that the Python API was given; None: there are none.

    Raises:
        UsageError: a SPEC names no function.
        DatasetError: importing its module raises.
    """

    def __init__(
        self, units: Sequence[UnitSpec] = (), source: SourceSpec | None = None
    ) -> None:
        self._functions = [(unit, _function_of(unit, source)) for unit in units]
        self._counts = [array("d") for _ in units]

    def begin(self) -> None:
        """Forget what was counted: the reading begins again."""
        self._counts = [array("d") for _ in self._functions]

    def count(self, index: Any, example: Any) -> None:
        """Count one example.

        Args:
            index: its id.
            example: as the dataset yields it.

        Raises:
            UsageError: the function raises, or returns no such number.
        """
        for (unit, function), counts in zip(self._functions, self._counts, strict=True):
            counts.append(_counted(unit, function, index, example))

    def of_entries(self, places: Sequence[int]) -> tuple[UnitFacts, ...]:
        """Return the means over the entries of a list.

        Args:
            places: of each entry, which of the counted examples it is; a repeated one
                counts again.
        """
        return tuple(
            UnitFacts(
                name=unit.name,
                per_example=sum(counts[place] for place in places) / len(places),
            )
            for (unit, _), counts in zip(self._functions, self._counts, strict=True)
        )

    def of_rows(self, examples: int) -> tuple[UnitFacts, ...]:
        """Return the means over examples, of which an element may hold several."""
        return tuple(
            UnitFacts(name=unit.name, per_example=math.fsum(counts) / examples)
            for (unit, _), counts in zip(self._functions, self._counts, strict=True)
        )


def _function_of(unit: UnitSpec, source: SourceSpec | None) -> Callable[..., object]:
    flag = f"--unit {unit.name}"
    given = None if source is None else source.function(flag)
    return load_function(unit.spec, flag=flag, takes=RULE, given=given)


def _counted(
    unit: UnitSpec, function: Callable[..., object], index: Any, example: Any
) -> float:
    what = f"--unit {unit.name}={unit.spec}"
    try:
        found: Any = function(example)
    except Exception as exc:
        said = f"{type(exc).__name__}: {exc}".removesuffix(": ")
        msg = f"{what} raises {said} on example {index!r}"
        raise UsageError(msg, hint=RULE) from exc
    number = _number(found)
    if number is None:
        msg = f"{what} returns {type(found).__name__} on example {index!r}, no number"
        raise UsageError(msg, hint=RULE)
    if not 0 <= number < math.inf:
        msg = f"{what} must be at least 0 and finite, got {number:g} on {index!r}"
        raise UsageError(msg, hint=RULE)
    return number


def _number(found: Any) -> float | None:
    """Return a number, an array or a tensor of one element as a float."""
    if not hasattr(found, "__float__"):
        return None
    try:
        return float(found)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # of many elements
        return None
