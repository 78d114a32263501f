"""Take readings: plan each pass, and repeat what was too short or spoiled by others.

Every reading that was taken is handed back, to be stored; those that another stands for
say why. What a pass reads is `measure.planning`'s, what spoils it `measure.noise`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from autoloader.measure.noise import is_spoiled
from autoloader.measure.planning import is_too_short, plan_pass
from autoloader.measure.throughput import ranks_of
from autoloader.search.moments import begun_now
from autoloader.search.prediction import shm_free_now
from autoloader.values.outcome import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from autoloader.search.moments import Moment
    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import TrialRunner
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome, Reading, Verdict
    from autoloader.values.scope import DatasetFacts, Scope

IN_VAIN = 2
"""Repeats in a row that were spoiled as well, after which none is made any more: the
machine is busy for good, and rounds will have to cancel that."""

MOST_TOO_SHORT = 4
"""Readings in a row to find out how long a pass must be. The first batches of a process
are slow, so that a few of them foretell too long a time for the others."""

PASS_SHARE = 0.015
"""Part of the budget that one pass should not exceed: some forty passes and two whole
verifications are what three minutes are spent on."""


@dataclass(slots=True, kw_only=True)
class Stopwatch:
    """Takes readings of configs whose data is right."""

    runner: TrialRunner
    facts: DatasetFacts
    scope: Scope
    machine: Machine
    limit_s: float
    """Seconds that a pass should not exceed."""
    ranks: int = 1
    """Training processes that share the CPUs."""
    at_once: int = 1
    """Those of them that the runner runs, whose memory and rates add up."""
    shm_free_bytes: Callable[[], int | None] = shm_free_now
    """Tells the room in `/dev/shm` now; None where there is none. Asked before each
    trial: in a long study, others may fill it."""
    moment: Callable[[], Moment | None] = lambda: None
    """Tells when it is; None: nobody keeps the time."""
    _known: dict[LoaderConfig, Reading] = field(default_factory=dict)
    _in_vain: int = 0

    @property
    def cpus(self) -> float:
        """CPUs that a loader may use."""
        return self.machine.effective_cpus / self.ranks

    def remember(self, outcomes: Iterable[Outcome]) -> None:
        """Take over what earlier readings tell of how long passes take."""
        for outcome in outcomes:
            if outcome.readings:
                self._known[outcome.config] = ranks_of(outcome.readings[-1])[0]

    def take(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str
    ) -> tuple[Reading, ...] | Failure:
        """Return the readings that were taken; only the last one counts.

        Args:
            config: what is timed.
            verdict: what the gate said of it.
            purpose: kept with the readings.
        """
        first = self._read(config, verdict, purpose)
        if isinstance(first, Failure):
            return first
        taken = [first]
        while self._may_be_longer(taken[-1]) and len(taken) < MOST_TOO_SHORT:
            failure = self._again(taken, config, verdict, purpose, "too_short")
            if failure is not None:
                return failure
        if self._in_vain < IN_VAIN and self._is_spoiled(taken[-1]):
            failure = self._again(taken, config, verdict, purpose, "spoiled")
            if failure is not None:
                return failure
            self._in_vain = self._in_vain + 1 if self._is_spoiled(taken[-1]) else 0
        return tuple(taken)

    def _again(
        self,
        taken: list[Reading],
        config: LoaderConfig,
        verdict: Verdict,
        purpose: str,
        why: Literal["too_short", "spoiled"],
    ) -> Failure | None:
        """Add another reading, which stands for the last one."""
        found = self._read(config, verdict, purpose)
        if isinstance(found, Failure):
            return found
        taken[-1] = replace(taken[-1], replaced_because=why)
        taken.append(found)
        return None

    def _read(
        self, config: LoaderConfig, verdict: Verdict, purpose: str
    ) -> Reading | Failure:
        plan = plan_pass(
            config,
            facts=self.facts,
            scope=self.scope,
            cpus=self.cpus,
            limit_s=self.limit_s,
            known=self._known.get(config),
        )
        begun = begun_now(self.moment())
        found = self.runner.time(config, verdict=verdict, purpose=purpose, plan=plan)
        if isinstance(found, Failure):
            return found
        found = replace(found, **begun)
        self._known[config] = ranks_of(found)[0]
        return found

    def _may_be_longer(self, reading: Reading) -> bool:
        """Whether a reading is too short, and a longer one is within the limit."""
        return is_too_short(reading) and reading.total_s < self.limit_s / 2

    def _is_spoiled(self, reading: Reading) -> bool:
        return is_spoiled(reading, self.machine.logical_cpus)
