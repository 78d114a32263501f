"""One night of a recommendation: what was found, what was read, what was done.

A line of the history; what follows from many of them is `export.history`'s.
"""

from dataclasses import dataclass
from typing import Any, Literal

from autoloader.values.decode import Stored
from autoloader.values.fingerprint import Change

NightVerdict = Literal[
    "holds",
    "renewed",
    "rewritten",
    "proposed",
    "called_for",
    "undecided",
    "wrong_data",
    "target_lost",
    "dataset_fails",
    "failed",
]
"""`holds`: nothing to do; `renewed`: tuned again, the same settings; `rewritten`: tuned
again, other settings; `proposed`: as either, into another file; `called_for`: to be
tuned again, which was not asked for; `undecided`: too noisy; `wrong_data`: the data
that arrives is; `target_lost`: no config meets it; `dataset_fails`: by itself, in one
process; `failed`: it came to no end for another reason."""

Pace = Literal["slow", "usual", "fast"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Night(Stored):
    """What one run of `retune` came to."""

    at: str
    """When it began, ISO 8601 with the offset of the time zone."""
    verdict: NightVerdict
    exit_code: int
    """What the command returned."""
    reason: str
    """Why, in one sentence without a full stop."""
    machine: str
    """Hardware key."""
    file_date: str | None
    """When the study of the file ended that was judged: another one begins a series of
    its own."""
    dataloader: dict[str, Any]
    """Settings that the file recommends after the night."""
    changes: tuple[Change, ...] = ()
    """What is another than when the file was written."""
    rounds: int = 0
    """Rounds in which the stored config ran beside another."""
    rate: float | None = None
    """Epoch rate of the stored config, examples a second; None: it was not read."""
    vs_default: float | None = None
    """How many times as fast it was as PyTorch's default in the same rounds; None: not
    compared."""
    vs_second: float | None = None
    """The same against the file's other config: the fastest of its study, or yours."""
    level: float | None = None
    """Its rate as a multiple of the study's: what the night did to all alike too."""
    pace: Pace | None = None
    """Whether the night was slow or fast beyond what nights are."""
    could_see: float | None = None
    """Least change (0-1) against another config that would have been seen."""
    wrote: str | None = None
    """Name of the file that was written; None: none."""
    kept: str | None = None
    """Name under which the file before it was kept; None: there was none to keep."""
    seconds: float = 0.0
    """Wall time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Stored):
    """A trend over nights that is no accident."""

    of: Literal["rate", "vs_default"]
    """`rate`: examples a second, by the whole machine; `vs_default`: how many times as
    fast as PyTorch's default the stored config is."""
    per_night: float
    """Share by which a night differs from the one before; below 0: it falls."""
    nights: int
    """Nights that it was seen in."""
    probability: float
    """Of as clear an order, either way, where there is no trend."""
