"""What a diagnosis saw: stages with their costs, where it stopped, and record sheets.

Raw readings only. What a stage's failure means is `audit.stage_words`'.
"""

from dataclasses import dataclass
from enum import StrEnum

from autoloader.values.config import LoaderConfig
from autoloader.values.decode import Stored
from autoloader.values.scope import ScopeRequest, SourceSpec

SMALL_BATCH = 8
"""Examples of a batch where nobody says: small, so that few ids stand in a message."""


class StageName(StrEnum):
    """Stages from the SPEC to the accelerator, in the order in which data passes."""

    BUILD = "build"
    ACCESS = "access"
    TRANSFORM = "transform"
    COLLATE = "collate"
    HAND_OVER = "hand_over"
    PIN = "pin"
    TRANSFER = "transfer"
    REFERENCE = "reference"
    LOADER = "loader"
    WORKERS = "workers"

    @property
    def words(self) -> str:
        """Return the stage as people read it."""
        return self.value.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagesOrder(Stored):
    """Read examples in one process, stage by stage."""

    source: SourceSpec
    request: ScopeRequest
    folder: str
    """Where the ids are written before the first of them is read."""
    batch_size: int | None = None
    """Examples a batch; None: the DataLoader's own, else a small one."""
    transform: str | None = None
    """Path from the dataset to what transforms an example; None: looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleCost(Stored):
    """What reading one example cost."""

    id: int | str
    access_s: float
    """Seconds, what the transform took left out."""
    access_cpu_s: float
    """CPU seconds of it, all threads."""
    transform_s: float
    """Seconds; 0 where no transform is known."""
    transform_cpu_s: float
    """CPU seconds of it, all threads."""
    read_bytes: int | None
    """What read calls returned; mapped files are not in it; None: not told."""
    example_bytes: int
    """Bytes of its tensors, arrays and strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCost(Stored):
    """What one unit of a later stage cost: a batch that was collated or sent."""

    seconds: float
    cpu_s: float | None
    """CPU seconds of this process; None where another one did a part."""
    examples: int
    """Examples of the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCosts(Stored):
    """Readings of a stage that works on batches."""

    stage: StageName
    costs: tuple[BatchCost, ...] = ()
    """In the order in which they were taken."""
    skipped: str | None = None
    """Why it was not looked at; None: it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown(Stored):
    """The first stage that failed, and what is known of it."""

    stage: StageName
    ids: tuple[int | str, ...] = ()
    """What was being worked on, known before it was; at most `MAX_IDS`."""
    message: str
    """What happened, in one sentence."""
    exception: str | None = None
    """Type of the exception; None: the process died or hung, or data is wrong."""
    place: str | None = None
    """Where in the user's code; None: not in it, or not known."""
    evidence: str | None = None
    """What else was seen, such as which sets of ids show it; None: nothing."""
    log: str | None = None
    """Folder with what the processes printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagesReport(Stored):
    """What one process did with the examples, stage by stage."""

    examples: tuple[ExampleCost, ...] = ()
    """In the order in which they were read: representative ones first."""
    representatives: int = 0
    """How many of them were chosen to stand for the others."""
    ends: int = 1
    """How many of these are the ends: 2, the first and then the last; 1, the first."""
    of: int | None = None
    """Examples of an epoch; None: a stream that says nothing."""
    transform: str | None = None
    """Path of the transform that was told apart; None: it is one with the access."""
    batches: tuple[StageCosts, ...] = ()
    """Collate, hand-over, pinning, transfer."""
    batch_bytes: int = 0
    """Bytes of the largest batch."""
    breakdown: Breakdown | None = None
    """Where it stopped; None: every stage came to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochTimes(Stored):
    """One epoch of a setting against the clock."""

    seconds: float
    """From `iter(loader)` to the end, workers shut down."""
    first_s: float
    """To the first batch: start of workers included."""
    later_s: float | None
    """Mean seconds from batch to batch after it; None: there was one batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRow(Stored):
    """A row of the record sheet."""

    setting: str
    checked: str
    """What was compared."""
    seconds: float | None
    """Of the epoch; None: it has none, since its data is wrong or never came."""
    conclusion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowedIds(Stored):
    """The smallest set of ids that was seen to show a failure."""

    ids: tuple[int | str, ...]
    """In their order; empty: it shows without any example."""
    is_smallest: bool
    """Whether no id can be left out; else the tries were up."""
    tries: int
    shown_by_others: bool | None = None
    """Whether as many other ids show it as well; None: not tried."""
    config: LoaderConfig
    """Settings that it was narrowed with."""
