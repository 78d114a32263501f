"""Join a fleet for the search of one tune: its study, and what is owed to it after.

What a fleet shares is `search.fleet_desk`'s; here is what a tune has to do with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoloader.measure.holders import this_process
from autoloader.search.finale import MOST_FINALISTS
from autoloader.search.fleet_desk import FleetDesk
from autoloader.search.fleet_names import MOST_LEARNED, FleetName, learned
from autoloader.search.leases import LEASE_S, Leases
from autoloader.search.rates import rates_of
from autoloader.search.selection import too_large
from autoloader.search.shared_storage import SharedStorage
from autoloader.search.shared_study import SharedStudy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoloader.search.record import Record
    from autoloader.search.space import Space
    from autoloader.search.strategy import Strategy
    from autoloader.search.watcher import Watcher
    from autoloader.values.config import LoaderConfig
    from autoloader.values.fleet import Storage

SOURCE = "fleet"
"""Who proposes what is tried here before the race, since others measured it."""


def reach(storage: Storage, watcher: Watcher) -> SharedStorage:
    """Return a storage that answers, before anything is read or measured.

    Args:
        storage: what was named.
        watcher: told where it does not answer, now or later.

    Raises:
        UsageError: it can never be opened as it is named.
        StoredFileError: it does not answer.
    """
    found = SharedStorage(storage=storage, on_trouble=watcher.on_caution)
    found.ask(lambda _storage: None)
    return found


@dataclass(slots=True, kw_only=True)
class Sharing:
    """This machine's part in a fleet."""

    desk: FleetDesk
    name: FleetName
    watcher: Watcher

    @classmethod
    def join(
        cls,
        storage: SharedStorage,
        name: FleetName,
        *,
        record: Record,
        watcher: Watcher,
        most_trials: int | None,
        clock: Callable[[], float],
    ) -> Sharing:
        """Return a fleet's study, joined; tells how far it is.

        Args:
            storage: where it is kept, as `reach` returned it.
            name: what it is called there.
            record: what this machine measured itself.
            watcher: told of the study.
            most_trials: cap on the trials of all machines together.
            clock: the search's.

        Raises:
            StoredFileError: the storage does not answer.
        """
        study = SharedStudy(
            storage=storage,
            name=str(name),
            holder=this_process(),
            leases=Leases(LEASE_S, clock),
            most_trials=most_trials,
        )
        desk = FleetDesk(
            study=study,
            record=record,
            clock=clock,
            on_lost=lambda config: watcher.on_caution(
                f"the trial of {config.describe()} was given to another machine "
                "meanwhile: the fleet does not count this one",
                None,
            ),
        )
        seen = desk.look()
        watcher.on_caution(
            f"a fleet shares the search: {seen.done} trials done, {len(seen.trying)} "
            f"under way, in {name} of {storage.storage.shown}",
            None,
        )
        return cls(desk=desk, name=name, watcher=watcher)

    def learned(self, space: Space) -> list[tuple[LoaderConfig, str]]:
        """Return what to try first, by what other hardware found."""
        found: dict[LoaderConfig, str] = {}
        study = self.desk.study
        for name in self.name.others(study.names()):
            for config in learned(study.outcomes_of(name), space):
                found.setdefault(config, "other_hardware")
        return list(found.items())[:MOST_LEARNED]

    def owed(
        self,
        strategy: Strategy,
        first: Sequence[tuple[LoaderConfig, str]],
        *,
        memory_bytes: int | None,
    ) -> list[tuple[LoaderConfig, str]]:
        """Return what must be tried here before the race, and was tried elsewhere.

        The configs that are worth racing by what all machines read, and what each race
        is held against. A race is of configs that this machine itself has gated.

        Args:
            strategy: says which are worth racing.
            first: the user's own config, and PyTorch's default.
            memory_bytes: what processes may take here.
        """
        seen = self.desk.look()
        readings = rates_of(seen.outcomes)
        failed = seen.tried - readings.keys()
        failed |= too_large(seen.outcomes, memory_bytes)
        ranked = strategy.finalists(readings, failed, limit=MOST_FINALISTS)
        own = {item.config for item in self.desk.record.outcomes}
        wanted = [*ranked[:1], *(pair[0] for pair in first), *ranked[1:]]
        there = seen.tried - own
        return [(item, SOURCE) for item in dict.fromkeys(wanted) if item in there]

    def elsewhere(self) -> list[LoaderConfig]:
        """Return what only others tried."""
        own = {item.config for item in self.desk.record.outcomes}
        tried = [item.config for item in self.desk.seen.outcomes]
        return [config for config in tried if config not in own]
