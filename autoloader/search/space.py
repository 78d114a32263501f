"""Which configs may be tried, and which are tried first.

Conditional: without workers there is no prefetch and nothing to keep; without an
accelerator for which PyTorch pins memory nothing is pinned. Enumerated in order of
simplicity.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.search.selection import simplicity
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import fields_of, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.machine import Machine
    from autoloader.values.scope import DatasetFacts, Scope

DEFAULT_BATCH_SIZES = (32, 64, 128)
"""Searched for a bare Dataset where none is named."""

DEFAULT_PREFETCH_FACTORS = (2, 4)
"""PyTorch's own, and one deeper; deeper ones cost memory and gain with jitter only."""

MOST_WORKERS = 64
"""Upper end of the range of workers that is searched unasked."""

HEADROOM = 1.5
"""Workers tried beyond what the CPUs can keep busy, as a factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRequest:
    """What the user allows; None: what follows from machine and dataset."""

    num_workers: tuple[int, int] | None = None
    prefetch_factor: tuple[int, ...] | None = None
    pin_memory: tuple[bool, ...] | None = None
    persistent_workers: tuple[bool, ...] | None = None
    batch_size: tuple[int, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        result: dict[str, Any] = plain(self)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Allowed values of each setting."""

    num_workers: tuple[int, int]
    """Least and most workers."""
    prefetch_factor: tuple[int, ...]
    pin_memory: tuple[bool, ...]
    persistent_workers: tuple[bool, ...]
    batch_size: tuple[int | None, ...]
    """In order of preference: the first is the simplest; None where it is not free."""

    @classmethod
    def from_dict(cls, data: object) -> Space:
        """Return the space that `to_dict` wrote."""
        found = fields_of(cls, data)
        return cls(**{name: tuple(value) for name, value in found.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        result: dict[str, Any] = plain(self)
        return result

    @classmethod
    def of(
        cls,
        request: SpaceRequest,
        *,
        facts: DatasetFacts,
        scope: Scope,
        machine: Machine,
        ranks: int = 1,
    ) -> Space:
        """Return the space that request, dataset and machine leave."""
        sizes = _batch_sizes(request, facts, scope)
        length = scope.epoch_examples
        smallest = min((size for size in sizes if size), default=facts.batch_examples)
        batches = (
            MOST_WORKERS if length is None else math.ceil(length / max(smallest, 1))
        )
        workers = request.num_workers or (
            0,
            _most_workers(facts, machine, ranks, batches),
        )
        return cls(
            num_workers=workers,
            prefetch_factor=request.prefetch_factor or DEFAULT_PREFETCH_FACTORS,
            pin_memory=request.pin_memory
            or ((False, True) if facts.can_pin else (False,)),
            # without the length of an epoch, keeping workers cannot be told to help
            persistent_workers=request.persistent_workers
            or ((False,) if length is None else (False, True)),
            batch_size=sizes,
        )

    def configs(self) -> tuple[LoaderConfig, ...]:
        """Return every config, the simplest first."""
        found = {
            LoaderConfig.canonical(
                num_workers=workers,
                prefetch_factor=prefetch,
                pin_memory=pin,
                persistent_workers=kept,
                batch_size=size,
            )
            for workers, prefetch, pin, kept, size in itertools.product(
                range(self.num_workers[0], self.num_workers[1] + 1),
                self.prefetch_factor,
                self.pin_memory,
                self.persistent_workers,
                self.batch_size,
            )
        }
        return tuple(
            sorted(found, key=lambda config: simplicity(config, self.batch_size))
        )

    @property
    def default(self) -> LoaderConfig:
        """What PyTorch takes where nothing is said but a batch size."""
        return LoaderConfig(num_workers=0, batch_size=self.batch_size[0])


def _batch_sizes(
    request: SpaceRequest, facts: DatasetFacts, scope: Scope
) -> tuple[int | None, ...]:
    if facts.batching != "size":
        return (None,)
    own = (facts.baseline or {}).get("batch_size")
    sizes = request.batch_size or ((own,) if own else DEFAULT_BATCH_SIZES)
    length = scope.epoch_examples
    if length is None:
        return sizes
    fitting = tuple(size for size in sizes if size <= length)
    return fitting or (length,)


def _most_workers(
    facts: DatasetFacts, machine: Machine, ranks: int, batches: int
) -> int:
    """Return how many workers can be of use.

    Work that burns CPU all the time stops near the CPUs; work that waits nine tenths of
    the time keeps them busy with ten times as many.
    """
    cpus = machine.effective_cpus / ranks
    busy = min(1.0, facts.example_cpu_s / facts.example_s) if facts.example_s else 1.0
    useful = math.ceil(HEADROOM * cpus / max(busy, 0.02))
    return max(1, min(useful, MOST_WORKERS, batches))


def incumbents(space: Space, *, facts: DatasetFacts) -> list[tuple[LoaderConfig, str]]:
    """Return what is tried first, with the name of who proposes it.

    The user's own config and PyTorch's default: a recommendation is held against them.
    """
    found: dict[LoaderConfig, str] = {}

    def add(config: LoaderConfig, source: str) -> None:
        found.setdefault(config, source)

    if facts.baseline is not None:
        own, size = facts.baseline["batch_size"], space.batch_size[0]
        add(
            LoaderConfig.from_dict({**facts.baseline, "batch_size": own or size}),
            "yours",
        )
    add(space.default, "pytorch_default")
    return list(found.items())


def with_stored(
    first: list[tuple[LoaderConfig, str]], stored: Sequence[LoaderConfig]
) -> list[tuple[LoaderConfig, str]]:
    """Return what is tried first, and then what an earlier study chose and raced.

    Only the settings are taken over: what another night read is no reading of tonight.
    """
    found = dict(first)
    for config in stored:
        found.setdefault(config, "stored")
    return list(found.items())
