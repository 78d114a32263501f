"""What is wanted of a loader: a rate, or a step kept fed, and a limit of memory.

Whether a config meets it is judged in `search.selection`, from readings.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

from autoloader.errors import UsageError
from autoloader.units import format_rate
from autoloader.values.decode import value_of

CONFIDENCE = 0.95
"""One-sided confidence with which a lower bound is given."""

INDIFFERENCE = 0.03
"""Share of the target that counts as met: shared machines tell nothing finer."""

DRIFT = 0.025
"""Deviation of the log of a rate read for minutes from that of the long run: others
come and go, clocks change. The rounds of a race do not show it, since it lasts longer
than they do. It cancels where configs are compared, not where a rate is wanted."""

MEMORY_SHARE = 0.8
"""Part of what cgroup and machine leave that may be taken where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An absolute rate, a share of the race's best config, or what a step takes."""

    examples_per_s: float | None = None
    """Wanted rate of the whole node; None where a share is wanted."""
    share_of_best: float | None = None
    """Wanted share (0-1] of the best config's rate; None where a rate is wanted."""
    memory_bytes: int | None = None
    """What host, trial, workers and queue may take together; None: no limit known."""
    is_of_step: bool = False
    """Whether the training step is to be kept fed: the rate is then what that takes of
    a loader, and None until the step was timed."""

    def __post_init__(self) -> None:
        """Check that exactly one kind of target is named, and that it can be met."""
        rate, share, memory = (
            self.examples_per_s,
            self.share_of_best,
            self.memory_bytes,
        )
        if self.is_of_step and share is not None:
            msg = "the target of a step is a rate, and no share of the best"
            raise UsageError(msg)
        if not self.is_of_step and (rate is None) == (share is None):
            msg = "a target is either a rate or a share of the best, not both"
            raise UsageError(msg)
        if rate is not None and not 0 < rate < math.inf:
            msg = f"examples_per_s must be above 0, got {rate:g}"
            raise UsageError(msg)
        if share is not None and not 0 < share <= 1:
            msg = f"share_of_best must be above 0 and at most 1, got {share:g}"
            raise UsageError(msg)
        if memory is not None and memory < 1:
            msg = f"memory_bytes must be at least 1, got {memory}"
            raise UsageError(msg)

    @classmethod
    def parse(cls, text: str, *, memory_bytes: int | None = None) -> Self:
        """Read `2000` (examples a second), `95%` (of the best config), or `step`.

        Raises:
            UsageError: none of these, or a number out of range.
        """
        if text.strip() == "step":
            return cls(is_of_step=True, memory_bytes=memory_bytes)
        stripped = text.strip().replace("_", "").replace(",", "")
        percent = stripped.endswith("%")
        try:
            number = float(stripped.removesuffix("%"))
        except ValueError:
            number = -1.0
        in_range = 0 < number <= 100 if percent else 0 < number < math.inf
        if not in_range:
            msg = (
                "--target is a rate such as 2000, a share such as 95%, or step, got "
                f"{text!r}"
            )
            raise UsageError(
                msg, hint="a rate is in examples a second for the whole node"
            )
        if percent:
            return cls(share_of_best=number / 100, memory_bytes=memory_bytes)
        return cls(examples_per_s=number, memory_bytes=memory_bytes)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the target that `to_dict` wrote.

        Raises:
            StoredFileError: it is none.
        """
        return value_of(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "examples_per_s": self.examples_per_s,
            "share_of_best": self.share_of_best,
            "memory_bytes": self.memory_bytes,
            "is_of_step": self.is_of_step,
        }

    def rate(self, best_examples_per_s: float) -> float:
        """Return the wanted examples a second, given the best config's rate.

        For a step that was not timed yet that is all of it.
        """
        if self.share_of_best is not None:
            return self.share_of_best * best_examples_per_s
        if self.examples_per_s is None:
            return best_examples_per_s
        return self.examples_per_s

    def describe(self) -> str:
        """Return `2,000 examples/s`, `95 % of the fastest`, or that of a step."""
        if self.is_of_step:
            known = self.examples_per_s
            rate = "" if known is None else f" ({format_rate(known)} examples/s)"
            return f"what keeps the step fed{rate}"
        if self.share_of_best is not None:
            return f"{self.share_of_best * 100:g} % of the fastest"
        return f"{format_rate(self.examples_per_s or 0.0)} examples/s"
