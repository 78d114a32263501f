"""How readings of a replay differ from the truth: scatter, drift, bursts, or recorded.

A moment says how much slower everything is at a reading; what it is slower than stands
in `search.tables`.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autoloader.errors import UsageError
from autoloader.measure.intervals import median

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.values.config import LoaderConfig

START_SCATTER = 3.0
"""How many times as much as rates the start of workers scatters."""

BLOCK_ROUNDS = 3
"""Recorded rounds that follow each other in a replay as they did when they ran: what
lasts longer than a round is kept."""

LEAST_ROUNDS = 5
"""Readings of a config from which its noise is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the machine does to one reading."""

    slower: float
    """Seconds that something takes, as a multiple of what it takes undisturbed."""
    start_slower: float = 1.0
    """The same of starting and ending workers, on top of it."""
    foreign_share: float = 0.0
    """Part of the CPUs that others have meanwhile: it slows down what needs them."""


class Disturbance(Protocol):
    """Tells what each reading of one study meets."""

    def at(self, now_s: float, config: LoaderConfig, batch_scatter: float) -> Moment:
        """Return what a reading meets.

        Args:
            now_s: when it begins, on the replay's clock.
            config: what is read.
            batch_scatter: deviation of the log rate that its few batches have anyway.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Size of what disturbs the readings of a simulated machine."""

    scatter: float = 0.05
    """Deviation of the logarithm of a reading's rate, each for itself."""
    drift: float = 0.03
    """Deviation of the logarithm of what changes slowly, for all configs alike."""
    drift_s: float = 60.0
    """Seconds after which a third of the drift is left."""
    bursts: float = 0.02
    """Part of the readings during which others take CPUs."""
    burst_share: float = 0.3
    """Part of the CPUs that they take."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("scatter", "drift"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                msg = f"{name} must be at least 0 and below 1, got {value:g}"
                raise UsageError(msg)
        if self.drift_s <= 0:
            msg = f"drift_s must be above 0, got {self.drift_s:g}"
            raise UsageError(msg)
        for name in ("bursts", "burst_share"):
            value = getattr(self, name)
            if not 0 <= value <= 0.9:
                msg = f"{name} must be at least 0 and at most 0.9, got {value:g}"
                raise UsageError(msg)


class DrawnNoise:
    """Draws what each reading meets: scatter, a drift that forgets, and bursts.

    Args:
        noise: how much of each.
        seed: the same seed gives the same course.
    """

    def __init__(self, noise: Noise, seed: int) -> None:
        self._noise = noise
        self._random = random.Random(seed)  # noqa: S311  # no secret depends on it
        self._since_s = 0.0
        self._drift = self._random.gauss(0.0, noise.drift)

    def at(
        self,
        now_s: float,
        config: LoaderConfig,  # noqa: ARG002  # all are disturbed alike
        batch_scatter: float,
    ) -> Moment:
        """Return what a reading meets, whatever config is read."""
        noise = self._noise
        kept = math.exp(-max(0.0, now_s - self._since_s) / noise.drift_s)
        self._since_s = max(now_s, self._since_s)
        fresh = noise.drift * math.sqrt(1 - kept**2)
        self._drift = self._drift * kept + self._random.gauss(0.0, fresh)
        own = self._random.gauss(0.0, math.hypot(noise.scatter, batch_scatter))
        starting = self._random.gauss(0.0, START_SCATTER * noise.scatter)
        is_burst = self._random.random() < noise.bursts
        taken = noise.burst_share if is_burst else 0.0
        return Moment(
            slower=math.exp(self._drift + own),
            start_slower=math.exp(starting),
            foreign_share=taken,
        )


class RecordedNoise:
    """Draws what recorded rounds had, in blocks of rounds that followed each other.

    What a round did to all configs alike is so kept, and what lasted for some rounds.

    Args:
        rates: of each config its epoch rates, round by round; None: not read.
        seed: the same seed gives the same course.

    Raises:
        UsageError: a config was read too few times.
    """

    def __init__(
        self, rates: Mapping[LoaderConfig, Sequence[float | None]], seed: int
    ) -> None:
        self._slower = {
            config: _slower(config, values) for config, values in rates.items()
        }
        self._rounds = max((len(each) for each in self._slower.values()), default=1)
        self._random = random.Random(seed)  # noqa: S311  # no secret depends on it
        self._seen: set[LoaderConfig] = set()
        self._left = 0
        self._round = 0
        self._begin_round()

    def at(
        self,
        now_s: float,  # noqa: ARG002  # rounds follow each other, whatever time it is
        config: LoaderConfig,
        batch_scatter: float,  # noqa: ARG002  # is in the readings
    ) -> Moment:
        """Return what this config met in the round that is replayed.

        A config that was read in it already begins the next one.
        """
        if config in self._seen:
            self._begin_round()
        self._seen.add(config)
        values = self._slower[config]
        met = values[self._round] if self._round < len(values) else None
        known = [value for value in values if value is not None]
        return Moment(slower=self._random.choice(known) if met is None else met)

    def _begin_round(self) -> None:
        self._seen.clear()
        if self._left:
            self._round = (self._round + 1) % self._rounds
            self._left -= 1
        else:
            self._round = self._random.randrange(self._rounds)
            self._left = BLOCK_ROUNDS - 1


def _slower(
    config: LoaderConfig, rates: Sequence[float | None]
) -> tuple[float | None, ...]:
    """Return how much slower than its middle a config was in each round."""
    known = [rate for rate in rates if rate]
    if len(known) < LEAST_ROUNDS:
        msg = (
            f"a replayed config needs at least {LEAST_ROUNDS} readings, "
            f"got {len(known)} of {config.describe()}"
        )
        raise UsageError(msg)
    middle = median(known)
    return tuple(middle / rate if rate else None for rate in rates)
