"""What a recommendation was measured on and of, and what of it is another tonight.

Pure: two fingerprints in, named changes out. Where the parts come from, a file or this
machine, is `export.origin`'s; what follows from a change is `search.nightly`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from autoloader.units import format_bytes
from autoloader.values.decode import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autoloader.values.machine import Machine

ChangeKind = Literal["hardware", "environment", "dataset"]

SAME_MEMORY = 0.01
"""Share by which sizes of memory may differ and count as the same: what a kernel keeps
for itself moves with its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Stored):
    """One part in which two fingerprints differ."""

    field: str
    """What differs: `kernel`, `torch`, `length`, `contract.0`."""
    kind: ChangeKind
    """`hardware`: another recommendation; `environment`: a reason to verify this one;
    `dataset`: a reason to tune again."""
    old: str
    """What it was, for people to read."""
    new: str
    """What it is now."""

    @property
    def sentence(self) -> str:
        """What differs, in words."""
        return f"{self.field} was {self.old}, now {self.new}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Machine, software and dataset, as far as speed and data depend on them.

    What is None is not known, and never counts as a change.
    """

    machine: Machine
    """CPUs, memory, accelerators, kernel."""
    versions: Mapping[str, str]
    """Versions by package, `python` among them."""
    start_method: str | None
    """How workers are started."""
    storage: tuple[str, ...] | None
    """Where examples come from, then the types of the file systems they lie on."""
    dataset: str
    """SPEC, as the user wrote it."""
    length: int | None
    """What `len(dataset)` says."""
    contract: Mapping[str, str] | None
    """What all examples have in common, by field, and the rules that were held."""

    @property
    def is_for(self) -> str:
        """The hardware key: another one is another recommendation."""
        return self.machine.key


def changes(old: Fingerprint, new: Fingerprint) -> tuple[Change, ...]:
    """Return what differs, field by field: hardware, environment, then the dataset."""
    parts: tuple[tuple[ChangeKind, _Parts], ...] = (
        ("hardware", _hardware(old, new)),
        ("environment", _environment(old, new)),
        ("dataset", _dataset(old, new)),
    )
    return tuple(
        Change(field=name, kind=kind, old=before, new=now)
        for kind, differing in parts
        for name, before, now in differing
    )


def in_words(found: tuple[Change, ...]) -> str:
    """Return all changes as one sentence without a full stop."""
    return "; ".join(item.sentence for item in found)


_Parts: TypeAlias = "Iterator[tuple[str, str, str]]"


def _hardware(old: Fingerprint, new: Fingerprint) -> _Parts:
    """Yield what of the hardware key differs."""
    if old.is_for == new.is_for:
        return
    before, now = old.machine, new.machine
    if before.cpu_model != now.cpu_model:
        yield "cpu_model", before.cpu_model, now.cpu_model
    if round(before.effective_cpus, 2) != round(now.effective_cpus, 2):
        yield "effective_cpus", f"{before.effective_cpus:g}", f"{now.effective_cpus:g}"
    devices = [_devices(machine) for machine in (before, now)]
    if devices[0] != devices[1]:
        yield "accelerators", devices[0], devices[1]


def _environment(old: Fingerprint, new: Fingerprint) -> _Parts:
    """Yield what calls for verification, and for no more."""
    yield from _differing(old.machine, new.machine, _OF_MACHINE)
    for name in ("memory_limit_bytes", "shm_total_bytes"):
        before, now = getattr(old.machine, name), getattr(new.machine, name)
        if not _is_same_size(before, now):
            yield name.removesuffix("_bytes"), _size(before), _size(now)
    for package, before in old.versions.items():
        now = new.versions.get(package)
        if now is not None and now != before:
            yield package, before, now
    yield from _differing(old, new, _OF_LOADER)


def _dataset(old: Fingerprint, new: Fingerprint) -> _Parts:
    """Yield what makes it other data."""
    yield from _differing(old, new, _OF_DATASET)
    if old.contract is None or new.contract is None:
        return
    for field in dict.fromkeys((*old.contract, *new.contract)):
        before = old.contract.get(field, "absent")
        now = new.contract.get(field, "absent")
        if before != now:
            yield f"contract.{field}" if field else "contract", before, now


def _differing(old: Any, new: Any, named: Mapping[str, Callable[[Any], Any]]) -> _Parts:
    """Yield what differs of what both know."""
    for name, part in named.items():
        before, now = part(old), part(new)
        if before is not None and now is not None and before != now:
            yield name, str(before), str(now)


def _driver(machine: Machine) -> str | None:
    """Return the accelerators' driver; None where there is none, or it is not told."""
    return next((item.driver for item in machine.accelerators if item.driver), None)


def _storage(found: Fingerprint) -> str | None:
    return None if found.storage is None else ", ".join(found.storage)


_OF_MACHINE: dict[str, Callable[[Any], Any]] = {
    "system": lambda machine: machine.system,
    "kernel": lambda machine: machine.kernel,
    "driver": _driver,
}

_OF_LOADER: dict[str, Callable[[Any], Any]] = {
    "start_method": lambda found: found.start_method,
    "storage": _storage,
}

_OF_DATASET: dict[str, Callable[[Any], Any]] = {
    "dataset": lambda found: found.dataset,
    "length": lambda found: found.length,
}


def _devices(machine: Machine) -> str:
    return ", ".join(item.name for item in machine.accelerators) or "none"


def _is_same_size(before: int | None, now: int | None) -> bool:
    if before is None or now is None:
        return before == now
    return abs(now - before) <= SAME_MEMORY * max(before, now)


def _size(value: int | None) -> str:
    return "none" if value is None else format_bytes(value)
