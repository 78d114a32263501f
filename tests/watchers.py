"""A watcher that notes what it is told."""

from dataclasses import dataclass, field
from typing import Any

from autoloader.values.outcome import Outcome


@dataclass
class Noting:
    """Notes cautions, outcomes and phases; takes all else without a word."""

    cautions: list[tuple[str, str | None]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    phases: list[tuple[str, str]] = field(default_factory=list)

    def on_caution(self, message: str, hint: str | None) -> None:
        """Note it."""
        self.cautions.append((message, hint))

    def on_outcome(self, outcome: Outcome) -> None:
        """Note it."""
        self.outcomes.append(outcome)

    def on_phase(self, name: str, detail: str, *_others: object) -> None:
        """Note it."""
        self.phases.append((name, detail))

    def __getattr__(self, name: str) -> Any:
        """Take all else without a word."""
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *told: None
