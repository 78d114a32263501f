"""A trial of a fleet as its storage keeps it: attributes in, frozen values out.

What is not ours (a trial that somebody asked for by hand) is no trial of the fleet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from autoloader.errors import AutoloaderError, StoredFileError
from autoloader.search.rates import rate_of
from autoloader.values.config import MOST, LoaderConfig
from autoloader.values.fleet import Holder
from autoloader.values.outcome import Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from optuna.distributions import BaseDistribution

Fate = Literal["running", "done", "lost", "withdrawn"]

BEGUN = "begun"
"""Attribute that a trial of a fleet is made with: what is tried, and by whom. One of
them: a database takes its time for each."""

BEAT, OUTCOME, WITHDRAWN = "beat", "outcome", "withdrawn"
"""Attributes that are set later."""

MOST_LOST = 3
"""Machines that may die in trials of one config: what ended all of them, the memory of
a whole machine say, would end the others as well."""

_FLAG = CategoricalDistribution((False, True))

_DISTRIBUTIONS: dict[str, BaseDistribution] = {
    "num_workers": IntDistribution(0, MOST),
    "prefetch_factor": IntDistribution(1, MOST),
    "pin_memory": _FLAG,
    "persistent_workers": _FLAG,
    "batch_size": IntDistribution(1, MOST),
}
"""The same for all machines, whatever each allows: Optuna takes no others later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTrial:
    """One trial of a fleet's study."""

    trial_id: int
    """What the storage calls it."""
    number: int
    """Place in the study: a lower one was there before."""
    config: LoaderConfig
    source: str
    """Who proposed it."""
    token: str
    """What its holder, and nobody else, called it."""
    holder: Holder
    """Who measures it."""
    fate: Fate
    """`running`; `done`: it has an outcome; `lost`: its holder died;
    `withdrawn`: its holder gave it back, or saw that it was another's."""
    beat: int
    """Signs of life of its holder."""
    outcome: Outcome | None
    """What came of it. While it runs: its holder ended before it could say so."""

    @property
    def counts(self) -> bool:
        """Whether it is one of the study's trials."""
        return self.fate != "withdrawn"


def template(
    config: LoaderConfig, *, source: str, token: str, holder: Holder
) -> FrozenTrial:
    """Return the trial that a machine asks for; it runs from the moment it is there."""
    params = {
        name: value
        for name, value in config.to_dict().items()
        if value is not None and (config.num_workers or name != "persistent_workers")
    }
    return optuna.trial.create_trial(
        state=TrialState.RUNNING,
        params=params,
        distributions={name: _DISTRIBUTIONS[name] for name in params},
        user_attrs={
            BEGUN: {
                "config": config.to_dict(),
                "source": source,
                "token": token,
                "holder": holder.to_dict(),
            }
        },
    )


def trial_of(found: FrozenTrial) -> SharedTrial | None:
    """Return a trial of the storage as one of the fleet; None: it is none.

    Raises:
        StoredFileError: it is damaged.
    """
    held = found.user_attrs
    if BEGUN not in held:
        return None
    try:
        begun, outcome = held[BEGUN], held.get(OUTCOME)
        return SharedTrial(
            trial_id=found._trial_id,
            number=found.number,
            config=LoaderConfig.from_dict(begun["config"]),
            source=str(begun["source"]),
            token=str(begun["token"]),
            holder=Holder.from_dict(begun["holder"]),
            fate=_fate(found.state, held),
            beat=int(held.get(BEAT, 0)),
            outcome=None if outcome is None else Outcome.from_dict(outcome),
        )
    except (AutoloaderError, KeyError, TypeError, ValueError) as exc:
        msg = f"trial {found.number} of the fleet's study cannot be used: {exc}"
        raise StoredFileError(msg, hint="all machines need one version") from exc


def given_up(trials: Iterable[SharedTrial]) -> frozenset[LoaderConfig]:
    """Return the configs that are given out no more: too many machines died in them."""
    lost: Counter[LoaderConfig] = Counter()
    for item in trials:
        if item.fate == "lost":
            lost[item.config] += 1
    return frozenset(config for config, times in lost.items() if times >= MOST_LOST)


def state_and_values(outcome: Outcome) -> tuple[TrialState, list[float] | None]:
    """Return how an outcome stands in Optuna, for dashboards."""
    rate = rate_of(outcome) if outcome.status is Status.MEASURED else None
    if rate is None:
        return TrialState.FAIL, None
    return TrialState.COMPLETE, [rate]


def _fate(state: TrialState, held: dict[str, Any]) -> Fate:
    if held.get(WITHDRAWN):
        return "withdrawn"
    if not state.is_finished():
        return "running"
    return "done" if OUTCOME in held else "lost"
