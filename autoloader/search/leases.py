"""Leases of trials: who works on one says so again and again, or has lost it.

Kept by each observer's own clock, so that the clocks of machines need not agree: a
lease is over where its holder was not seen to renew it for so long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE_S = 60.0
"""Seconds without a sign of life after which a trial is given to another machine. A
database that restarts, or a lock that its dead holder left (half a minute in Optuna's
journal), must not end a lease."""

RENEWALS = 6
"""Signs of life in that time."""


class Leases:
    """What this process has seen of the leases of others.

    Args:
        lease_s: seconds without a sign of life that end a lease.
        clock: monotonic seconds.
    """

    def __init__(self, lease_s: float, clock: Callable[[], float]) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._seen: dict[int, tuple[int, float]] = {}

    def is_over(self, trial: int, beat: int) -> bool:
        """Note a sign of life; whether the last new one is too long ago.

        Args:
            trial: what the lease is of.
            beat: number of its latest renewal.
        """
        now = self._clock()
        known = self._seen.get(trial)
        if known is None or known[0] != beat:
            self._seen[trial] = (beat, now)
            return False
        return now - known[1] > self._lease_s

    def begin_anew(self) -> None:
        """Count from now on: nobody could give a sign of life meanwhile."""
        self._seen.clear()
