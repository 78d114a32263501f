"""A trial as Optuna's own tools show it: settings, rate, fate, what speaks against it.

Pure: an outcome in, Optuna's value out. Which study it is told to is `search.study`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from autoloader.measure.intervals import Interval, median
from autoloader.measure.throughput import epoch_rate, pooled_waits
from autoloader.units import format_bytes, format_rate
from autoloader.values.outcome import Finding, Outcome, Status
from autoloader.values.passwords import without_passwords
from autoloader.values.target import CONFIDENCE, INDIFFERENCE, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig

METRIC = "examples/s"
"""Name of a trial's value."""

CHOSEN = "chosen"
"""What a config is that is recommended."""

_OLD_CONSTRAINTS = "constraints"
"""Where Optuna before version 5 kept constraints, as a list without names. Its
dashboard (0.21) looks for them there, and nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """How the outcomes of one study become Optuna's trials."""

    space: Space
    target: Target
    """What is wanted; a rate of it is a constraint, a share of the best only once the
    best is known."""
    best_examples_per_s: float | None = None
    """Rate of the best config; None: it is not known yet."""
    names: Mapping[LoaderConfig, tuple[str, ...]] = field(default_factory=dict)
    """What configs are besides: `chosen`, `fastest`."""

    def trial(self, outcome: Outcome) -> FrozenTrial:
        """Return the trial of an outcome; what is wrong or broken has no value."""
        params = {
            name: value
            for name, value in params_of(outcome.config).items()
            if is_allowed(distribution_of(self.space, name), value)
        }
        constraints = self.constraints(outcome)
        measured = outcome.status is Status.MEASURED
        trial = optuna.trial.create_trial(
            state=TrialState.COMPLETE if measured else TrialState.FAIL,
            value=_shown(rate_told(outcome)),
            params=params,
            distributions={name: distribution_of(self.space, name) for name in params},
            user_attrs=self._attributes(outcome, constraints),
            system_attrs={_OLD_CONSTRAINTS: list(constraints.values())},
            constraints=constraints,
        )
        _set_times(trial, outcome)
        return trial

    def constraints(self, outcome: Outcome) -> dict[str, float]:
        """Return what a trial must keep to, by name: above 0 where it does not.

        `data`: findings of the gate. `failure`: 1 where it did not come to its end.
        `memory`: bytes beyond the budget. `target`: examples a second that are missing,
        less what counts as met; of medians, but what was chosen meets it by the race,
        round by round. What is not known is left out.
        """
        found = {"failure": 0.0 if outcome.failure is None else 1.0}
        if outcome.verdict is not None:
            found["data"] = float(len(outcome.verdict.findings))
        memory_bytes = self.target.memory_bytes
        if outcome.memory is not None and memory_bytes is not None:
            found["memory"] = float(outcome.memory.peak_bytes - memory_bytes)
        wanted, rate = self._wanted(), rate_told(outcome)
        if wanted is not None and rate is not None:
            missing = wanted * (1 - INDIFFERENCE) - rate
            is_chosen = CHOSEN in self.names.get(outcome.config, ())
            found["target"] = min(missing, 0.0) if is_chosen else missing
        return found

    def _wanted(self) -> float | None:
        """Return the rate that is wanted; None: it is not known yet."""
        if self.target.share_of_best is None:
            return self.target.examples_per_s
        best = self.best_examples_per_s
        return None if best is None else self.target.rate(best)

    def _attributes(
        self, outcome: Outcome, constraints: Mapping[str, float]
    ) -> dict[str, Any]:
        """Return what dashboards show beside a trial."""
        why, names = _why_not(outcome, constraints), self.names.get(outcome.config)
        return {  # a dashboard shows the first few without scrolling
            **({} if names is None else {"is": " = ".join(names)}),
            "config": outcome.config.describe(),
            "status": outcome.status.value,
            "feasible": why is None,
            **({} if why is None else {"why_not": why}),
            **_figures(outcome),
            **_said_by_the_gate(outcome),
            **_said_of_the_failure(outcome),
            "proposed_by": outcome.source,
            "seconds": round(outcome.seconds, 1),
            "number": outcome.number,
        }


def params_of(config: LoaderConfig) -> dict[str, Any]:
    """Return the settings by name, without those that mean nothing at 0 workers.

    The space is conditional.
    """
    params: dict[str, Any] = {
        "num_workers": config.num_workers,
        "pin_memory": config.pin_memory,
        "batch_size": config.batch_size,
    }
    if config.num_workers:
        params["prefetch_factor"] = config.prefetch_factor
        params["persistent_workers"] = config.persistent_workers
    return params


def distribution_of(space: Space, name: str) -> BaseDistribution:
    """Return the values that a setting may have, as Optuna has them."""
    if name == "num_workers":
        return IntDistribution(*space.num_workers)
    return CategoricalDistribution(getattr(space, name))


def is_allowed(distribution: BaseDistribution, value: Any) -> bool:
    """Return whether a setting may have this value."""
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    if isinstance(distribution, IntDistribution):
        return bool(distribution.low <= value <= distribution.high)
    return False


def rate_told(outcome: Outcome) -> float | None:
    """Return the median rate by the race, else by the search; None: not measured."""
    rates = [epoch_rate(reading) for reading in outcome.raced]
    return median(rates) if rates else None


def _shown(rate: float | None) -> float | None:
    """Return a rate with as many digits as a dashboard can show."""
    return None if rate is None else float(f"{rate:.7g}")


def _set_times(trial: FrozenTrial, outcome: Outcome) -> None:
    """Say when the trial ran, in this machine's zone, as Optuna does it."""
    if outcome.begun_at is None:
        return
    begun = datetime.fromisoformat(outcome.begun_at).astimezone().replace(tzinfo=None)
    trial.datetime_start = begun
    trial.datetime_complete = begun + timedelta(seconds=outcome.seconds)


def _why_not(outcome: Outcome, constraints: Mapping[str, float]) -> str | None:
    """Return what speaks against a config, as far as is known; None: nothing does."""
    if outcome.failure is not None:
        failure = outcome.failure
        return without_passwords(f"{failure.kind}: {failure.message}")
    if outcome.verdict is not None and outcome.verdict.findings:
        return "; ".join(item.sentence for item in outcome.verdict.findings)
    over = constraints.get("memory", 0.0)
    if over > 0:
        return f"memory: {format_bytes(over)} more than is allowed"
    missing = constraints.get("target", 0.0)
    if missing > 0:
        return f"target: {format_rate(missing)} examples/s are missing"
    return None


def _figures(outcome: Outcome) -> dict[str, Any]:
    """Return what was measured beside the rate."""
    found: dict[str, Any] = {}
    rates = [rate for item in outcome.raced if (rate := epoch_rate(item)) > 0]
    if rates:
        found["readings"] = len(rates)
        found["raced"] = any(item.purpose == "race" for item in outcome.counted)
        interval = Interval.of(rates, error=1 - CONFIDENCE)
        if interval.low is not None and interval.high is not None:
            found["rate_low"] = round(interval.low, 1)
            found["rate_high"] = round(interval.high, 1)
    waits = pooled_waits(outcome.raced)
    if waits is not None:
        found["wait_p50_ms"] = round(waits.p50_s * 1000, 3)
        found["wait_p99_ms"] = round(waits.p99_s * 1000, 3)
    if outcome.memory is not None:
        found["peak_memory_mib"] = round(outcome.memory.peak_bytes / 2**20, 1)
    return found


def _said_by_the_gate(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    if verdict is None:
        return {}
    return {
        "findings": _codes(verdict.findings),
        "cautions": _codes(verdict.cautions),
        "examples_compared": verdict.examples,
    }


def _said_of_the_failure(outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure
    if failure is None:
        return {}
    return {"failure": failure.kind, "failure_phase": failure.phase}


def _codes(findings: Iterable[Finding]) -> list[str]:
    return list(dict.fromkeys(item.code for item in findings))
