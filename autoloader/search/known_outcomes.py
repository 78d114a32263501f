"""Outcomes of a study in memory, later readings included.

Knows nothing of files: what is kept on disk, and when, is `search.record`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.outcome import Outcome, Reading


class KnownOutcomes:
    """The outcomes of one study, by their numbers."""

    def __init__(self) -> None:
        self._by_number: dict[int, Outcome] = {}

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All outcomes in order of their numbers."""
        return tuple(self._by_number[number] for number in sorted(self._by_number))

    def of_config(self, config: LoaderConfig) -> Outcome | None:
        """Return the outcome of a config, None where it was not tried."""
        return next(
            (item for item in self._by_number.values() if item.config == config), None
        )

    def __contains__(self, number: object) -> bool:
        """Whether there is an outcome of this number."""
        return number in self._by_number

    def __getitem__(self, config: LoaderConfig) -> Outcome:
        """Return the outcome of a config; KeyError where it was not tried."""
        found = self.of_config(config)
        if found is None:
            raise KeyError(config)
        return found

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, in place of an earlier one of its number."""
        self._by_number[outcome.number] = outcome

    def add_reading(self, number: int, reading: Reading) -> None:
        """Keep one more reading of a trial; KeyError where there is none."""
        self.add(self._by_number[number].with_reading(reading))

    def clear(self) -> None:
        """Forget all of them."""
        self._by_number.clear()
