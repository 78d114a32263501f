"""What a night is held against: the stored config, its rivals, and their readings.

Values only. They are read from a file by `export.baseline`, judged by `search.nightly`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from autoloader.values.config import LoaderConfig
    from autoloader.values.target import Target

RivalName = Literal["pytorch_default", "fastest", "yours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A config that the stored one was raced with."""

    name: RivalName
    """What the file calls it."""
    config: LoaderConfig
    ratios: tuple[float, ...]
    """Its rate divided by the stored config's, in each round of the study that had
    both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a recommendation says that a night can be compared with."""

    config: LoaderConfig
    """The stored config."""
    rates: tuple[float, ...]
    """Its epoch rates in the race of the study, examples a second."""
    rivals: tuple[Rival, ...]
    """PyTorch's default first, where it is another config; then the fastest, or the
    user's own; those with readings to compare only."""
    target: Target
    """What is wanted of one rank."""
    ranks: int
    """Training processes on the machine."""
    is_memory_asked: bool
    """Whether the memory of the target was asked for: else it is what was left then."""
    examples: int
    """Entries of the scope that was read; as many are read again."""
    verified: int | None
    """Examples that the stored config was verified on; None: it was not."""

    @property
    def configs(self) -> tuple[LoaderConfig, ...]:
        """The stored config, then its rivals."""
        return (self.config, *(rival.config for rival in self.rivals))
