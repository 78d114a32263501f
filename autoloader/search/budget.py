"""How the wall time of a tune is shared out.

An eighth at most goes to the reference, half is kept for race and verification, and
some seconds for a look at what limits; the search has the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from autoloader.values.scope import GATE_EXAMPLES

REFERENCE_SHARE = 0.12
"""Most of the budget that the reference may take."""

FINISH_SHARE = 0.5
"""Part of the budget that is kept for race and verification. With two fifths, the photo
study (studies/photos, two cores, three minutes) had time to race two configs beside
PyTorch's default, and the simplest one was not among them; with half, it has for
three."""

LEAST_FINISH_SHARE = 0.3
"""Part of the budget that race and verification keep, whatever is open yet."""

VERIFY_SHARE = 0.08
"""Part of the budget for one config's verification; two are verified."""

LOOPS_SHARE = 0.12
"""Part of the budget for training loops, where there is a step, that are only told:
some rounds of PyTorch's default and the choice."""

MEASURED_LOOPS_SHARE = 0.4
"""The same where given configs are compared, each of which has a loop."""

CHOICE_LOOPS_SHARE = 0.4
"""The same where a choice rests on them: it is raced again, in loops. With 0.28, the
photo study had time for five rounds, which cannot tell a tenth; what the race of
loaders has less of, nothing rests on."""

WHOLE_SHARE = 0.15
"""The same where all examples fit into it. Of 600 examples a tune of 20 s verified 248,
and recommended workers that lose one of the others: what can be proven is."""

CEILING_S = 1.5
"""Seconds that are kept for a pass over free examples: a third of one to collate, half
of one for the window, the rest to start processes and to probe the CPUs. On two CPUs,
half of which others had, it took 1.1 s."""

CEILINGS_SHARE = 0.06
"""Most of the budget that these passes keep, taken from the search, not from the race:
half a minute has room for one of them, a minute for the second, where there is one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Wall time of one run, from the moment it began.

    A resumed run has what was left, but never less than the finish needs: it races
    again, whatever was raced before.
    """

    total_s: float
    """What the user allows for the whole study."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    begun: float
    """Reading of the clock when the run began."""
    spent_before_s: float = 0.0
    """What earlier runs of the study took."""

    @property
    def end(self) -> float:
        """Reading of the clock at which the budget is spent."""
        least_s = self.total_s * FINISH_SHARE + self.ceilings_s
        left = max(self.total_s - self.spent_before_s, least_s)
        return self.begun + left

    @property
    def search_end(self) -> float:
        """Reading of the clock at which the search stops."""
        return self.end - self.total_s * FINISH_SHARE - self.ceilings_s

    @property
    def search_limit(self) -> float:
        """Reading of the clock that a search does not pass, however much is open."""
        return self.end - self.total_s * LEAST_FINISH_SHARE - self.ceilings_s

    def for_the_finish(self) -> Self:
        """Return a budget of which race and verification have their share from now on.

        For a search that took as long as it needed.
        """
        return replace(self, begun=self.clock(), spent_before_s=self.spent_s)

    def examples_to_verify(self, rate: float, scope_examples: int) -> int:
        """Return how many examples one config is verified on, over two epochs.

        All where that takes no more than `WHOLE_SHARE` of the budget, else as many as
        `VERIFY_SHARE` allows, and never fewer than a gate of the search has.

        Args:
            rate: of the config, examples a second.
            scope_examples: all there are.
        """
        delivered = self.total_s * rate / 2
        if scope_examples <= delivered * WHOLE_SHARE:
            return scope_examples
        allowed = int(delivered * VERIFY_SHARE)
        return min(scope_examples, max(allowed, GATE_EXAMPLES))

    @property
    def ceilings_s(self) -> float:
        """Seconds that are kept for passes over free examples."""
        return min(2 * CEILING_S, self.total_s * CEILINGS_SHARE)

    @property
    def left_s(self) -> float:
        """Seconds until the budget is spent, 0 at least."""
        return max(0.0, self.end - self.clock())

    @property
    def spent_s(self) -> float:
        """Seconds that this run and earlier ones have taken."""
        return self.spent_before_s + self.clock() - self.begun
