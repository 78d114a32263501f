"""State the scope of a study: what its rates are of, and what they leave out.

Pure: stored values in, plain values out. Also whether the page cache was in the state
that the scope says, as far as the readings tell.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from autoloader.measure.storage import LEAST_READ_BYTES, MEMORY_TYPES, is_network
from autoloader.units import format_bytes
from autoloader.values.passwords import as_kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.values.outcome import Reading
    from autoloader.values.scope import AccessFacts, DatasetFacts, Scope, SourceSpec

MEASURES = "loader alone"
"""What every rate of a study is of, but those of training loops."""

COLD_SHARE = 0.5
"""Part of what a cold reading reads that must have come from storage, where each
example has files of its own."""

MANY_FILES = 64
"""Files from which on examples are taken to have their own; fewer hold many each."""

SHARED_COLD_SHARE = 0.1
"""The same where few files hold all examples: read calls then fetch neighbours over and
over (h5py's buffer has 64 KiB), and what is stored may be compressed."""

WARM_SHARE = 0.1
"""Part of what warm readings read that may have come from storage."""


def scope_section(
    source: SourceSpec, scope: Scope, facts: DatasetFacts, readings: Sequence[Reading]
) -> dict[str, Any]:
    """Return the section `scope` of a recommendation.

    Args:
        source: the dataset, as the user named it.
        scope: which examples, in which order.
        facts: what they are made of, and where they come from.
        readings: all of the study, replaced ones too.
    """
    held = scope.to_dict()
    del held["contract"]  # a section of its own
    return {
        **held,
        "measures": MEASURES,
        "dataset_class": facts.name,
        "start_method": facts.start_method,
        "length": facts.length,
        "fields": [item.to_dict() for item in facts.fields],
        "arguments": [list(pair) for pair in as_kept(source).arguments],
        "access": None if facts.access is None else facts.access.to_dict(),
        "per_example": per_example(facts),
        "excluded": excluded(readings),
    }


def per_example(facts: DatasetFacts) -> dict[str, float]:
    """Return how much of each unit an example has: bytes, then what the user counts."""
    named = {item.name: item.per_example for item in facts.units}
    return {"bytes": facts.example_bytes, **named}


def rates_in_units(rate: float, facts: DatasetFacts) -> dict[str, float]:
    """Return a rate in every unit that is known.

    Args:
        rate: in examples a second.
        facts: how much of a unit an example has.

    Returns:
        `examples_per_s`, `bytes_per_s`, then `NAME_per_s` for each unit of the user's.
    """
    counted = {
        f"{name}_per_s": rate * amount for name, amount in per_example(facts).items()
    }
    return {"examples_per_s": rate, **counted}


def excluded(readings: Sequence[Reading]) -> dict[str, Any]:
    """Return what each rate leaves out, and how many readings do not count."""
    replaced = Counter(item.replaced_because for item in readings)
    return {
        "epoch_rate": "nothing: start and end of the workers are in it",
        "steady_rate": "start-up and warm-up, and the batches after its window",
        "readings_too_short": replaced["too_short"],
        "readings_spoiled": replaced["spoiled"],
        "replaced_readings": "each was taken again at once, and that one counts",
        "applies_to": "every config that is compared, by the same rules",
    }


def cache_cautions(
    readings: Sequence[Reading], facts: DatasetFacts
) -> list[dict[str, Any]]:
    """Return that the page cache was not in the state that readings say, if so."""
    found = (cold_caution(readings, facts), warm_caution(readings, facts))
    return [item for item in found if item is not None]


def cold_caution(
    readings: Sequence[Reading], facts: DatasetFacts
) -> dict[str, Any] | None:
    """Return that cold readings were not cold, or that nobody can tell.

    Args:
        readings: of the study; those that are warm, or replaced, are left out.
        facts: where the examples come from.
    """
    cold = _of_state(readings, "cold")
    access = facts.access
    if not cold or access is None:
        return None
    if not access.files:
        message = "no file was seen that could be dropped from the page cache"
        return _caution("cache_not_cold", len(cold), message, _UNSEEN)
    types = ", ".join(access.file_systems)
    if set(access.file_systems) & MEMORY_TYPES:
        message = f"files on {types} lie in memory, from which nothing can be dropped"
        return _caution("cache_not_cold", len(cold), message, _IN_MEMORY)
    return _unconfirmed(cold, access) or _not_cold(cold, access, facts)


def _unconfirmed(cold: Sequence[Reading], access: AccessFacts) -> dict[str, Any] | None:
    """Return that the system does not tell what came from storage, if so."""
    if _storage_bytes(cold) is None or any(
        is_network(item) for item in access.file_systems
    ):
        types = ", ".join(access.file_systems) or "this system"
        message = (
            "files were dropped from the page cache; whether the readings then had "
            f"them from storage is not told on {types}"
        )
        return _caution("cache_unconfirmed", len(cold), message, _UNTOLD)
    return None


def _not_cold(
    cold: Sequence[Reading], access: AccessFacts, facts: DatasetFacts
) -> dict[str, Any] | None:
    """Return which readings had too little from storage, if any."""
    each = _needed_bytes(access, facts)
    share = COLD_SHARE if access.files >= MANY_FILES else SHARED_COLD_SHARE
    warm = [item for item in cold if not _is_cold(item, share * each)]
    if not warm:
        return None
    came, need = _storage_bytes(warm) or 0, _examples(warm) * each
    part = f"{format_bytes(came)} of {format_bytes(need)}" if need else "nothing"
    message = (
        f"files were dropped from the page cache, and {part} came from storage in "
        f"{len(warm)} of {len(cold)} readings"
    )
    return _caution("cache_not_cold", len(warm), message, _NOT_COLD)


def warm_caution(
    readings: Sequence[Reading], facts: DatasetFacts
) -> dict[str, Any] | None:
    """Return that warm readings had much from storage.

    Args:
        readings: of the study; those that are cold, or replaced, are left out.
        facts: where the examples come from.
    """
    warm = _of_state(readings, "warm")
    came = _storage_bytes(warm)
    if not warm or came is None or facts.access is None:
        return None
    read = _examples(warm) * _bytes_read(facts.access)
    if not read or came <= WARM_SHARE * read:
        return None
    message = (
        f"{format_bytes(came)} of {format_bytes(read)} that were read came from "
        "storage, not from the page cache"
    )
    return _caution("cache_not_warm", len(warm), message, _NOT_WARM)


_UNSEEN = (
    "files that C code opens for each example are not seen; data larger than the "
    "memory is cold without help"
)
_IN_MEMORY = "copy the files to a disk, or measure with --cache warm"
_UNTOLD = "a server's own cache is not dropped either"
_NOT_COLD = (
    "what a pass reads twice comes from the cache: more --examples; pages that a "
    "process maps, and files just written, are not dropped"
)
_NOT_WARM = "the memory does not hold the data: --cache cold makes readings alike"


def _of_state(readings: Sequence[Reading], cache: str) -> list[Reading]:
    return [
        item
        for item in readings
        if item.cache == cache and item.replaced_because is None
    ]


def _storage_bytes(readings: Sequence[Reading]) -> int | None:
    """Return what readings had from storage together; None where it is not told."""
    told = [item.storage_bytes for item in readings]
    known = [value for value in told if value is not None]
    return sum(known) if known and len(known) == len(told) else None


def _is_cold(reading: Reading, each: float) -> bool:
    """Whether a reading had that many bytes an example from storage, and any at all."""
    return (reading.storage_bytes or 0) >= max(each * _examples([reading]), 1)


def _needed_bytes(access: AccessFacts, facts: DatasetFacts) -> float:
    """Return the bytes that an example must have from storage; 0 where not known."""
    read = _bytes_read(access)
    return read if access.files >= MANY_FILES else min(read, facts.example_bytes)


def _examples(readings: Sequence[Reading]) -> int:
    return sum(sum(item.counts) for item in readings)


def _bytes_read(access: AccessFacts) -> float:
    """Return the bytes that an example takes from files; 0 where that is not known."""
    read = access.read_bytes_per_example or 0.0
    if read >= LEAST_READ_BYTES:
        return read
    return access.storage_bytes_per_example or 0.0


def _caution(code: str, count: int, message: str, hint: str) -> dict[str, Any]:
    return {"code": code, "count": count, "message": message, "hint": hint}
