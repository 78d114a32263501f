"""Hand out the trials of a fleet: what a search asks, and what it is told.

What is shared are fates: of each config, by whichever machine tried it, what the gate
said, what it weighed and how fast the search read it. They say what is worth trying and
racing. Rounds, verification and choice are each machine's own: `record` never holds
what another one read.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoloader.search.desk import Seen
from autoloader.search.finale import MOST_FINALISTS
from autoloader.search.leases import LEASE_S, RENEWALS
from autoloader.search.shared_trials import given_up
from autoloader.values.outcome import Status
from autoloader.values.passwords import values_without_passwords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from autoloader.search.desk import Outcomes
    from autoloader.search.shared_study import SharedStudy
    from autoloader.search.shared_trials import SharedTrial
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome

LOOK_S = 1.0
"""Seconds from look to look while what others try is waited for, half of it by chance:
machines that look together would ask for the same trials."""


@dataclass(slots=True, kw_only=True)
class FleetDesk:
    """Hands out the trials of a shared study to this machine."""

    study: SharedStudy
    record: Outcomes
    """What this machine measured itself."""
    clock: Callable[[], float]
    """The search's clock."""
    lease_s: float = LEASE_S
    look_s: float = LOOK_S
    on_lost: Callable[[LoaderConfig], None] = lambda _config: None
    """Told where a trial came to its end after it was given to another machine."""
    sleep: Callable[[float], None] = time.sleep
    seen: Seen = field(default_factory=lambda: Seen(outcomes=(), done=0))
    """What the last look saw."""
    _held: SharedTrial | None = None
    _renewal: _Renewal | None = None

    def look(self) -> Seen:
        """Return how far the fleet has come by now."""
        trials = [item for item in self.study.look() if item.counts]
        own = {item.config: item for item in self.record.outcomes}
        done: dict[LoaderConfig, Outcome] = {}
        for item in trials:
            if item.fate == "done" and item.outcome is not None:
                done.setdefault(item.config, item.outcome)
        running = {item.config for item in trials if item.fate == "running"}
        hopeless = given_up(trials) - done.keys()
        settled = done.keys() | running | hopeless
        lost = {
            item.config: item.source
            for item in trials
            if item.fate == "lost" and item.config not in settled
        }
        theirs = [item for config, item in done.items() if config not in own]
        measured = sum(item.status is Status.MEASURED for item in theirs)
        alone = [item for config, item in own.items() if config not in done]
        self.seen = Seen(
            # in the order in which they were begun, as far as the fleet knows of them
            outcomes=(*alone, *(own.get(config, done[config]) for config in done)),
            done=len(done),
            trying=frozenset(running - done.keys()),
            again=tuple(lost.items()),
            given_up=hopeless,
            owed=min(measured, MOST_FINALISTS),
        )
        return self.seen

    def begin(self, config: LoaderConfig, source: str) -> bool:
        """Ask for the trial of a config; whether it is this machine's now."""
        self._held = self.study.begin(config, source)
        if self._held is None:
            self.sleep(random.uniform(0, self.look_s / 2))  # noqa: S311  # no secret
            return False
        self._renewal = _Renewal(self.study, self._held, self.lease_s / RENEWALS)
        return True

    def end(self, outcome: Outcome) -> None:
        """Hand in what came of the trial; counted unless it was given to another."""
        with self._let_go() as held:
            number = replace(outcome, number=held.number)
            shared = type(outcome).from_dict(values_without_passwords(number.to_dict()))
            if not self.study.end(held, shared):
                self.on_lost(outcome.config)

    def give_back(self) -> None:
        """Let another machine begin the trial again; raises nothing."""
        with self._let_go() as held:
            self.study.give_back(held)

    def wait(self, until: float) -> bool:
        """Wait a moment for what others are trying; False: there is nothing, or late.

        Args:
            until: reading of the search's clock.
        """
        if not self.seen.trying or self.clock() >= until:
            return False
        self.sleep(self.look_s * random.uniform(0.75, 1.25))  # noqa: S311  # no secret
        return True

    @contextmanager
    def _let_go(self) -> Iterator[SharedTrial]:
        """Give the trial that is held, renewed until it is done with."""
        held, renewal = self._held, self._renewal
        if held is None or renewal is None:
            msg = "no trial was begun"
            raise ValueError(msg)
        try:
            yield held
        finally:
            renewal.stop()
            self._held = self._renewal = None


class _Renewal:
    """Gives signs of life while a trial runs, from a thread of its own.

    One small write each ten seconds, by a thread of the parent: of a pass that is timed
    meanwhile, less than a thousandth.
    """

    def __init__(self, study: SharedStudy, trial: SharedTrial, each_s: float) -> None:
        self._study, self._trial, self._each_s = study, trial, each_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="autoloader-lease", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Give no more of them."""
        self._is_over.set()

    def _run(self) -> None:
        beat = 0
        while not self._is_over.wait(self._each_s):
            beat += 1
            self._study.renew(self._trial, beat)
