"""What a fleet calls its studies, and what one kind of hardware learns of another.

Pure. A study is one kind of hardware's; its name begins with what it is of: dataset,
code, scope, space, software, and whatever else makes another study alone. So those of
other hardware are found by the beginning of the name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from autoloader.measure.intervals import median
from autoloader.search.rates import rates_of
from autoloader.search.selection import simplicity
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.search.folder import StudyKey
    from autoloader.search.space import Space
    from autoloader.values.machine import Machine
    from autoloader.values.outcome import Outcome
    from autoloader.values.scope import DatasetFacts

SCHEMA = 1
"""Of what trials of a fleet hold: machines of another one have studies of their own."""

MOST_LEARNED = 4
"""Configs of other hardware that are tried first."""

NEARLY = 0.95
"""Share of the fastest that a simpler config has to be worth a trial elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetName:
    """Name of the study of one kind of hardware."""

    subject: str
    """What it is of, hardware aside."""
    hardware: str
    """Hardware key, cut where it is long."""

    @classmethod
    def of(cls, key: StudyKey, facts: DatasetFacts, machine: Machine) -> Self:
        """Return the name of a study that is about to run on a machine.

        Args:
            key: of this machine's own study.
            facts: the dataset as it was read here.
            machine: this one.
        """
        told = key.to_dict()
        del told["machine"]
        read = [facts.length, facts.label, plain(facts.fields), facts.baseline]
        text = json.dumps([SCHEMA, told, read], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        slug = key.folder_name.rpartition("-")[0]
        hardware = machine.file_name.removesuffix(".yaml")
        return cls(subject=f"autoloader/{slug}-{digest}", hardware=hardware)

    def __str__(self) -> str:
        """Return it as the storage has it."""
        return f"{self.subject}/{self.hardware}"

    def others(self, names: Sequence[str]) -> list[str]:
        """Return the names of studies of other hardware, of the same subject."""
        begin = f"{self.subject}/"
        return [name for name in names if name.startswith(begin) and name != str(self)]


def learned(outcomes: Sequence[Outcome], space: Space) -> list[LoaderConfig]:
    """Return what did best on other hardware, as this space allows it.

    The fastest, and the simplest that was nearly as fast. Only settings are taken over:
    what another kind of hardware read says nothing of rates here.
    """
    rates = {config: median(found) for config, found in rates_of(outcomes).items()}
    if not rates:
        return []
    fastest = max(rates, key=lambda config: rates[config])
    enough = [item for item in rates if rates[item] >= NEARLY * rates[fastest]]
    simplest = min(enough, key=lambda config: simplicity(config, space.batch_size))
    found = [_nearest(config, space) for config in (simplest, fastest)]
    return list(dict.fromkeys(found))


def _nearest(config: LoaderConfig, space: Space) -> LoaderConfig:
    """Return the config of a space that is most like one of another."""
    low, high = space.num_workers
    wanted = config.prefetch_factor or 0
    sizes = space.batch_size
    return LoaderConfig.canonical(
        num_workers=min(max(config.num_workers, low), high),
        prefetch_factor=min(space.prefetch_factor, key=lambda item: abs(item - wanted)),
        pin_memory=_allowed(config.pin_memory, space.pin_memory),
        persistent_workers=_allowed(
            config.persistent_workers, space.persistent_workers
        ),
        batch_size=config.batch_size if config.batch_size in sizes else sizes[0],
    )


def _allowed(value: bool, allowed: Sequence[bool]) -> bool:
    return value if value in allowed else allowed[0]
