"""Ask Optuna for configs and tell it what came of them.

Optuna proposes; it is never the truth. It is told anew of all outcomes at each start,
and holds them in memory: no file of its own can stop a study (`search.journal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, Trial, TrialState

from autoloader.measure.intervals import median
from autoloader.measure.throughput import epoch_rate
from autoloader.search.journal import Journal
from autoloader.values.config import LoaderConfig
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoloader.search.space import Space

STARTUP_TRIALS = 6
"""Random proposals before TPE's model; its own 10 are half of a short study."""

MOST_REPEATS = 16
"""Proposals of known configs in a row after which the simplest new one is taken."""


class Study:
    """Optuna study of one space.

    Args:
        path: journal for Optuna's dashboards.
        space: what may be proposed.
        outcomes: what is known already.
        memory_bytes: budget, told to Optuna as a constraint.
        seed: of the sampler.
    """

    def __init__(
        self,
        path: Path,
        space: Space,
        *,
        outcomes: Sequence[Outcome],
        memory_bytes: int | None,
        seed: int,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self._memory_bytes = memory_bytes
        self._tried = {outcome.config for outcome in outcomes}
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS)
        self._study = optuna.create_study(sampler=sampler, direction="maximize")
        known = [self._frozen(outcome) for outcome in outcomes]
        self._study.add_trials(known)
        self._journal = Journal(path, known)
        self._asked: Trial | None = None

    def ask(self) -> LoaderConfig | None:
        """Return the config to try next, or None where all were tried."""
        untried = self._untried()
        if not untried:
            return None
        for _attempt in range(MOST_REPEATS):
            trial = self._study.ask()
            proposed = self._suggest(trial)
            if proposed not in self._tried:
                self._asked = trial
                return proposed
            self._study.tell(trial, state=TrialState.FAIL)
        return untried[0]

    def skip(self, config: LoaderConfig) -> None:
        """Pass over a proposal: it is not tried, and not proposed again."""
        self._tried.add(config)
        trial, self._asked = self._asked, None
        if trial is not None:
            self._study.tell(trial, state=TrialState.FAIL)

    def tell(self, outcome: Outcome) -> None:
        """Tell what came of the config that was asked for, or of one that had to be."""
        trial, self._asked = self._asked, None
        self._tried.add(outcome.config)
        frozen = self._frozen(outcome)
        if trial is None:
            self._study.add_trial(frozen)
        else:
            for name, value in self._constraints(outcome).items():
                trial.set_constraint(name, value)
            self._study.tell(trial, frozen.value, state=frozen.state)
        self._journal.add(frozen)

    def _untried(self) -> list[LoaderConfig]:
        return [config for config in self._space.configs() if config not in self._tried]

    def _suggest(self, trial: Trial) -> LoaderConfig:
        low, high = self._space.num_workers
        workers = trial.suggest_int("num_workers", low, high)
        found: dict[str, Any] = {}
        if workers:
            found["prefetch_factor"] = self._choice(trial, "prefetch_factor")
            found["persistent_workers"] = self._choice(trial, "persistent_workers")
        found["pin_memory"] = self._choice(trial, "pin_memory")
        found["batch_size"] = self._choice(trial, "batch_size")
        return LoaderConfig.canonical(num_workers=workers, **found)

    def _choice(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, getattr(self._space, name))

    def _frozen(self, outcome: Outcome) -> FrozenTrial:
        measured = outcome.status is Status.MEASURED
        params = {
            name: value
            for name, value in _params(outcome.config).items()
            if _allowed(self._distribution(name), value)
        }
        return optuna.trial.create_trial(
            state=TrialState.COMPLETE if measured else TrialState.FAIL,
            value=rate_of(outcome) if measured else None,
            params=params,
            distributions={name: self._distribution(name) for name in params},
            user_attrs=_attributes(outcome),
            constraints=self._constraints(outcome),
        )

    def _distribution(self, name: str) -> optuna.distributions.BaseDistribution:
        if name == "num_workers":
            return IntDistribution(*self._space.num_workers)
        return CategoricalDistribution(getattr(self._space, name))

    def _constraints(self, outcome: Outcome) -> dict[str, float]:
        if outcome.memory is None or self._memory_bytes is None:
            return {}
        return {"memory": float(outcome.memory.peak_bytes - self._memory_bytes)}


def rate_of(outcome: Outcome) -> float:
    """Return the median epoch rate of a measured outcome, examples a second."""
    return median([epoch_rate(reading) for reading in outcome.counted])


def _params(config: LoaderConfig) -> dict[str, Any]:
    params: dict[str, Any] = {
        "num_workers": config.num_workers,
        "pin_memory": config.pin_memory,
        "batch_size": config.batch_size,
    }
    if config.num_workers:
        params["prefetch_factor"] = config.prefetch_factor
        params["persistent_workers"] = config.persistent_workers
    return params


def _allowed(distribution: optuna.distributions.BaseDistribution, value: Any) -> bool:
    if isinstance(distribution, CategoricalDistribution):
        return value in distribution.choices
    if isinstance(distribution, IntDistribution):
        return bool(distribution.low <= value <= distribution.high)
    return False


def _attributes(outcome: Outcome) -> dict[str, Any]:
    """Return what dashboards show beside a trial."""
    found: dict[str, Any] = {
        "number": outcome.number,
        "status": outcome.status.value,
        "source": outcome.source,
    }
    if outcome.memory is not None:
        found["peak_memory_bytes"] = outcome.memory.peak_bytes
    if outcome.failure is not None:
        found["failure"] = outcome.failure.message
    if outcome.verdict is not None:
        found["findings"] = [finding.code for finding in outcome.verdict.findings]
    return found
