"""What possible truths ask for, and what each config is worth in them.

Pure: draws of what every config's rate may be (`search.belief`) in, counts out. Which
config to try or to race next is decided from them by `search.strategy`, who runs in a
round and when a race is settled by `search.race`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autoloader.values.target import INDIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

    Flags = NDArray[np.bool_]

CLEARLY = math.log(1.06)
"""Log rate above the target from which a config should have been found."""

AS_FAST = 0.03
"""Log rate below the best that counts as the best: a share target rests on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """What possible truths say of one config, as shares of them."""

    meets: float
    """It meets the target, less the indifference zone."""
    clearly: float
    """It has so much more than is wanted (`CLEARLY`, or half of the way to the best)
    that a simpler choice is missed without it."""
    matters: float
    """It is the simplest that meets the target, or the fastest where none does; where a
    share of the fastest is wanted, it may be that one instead."""


class Question:
    """Possible truths, and what each of them asks for.

    Args:
        configs: N settings, the simplest first.
        draws: (D, N) log rates.
        tried: which were measured.
        allowed: which may be chosen.
        target: what is wanted.
        margin: log rate by which a config must be above what is enough, where some
            config is.
    """

    def __init__(
        self,
        *,
        configs: Sequence[LoaderConfig],
        draws: NDArray[np.float64],
        tried: Flags,
        allowed: Flags,
        target: Target,
        margin: float = 0.0,
    ) -> None:
        self.configs, self.tried, self.allowed = configs, tried, allowed
        draws = np.where(allowed, draws, -np.inf)
        best = draws.max(axis=1, keepdims=True)
        self._as_fast = allowed & (draws >= best - AS_FAST)
        if target.share_of_best is None:
            wanted = np.full_like(best, math.log(target.rate(0.0)))
            needs_best = wanted > best
        else:
            wanted = best + math.log(target.share_of_best)
            needs_best = np.full_like(best, fill_value=True, dtype=bool)
        self._needs_best = needs_best[:, 0]
        zone = math.log1p(-INDIFFERENCE)
        self._meets = allowed & (draws >= wanted + zone)
        # where nothing reaches the target, the best is what is looked for
        enough = allowed & (draws >= np.minimum(wanted + margin, best) + zone)
        reached = np.minimum(wanted, best)
        self._clearly = draws >= reached + np.minimum(CLEARLY, (best - reached) / 2)
        simplest = self._clearly.argmax(axis=1)
        not_later = np.arange(len(configs))[None, :] <= simplest[:, None]
        self._good = enough & not_later
        self._fastest = draws.argmax(axis=1)
        self._is_share = target.share_of_best is not None

    def chances(self) -> list[Chance]:
        """Return what the draws say of each config, in the order of the configs."""
        chosen = self._meets.argmax(axis=1)
        chosen = np.where(self._meets.any(axis=1), chosen, self._fastest)
        places = np.arange(len(self.configs))
        matters = places == chosen[:, None]
        if self._is_share:
            matters |= places == self._fastest[:, None]
        shares = (self._meets, self._clearly, matters)
        columns = zip(*(share.mean(axis=0).tolist() for share in shares), strict=True)
        return [Chance(meets=a, clearly=b, matters=c) for a, b, c in columns]

    def unserved_by(self, chosen: Flags) -> Unserved:
        """Return what configs leave open."""
        has_good = self._good[:, chosen].any(axis=1)
        has_best = self._as_fast[:, chosen].any(axis=1) | ~self._needs_best
        return Unserved(
            lacks_good=~has_good,
            lacks_best=~has_best,
            good=self._good,
            as_fast=self._as_fast,
            needs=len(has_good) + int(self._needs_best.sum()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """What some configs leave open in each draw."""

    lacks_good: Flags
    """(D,)"""
    lacks_best: Flags
    """(D,)"""
    good: Flags
    """(D, N): configs that are enough, and simple enough."""
    as_fast: Flags
    """(D, N): configs about as fast as the best."""
    needs: int
    """What the draws ask for: each one that is enough, some one that is fast too."""

    @property
    def served(self) -> Flags:
        """Draws for which nothing is left open, (D,)."""
        return ~(self.lacks_good | self.lacks_best)

    def gains(self) -> NDArray[np.float64]:
        """Return for each config how much of what is open it would close, (N,)."""
        good = self.good[self.lacks_good].sum(axis=0)
        best = self.as_fast[self.lacks_best].sum(axis=0)
        found: NDArray[np.float64] = (good + best) / self.needs
        return found
