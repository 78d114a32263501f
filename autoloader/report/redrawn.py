"""What is drawn over again: at once when something happened, for mere progress seldom.

Where it is drawn is the business of `region` and `cell`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Redrawn(ABC):
    """A drawing that knows when it was made.

    Args:
        clock: seconds, monotonic.
        least_s: time between two redraws for mere progress.
    """

    def __init__(self, clock: Callable[[], float], least_s: float) -> None:
        self._clock, self._least_s = clock, least_s
        self._drawn_at = float("-inf")

    @abstractmethod
    def redraw(self) -> None:
        """Draw it now, and note when."""

    def tick(self) -> None:
        """Draw it unless that was done a moment ago."""
        if self._clock() - self._drawn_at >= self._least_s:
            self.redraw()
