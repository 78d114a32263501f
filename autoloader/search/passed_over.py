"""Configs that were not tried because of what came of others, told together.

A single trial that ran out of memory may speak against most of a space: what is said of
it is said once, with a count. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoloader.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autoloader.values.config import LoaderConfig

MOST_REASONS = 3
"""Reasons that one sentence has; those with fewer configs are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Configs that were passed over for one reason."""

    reason: str
    """What came of which config, and what these have in common with it."""
    configs: tuple[LoaderConfig, ...]
    """In the order in which they were proposed."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "reason": self.reason,
            "configs": [config.to_dict() for config in self.configs],
        }


def by_reason(skipped: Iterable[tuple[LoaderConfig, str]]) -> tuple[PassedOver, ...]:
    """Return the configs by why they were passed over, the most frequent reason first.

    Args:
        skipped: each with its reason, in the order in which they were proposed.
    """
    found: dict[str, list[LoaderConfig]] = {}
    for config, reason in skipped:
        found.setdefault(reason, []).append(config)
    groups = [
        PassedOver(reason=reason, configs=tuple(dict.fromkeys(configs)))
        for reason, configs in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: -len(group.configs)))


def in_words(groups: Sequence[PassedOver]) -> str | None:
    """Return how many configs were passed over and why; None where none was."""
    return counted_words([(group.reason, len(group.configs)) for group in groups])


def counted_words(groups: Sequence[tuple[str, int]]) -> str | None:
    """Return the same of reasons with their numbers of configs."""
    if not groups:
        return None
    told = [
        f"{counted(count, 'config')}: {reason}"
        for reason, count in groups[:MOST_REASONS]
    ]
    others = sum(count for _, count in groups[MOST_REASONS:])
    told += [f"{counted(others, 'config')} for like reasons"] if others else []
    return "; ".join(told)
