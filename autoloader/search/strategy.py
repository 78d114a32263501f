"""Which config to try next, and whether what was tried is enough.

The search does not look for the fastest config: it looks for configs among which a race
can find the simplest one that meets the target. Each draw of what may be true
(`search.belief`) has an answer; the configs tried so far serve a draw where one of them
is enough there and as simple as the simplest that clearly is, and, where the target is
a share of the best, one of them is about as fast as the best. Tried next is what serves
the most draws that are not served yet. A search is settled when nearly all are.

Race finalists are picked by the same count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Self

import numpy as np

from autoloader.search.belief import Belief
from autoloader.search.question import Chance, Question
from autoloader.search.selection import LIKELY, simplicity
from autoloader.values.target import DRIFT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from autoloader.search.cost_model import CostModel
    from autoloader.search.space import Space
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

SETTLED = 0.05
"""Share of possible truths that tried configs may leave unserved at the end."""

LEAST_GAIN = 0.03
"""Least share that a further config must serve to be worth a trial. With 0.01, tunes of
two cores tried eight to thirteen of 33 configs, and chose no better."""

LEAST_PLACE = 0.03
"""Least share that a further finalist must serve: each one costs the others rounds."""

SURE = NormalDist().inv_cdf(LIKELY)
"""Deviations by which a config must lie above what is enough to be known to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What to try next."""

    config: LoaderConfig
    gain: float
    """Share of what the possible truths ask for that it has and nothing tried does."""
    unserved: float
    """Share that nothing tried serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOrder:
    """Proposes every config once, the simplest first: an exhaustive search."""

    configs: Sequence[LoaderConfig]

    def propose(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
    ) -> Proposal | None:
        """Return the simplest config that was not tried; None: all were."""
        known = {*readings, *excluded}
        left = [item for item in self.configs if item not in known]
        if not left:
            return None
        share = len(left) / len(self.configs)
        return Proposal(config=left[0], gain=1.0, unserved=share)


@dataclass(slots=True, kw_only=True)
class Strategy:
    """Proposes trials and finalists for one space and one target."""

    configs: Sequence[LoaderConfig]
    """What may be chosen."""
    batch_sizes: Sequence[int | None]
    """In order of preference."""
    model: CostModel
    target: Target
    seed: int = 0
    _belief: Belief | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        space: Space,
        model: CostModel,
        target: Target,
        *,
        seed: int,
        also: Sequence[LoaderConfig] = (),
    ) -> Self:
        """Return the strategy of a space.

        Args:
            space: what may be chosen.
            model: predicts rates until some are read.
            target: what is wanted of one rank.
            seed: of the possible truths.
            also: what may be chosen besides.
        """
        return cls(
            configs=tuple(dict.fromkeys((*space.configs(), *also))),
            batch_sizes=space.batch_size,
            model=model,
            target=target,
            seed=seed,
        )

    def propose(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
    ) -> Proposal | None:
        """Return what to try next; None: what was tried is enough.

        Args:
            readings: rates of the configs that were measured, examples a second.
            excluded: configs that cannot be chosen: they failed, or are known to.
        """
        if not set(self.configs) - readings.keys() - set(excluded):
            return None
        question = self._question(readings, excluded, among=self.configs)
        untried = question.allowed & ~question.tried
        unserved = question.unserved_by(question.tried)
        share = float(1 - unserved.served.mean())
        if share <= SETTLED:
            return None
        gains = np.where(untried, unserved.gains(), -1.0)
        place = int(gains.argmax())
        if gains[place] < LEAST_GAIN:
            return None
        return Proposal(
            config=question.configs[place], gain=float(gains[place]), unserved=share
        )

    def finalists(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
        *,
        limit: int,
    ) -> tuple[LoaderConfig, ...]:
        """Return measured configs that serve the most draws, most important first.

        The best and the simplest are then looked for among the measured ones: nothing
        else can be raced. Of any that were measured, one at least is returned.
        """
        if not self._choosable(readings, excluded):
            return ()
        question = self._question(readings, excluded, among=readings)
        able = question.allowed
        chosen = np.zeros_like(able)
        found: list[LoaderConfig] = []
        while len(found) < limit:
            gains = np.where(able & ~chosen, question.unserved_by(chosen).gains(), -1.0)
            place = int(gains.argmax())
            if gains[place] < LEAST_PLACE and found:
                break
            chosen[place] = True
            found.append(question.configs[place])
        return tuple(found)

    def chances(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
        *,
        drift: float = DRIFT,
    ) -> dict[LoaderConfig, Chance]:
        """Return what the possible truths say of each measured config.

        A share is wanted of the best of the measured ones. What may not be chosen has
        no chance.

        Args:
            readings: rates of the configs that were measured, examples a second.
            excluded: configs that cannot be chosen.
            drift: how far minutes may be from the long run (`standings.drift_of`).
        """
        if not self._choosable(readings, excluded):
            return {}
        question = self._question(readings, excluded, among=readings, drift=drift)
        found = question.chances()
        return {
            config: chance
            for config, chance in zip(question.configs, found, strict=True)
            if config in readings and config not in excluded
        }

    def untried(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig] = (),
    ) -> float | None:
        """Return how likely something that was not tried is faster than all that was.

        That is the share of possible truths in which the best config is more than
        `question.AS_FAST` ahead of all measured ones. None where a rate is wanted, or
        nothing that may be chosen was measured: nothing hangs on it there.
        """
        if self.target.share_of_best is None or not self._choosable(readings, excluded):
            return None
        question = self._question(readings, excluded, among=self.configs)
        return float(question.unserved_by(question.tried).lacks_best.mean())

    def _choosable(
        self, readings: Collection[LoaderConfig], excluded: Collection[LoaderConfig]
    ) -> set[LoaderConfig]:
        """Return the measured configs that may be chosen."""
        return set(self.configs) & set(readings) - set(excluded)

    def _question(
        self,
        readings: Mapping[LoaderConfig, Sequence[float]],
        excluded: Collection[LoaderConfig],
        *,
        among: Collection[LoaderConfig],
        drift: float | None = None,
    ) -> Question:
        """Return the question of which config to choose, out of some.

        How far these minutes are from the long run is part of a truth where `drift`
        says by how much. Where it does not, what to measure is asked: no reading of
        these minutes tells it, so that a config must be enough however it is.
        """
        belief = self._belief
        if belief is None or not all(key in belief for key in readings):
            found = sorted(
                {*self.configs, *readings},
                key=lambda config: simplicity(config, self.batch_sizes),
            )
            belief = self._belief = Belief(found, self.model, seed=self.seed)
        may = set(self.configs) & set(among) - set(excluded)
        draws = belief.draw(readings)
        if drift is not None:
            draws = draws + _in_the_long_run(len(draws), self.seed, drift)
        is_rate = self.target.share_of_best is None  # of a share, it cancels
        return Question(
            configs=belief.configs,
            draws=draws,
            tried=np.array([config in readings for config in belief.configs]),
            allowed=np.array([item in may for item in belief.configs]),
            target=self.target,
            margin=SURE * DRIFT if is_rate and drift is None else 0.0,
        )


def _in_the_long_run(count: int, seed: int, drift: float) -> NDArray[np.float64]:
    """Return how far rates of these minutes may be from later ones, (D, 1).

    All configs alike, in logs. Quantiles in a random order, so that few draws have the
    deviation that they should.
    """
    normal = NormalDist(sigma=drift)
    found = [normal.inv_cdf((place + 0.5) / count) for place in range(count)]
    rng = np.random.default_rng([seed % 2**64, 2])
    return rng.permutation(np.array(found))[:, None]
