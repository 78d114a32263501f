"""Machines of a fleet in one process: they share Optuna's storage in memory."""

import time
from dataclasses import dataclass, field, replace

from optuna.storages import BaseStorage, InMemoryStorage

from autoloader.search.fleet_desk import FleetDesk
from autoloader.search.known_outcomes import KnownOutcomes
from autoloader.search.leases import Leases
from autoloader.search.shared_storage import SharedStorage
from autoloader.search.shared_study import SharedStudy
from autoloader.values.config import LoaderConfig
from autoloader.values.fleet import Holder, Storage
from autoloader.values.outcome import Outcome
from tests.fakes import FakeClock
from tests.search.replayed import a_reading, an_outcome

LEASE_S = 60.0

NOWHERE = Storage(kind="journal", address="/nowhere/fleet.journal")
"""Its name is told; what is asked is in memory."""


def a_holder(host: str) -> Holder:
    """Return a process on a machine of its own, which nobody here could see."""
    return Holder(
        host=host, boot=f"boot of {host}", namespace="pid:[1]", pid=100, start_ticks=7
    )


def outcome_of(config: LoaderConfig, rate: float = 100.0, number: int = 0) -> Outcome:
    """Return the outcome of a config that was measured at a rate."""
    readings = (a_reading(rate, workers=config.num_workers, purpose="search"),)
    found = an_outcome(0, (rate,))
    return replace(found, config=config, number=number, readings=readings)


@dataclass
class Machine:
    """One machine of a fleet, whose clock is the test's."""

    host: str
    storage: BaseStorage
    clock: FakeClock
    most_trials: int | None = None
    name: str = "autoloader/photos-1234/some-cpu"
    record: KnownOutcomes = field(default_factory=KnownOutcomes)
    lost: list[LoaderConfig] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Join the fleet."""
        self.study = SharedStudy(
            storage=SharedStorage(
                storage=NOWHERE,
                on_trouble=lambda text, _hint: self.troubles.append(text),
                clock=self.clock,
                sleep=self.sleep,
                opened=self.storage,
            ),
            name=self.name,
            holder=a_holder(self.host),
            leases=Leases(LEASE_S, self.clock),
            most_trials=self.most_trials,
        )
        self.desk = FleetDesk(
            study=self.study,
            record=self.record,
            clock=self.clock,
            lease_s=3600.0,  # no thread gives a sign of life within a test
            on_lost=self.lost.append,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        """Let the test's clock go on, and other threads."""
        self.clock.now += seconds
        time.sleep(0)

    def measure(self, config: LoaderConfig, rate: float = 100.0) -> None:
        """Begin a trial and bring it to its end."""
        assert self.desk.begin(config, "search")
        self.hand_in(config, rate)

    def hand_in(self, config: LoaderConfig, rate: float = 100.0) -> None:
        """Bring the trial to its end that was begun."""
        outcome = outcome_of(config, rate, len(self.record.outcomes))
        self.record.add(outcome)
        self.desk.end(outcome)


def a_fleet(
    *hosts: str,
    most_trials: int | None = None,
    storage: BaseStorage | None = None,
) -> list[Machine]:
    """Return machines that share a storage and the test's clock."""
    shared, clock = storage or InMemoryStorage(), FakeClock()
    return [Machine(host, shared, clock, most_trials) for host in hosts]
