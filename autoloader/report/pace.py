"""How far a search that tries everything has come, and how long the rest may take.

Such a search has no end by a budget: what is left follows from its own pace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoloader.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from autoloader.search.watcher import Extent


@dataclass(slots=True)
class Pace:
    """The trials of one run so far, from the moment at which this is made."""

    extent: Extent
    """All that is tried."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    trials: int = 0
    """Trials that came to their end in this run."""
    passed_over: int = 0
    """Configs that are not tried after all."""
    _begun_s: float = field(init=False)
    _last_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the time."""
        self._begun_s = self._last_s = self.clock()

    def on_outcome(self) -> None:
        """Note that a trial came to its end."""
        self.trials += 1
        self._last_s = self.clock()

    def on_skip(self) -> None:
        """Note that a config is passed over."""
        self.passed_over += 1

    @property
    def done(self) -> int:
        """Configs that need no trial any more."""
        done = self.extent.tried + self.trials + self.passed_over
        return min(done, self.extent.configs)

    @property
    def share(self) -> float:
        """Part of the configs that is done, from 0 to 1."""
        return self.done / max(self.extent.configs, 1)

    @property
    def left_s(self) -> float | None:
        """Seconds that the others may take, each as long as a trial so far.

        None until a trial of this run came to its end. However long the running one
        takes, the ones after it have their whole time.
        """
        if not self.trials:
            return None
        left = self.extent.configs - self.done
        if not left:
            return 0.0
        each_s = (self._last_s - self._begun_s) / self.trials
        running_s = each_s - (self.clock() - self._last_s)
        return (left - 1) * each_s + max(running_s, 0.0)

    def describe(self) -> str:
        """Return it in words: "12 of 48 configs, about 3 m 20 s left"."""
        said = f"{self.done} of {self.extent.configs} configs"
        left_s = self.left_s
        if left_s is None or left_s < 1:
            return said
        return f"{said}, about {format_seconds(round(left_s))} left"
