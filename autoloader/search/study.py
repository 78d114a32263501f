"""The study as Optuna sees it: each trial is asked for, suggested and told.

What is tried is said by incumbents and `search.strategy`, and enqueued. Optuna is never
the truth: it is told anew of all outcomes at each start, and holds them in memory, so
that no file of its own can stop a study (`search.journal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, Trial, TrialState

from autoloader.search.journal import Journal
from autoloader.search.rates import rate_of
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig


class Study:
    """Optuna study of one space.

    Args:
        path: journal for Optuna's dashboards.
        space: what may be proposed.
        outcomes: what is known already.
        memory_bytes: budget, told to Optuna as a constraint.
    """

    def __init__(
        self,
        path: Path,
        space: Space,
        *,
        outcomes: Sequence[Outcome],
        memory_bytes: int | None,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self._memory_bytes = memory_bytes
        sampler = optuna.samplers.RandomSampler(seed=0)  # all trials are enqueued
        self._study = optuna.create_study(sampler=sampler, direction="maximize")
        known = [self._frozen(outcome) for outcome in outcomes]
        self._study.add_trials(known)
        self._journal = Journal(path, known)
        self._asked: Trial | None = None

    def ask(self, config: LoaderConfig) -> None:
        """Begin the trial of a config; one outside the space is only told of later."""
        params = _params(config)
        if any(not _allowed(self._distribution(key), params[key]) for key in params):
            return
        self._study.enqueue_trial(params)
        trial = self._study.ask()
        self._suggest(trial)
        self._asked = trial

    def tell(self, outcome: Outcome) -> None:
        """Tell what came of the trial that was begun, or of one outside the space."""
        trial, self._asked = self._asked, None
        frozen = self._frozen(outcome)
        if trial is None:
            self._study.add_trial(frozen)
        else:
            for name, value in self._constraints(outcome).items():
                trial.set_constraint(name, value)
            self._study.tell(trial, frozen.value, state=frozen.state)
        self._journal.add(frozen)

    def _suggest(self, trial: Trial) -> None:
        low, high = self._space.num_workers
        if trial.suggest_int("num_workers", low, high):
            self._choice(trial, "prefetch_factor")
            self._choice(trial, "persistent_workers")
        self._choice(trial, "pin_memory")
        self._choice(trial, "batch_size")

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
