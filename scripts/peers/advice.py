"""What a tuner recommends for a study, and how settings are named and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]
"""Keyword arguments of DataLoader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What somebody recommends, and what it took."""

    who: str
    settings: Settings | None
    """None where nothing is recommended."""
    seconds: float
    """Wall time until it was known."""
    words: str = ""
    """What was said beside it: a state, a number of refused configs, an error."""


def plain(settings: Settings) -> Settings:
    """Return the settings with every default written out, where it matters."""
    workers = int(settings.get("num_workers") or 0)
    found: Settings = {"batch_size": settings["batch_size"], "num_workers": workers}
    if workers:
        found["prefetch_factor"] = settings.get("prefetch_factor") or 2
        found["persistent_workers"] = bool(settings.get("persistent_workers"))
    if settings.get("pin_memory"):
        found["pin_memory"] = True
    return found


def key_of(settings: Settings) -> str:
    """Return a name, the same for settings that make the same loader."""
    found = plain(settings)
    parts = [f"{found['num_workers']} workers"]
    if found["num_workers"]:
        parts.append(f"prefetch {found['prefetch_factor']}")
        parts += ["kept"] * found["persistent_workers"]
    parts += ["pinned"] * ("pin_memory" in found)
    return ", ".join(parts)
