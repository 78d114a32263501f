"""The study as Optuna sees it: each trial is asked for, suggested and told.

What is tried is said by incumbents and `search.strategy`, and enqueued. Optuna is never
the truth: it is told anew of all outcomes at each start, and holds them in memory, so
that no file of its own can stop a study (`search.journal`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import optuna

from autoloader.search.frozen_trials import (
    CHOSEN,
    Freezing,
    distribution_of,
    is_allowed,
    params_of,
    rate_told,
)
from autoloader.search.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from optuna.trial import Trial

    from autoloader.search.selection import Choice
    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome
    from autoloader.values.target import Target


class Study:
    """Optuna study of one space.

    Args:
        path: journal for Optuna's dashboards.
        space: what may be proposed.
        outcomes: what is known already.
        target: what is wanted; it is told to Optuna as constraints.
        about: what dashboards show of the study itself, by name.
    """

    def __init__(
        self,
        path: Path,
        space: Space,
        *,
        outcomes: Sequence[Outcome],
        target: Target,
        about: Mapping[str, str] | None = None,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self._freezing = Freezing(space=space, target=target)
        self._about = {**(about or {}), "target": target.describe()}
        sampler = optuna.samplers.RandomSampler(seed=0)  # all trials are enqueued
        self._study = optuna.create_study(sampler=sampler, direction="maximize")
        known = [self._freezing.trial(outcome) for outcome in outcomes]
        self._study.add_trials(known)
        self._journal = Journal(path, known, about=self._about)
        self._asked: Trial | None = None

    def ask(self, config: LoaderConfig) -> None:
        """Begin the trial of a config; one outside the space is only told of later."""
        params = params_of(config)
        if any(
            not is_allowed(distribution_of(self._space, key), params[key])
            for key in params
        ):
            return
        self._study.enqueue_trial(params)
        trial = self._study.ask()
        self._suggest(trial)
        self._asked = trial

    def tell(self, outcome: Outcome) -> None:
        """Tell what came of the trial that was begun, or of one outside the space."""
        trial, self._asked = self._asked, None
        frozen = self._freezing.trial(outcome)
        if trial is None:
            self._study.add_trial(frozen)
        else:
            for name, value in self._freezing.constraints(outcome).items():
                trial.set_constraint(name, value)
            self._study.tell(trial, frozen.value, state=frozen.state)
        self._journal.add(frozen)

    def conclude(self, outcomes: Sequence[Outcome], choice: Choice) -> None:
        """Tell dashboards how it ended: race and verification are part of it then.

        Args:
            outcomes: all of the study, as they are known last.
            choice: what was chosen of them.
        """
        best = next((item for item in outcomes if item.config == choice.best), None)
        names: dict[LoaderConfig, tuple[str, ...]] = {}
        for name, config in (("fastest", choice.best), (CHOSEN, choice.config)):
            if config is not None:
                names[config] = (*names.get(config, ()), name)
        freezing = replace(
            self._freezing,
            best_examples_per_s=None if best is None else rate_told(best),
            names=names,
        )
        recommended = {} if choice.config is None else _chosen(choice.config)
        ending = {"state": choice.state, **recommended, "reason": choice.reason}
        trials = [freezing.trial(outcome) for outcome in outcomes]
        self._journal.conclude(trials, about={**ending, **self._about})

    def _suggest(self, trial: Trial) -> None:
        low, high = self._space.num_workers
        if trial.suggest_int("num_workers", low, high):
            self._choice(trial, "prefetch_factor")
            self._choice(trial, "persistent_workers")
        self._choice(trial, "pin_memory")
        self._choice(trial, "batch_size")

    def _choice(self, trial: Trial, name: str) -> Any:
        return trial.suggest_categorical(name, getattr(self._space, name))


def _chosen(config: LoaderConfig) -> dict[str, str]:
    return {CHOSEN: config.describe()}
