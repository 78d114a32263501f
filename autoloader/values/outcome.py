"""What came of a trial: verdict, readings, memory, or the failure by name.

Raw readings only; rates are worked out of them in `measure.throughput`.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self

from autoloader.values.ceiling import CeilingReading
from autoloader.values.config import LoaderConfig
from autoloader.values.decode import Stored
from autoloader.values.step import StepReading

MAX_IDS = 10
"""Ids that a finding names; its count says how many there are."""


class Status(StrEnum):
    """Fate of a trial."""

    MEASURED = "measured"
    REFUSED = "refused"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Stored):
    """One kind of fault (or caution) that the gate saw, with its ids."""

    code: str
    """Stable name, such as `missing_ids`."""
    count: int
    """How many examples (or batches, or descriptors) show it."""
    ids: tuple[int | str, ...] = ()
    """At most ten ids of them."""
    epoch: int | None = None
    """Epoch that shows it first, from 0; None where it belongs to none."""
    message: str
    """What was seen, in one sentence."""
    hint: str | None = None
    """The usual cause and the way out."""

    @property
    def sentence(self) -> str:
        """Code and message, as an error says it."""
        return f"{self.code}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Stored):
    """Comparison of what arrived with the reference."""

    passed: bool
    """Whether nothing stands against the data; no findings, that is."""
    examples: int
    """Examples compared in each epoch."""
    of: int | None
    """Examples of a whole epoch; None: a stream whose end was not read."""
    epochs: int
    """Epochs compared."""
    compared: str
    """How: `rows` against their examples, or `examples` as the worker read them."""
    findings: tuple[Finding, ...] = ()
    """Faults; none where it passed."""
    cautions: tuple[Finding, ...] = ()
    """Worth knowing, not wrong."""
    count_path: tuple[int | str, ...] | None = None
    """Field of a batch whose first size is the number of examples: keys and places on
    the way to it, an attribute as `@name`; None: not found."""
    batch_bytes: int = 0
    """Bytes of the largest batch seen."""

    def __post_init__(self) -> None:
        """Check that passing and having findings exclude each other."""
        if self.passed == bool(self.findings):
            msg = "a verdict passes where it has no findings, and only there"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Stored):
    """Why a pass did not come to its end."""

    kind: str
    """`crashed`, `hung`, `out_of_memory`, `worker_exception`, `start_failed`,
    `step_exception`, `throttled` (a store turns requests away), `disk_full` (the
    dataset wrote), ..."""
    phase: str
    """Pass that it ended: `gate`, `timed`, `memory`, `ceiling`, `step`, `consumer`,
    `transfer`, `prediction`, `reference`."""
    message: str
    """What happened, in one sentence."""
    hint: str | None = None
    """The way out."""
    exception: str | None = None
    """Type of the exception that ended it."""
    exit_code: int | None = None
    """Exit code of the process that ended; None after a signal."""
    signal: str | None = None
    """Name of the signal that ended it."""
    log: str | None = None
    """Folder with what the processes printed."""
    rank: int | None = None
    """Training process that it ended; None: there is one."""
    of_accelerator: bool = False
    """Whether it was the accelerator's memory that ran out, not the machine's."""

    @property
    def status(self) -> Status:
        """Fate of the trial that it ended."""
        match self.kind:
            case "hung":
                return Status.HUNG
            case "out_of_memory":
                return Status.OUT_OF_MEMORY
            case "unsupported":
                return Status.UNSUPPORTED
            case _:
                return Status.CRASHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Stored):
    """One timed pass: when each batch arrived, in seconds since `iter(loader)`."""

    purpose: str
    """`search`, `repeat` or `race`."""
    num_workers: int
    """Workers that served it: batches arrive in waves of as many."""
    kept: bool
    """Whether the workers were running already (second epoch of kept workers)."""
    arrivals_s: tuple[float, ...]
    """Arrival of each batch."""
    counts: tuple[int, ...]
    """Examples of each batch, read from the batch itself."""
    warm_batches: int
    """Leading batches that the steady rate leaves out."""
    steady_batches: int
    """Batches of the steady window: whole waves."""
    total_s: float
    """From `iter(loader)` to the end of iteration, workers shut down."""
    epoch_examples: int | None
    """Length of the user's real epoch; None: not known, the steady rate counts."""
    foreign_cpu: float = 0.0
    """CPU seconds a second that other programs took meanwhile; 1.0 is one CPU."""
    stolen_cpu: float = 0.0
    """CPU seconds a second that the hypervisor took meanwhile."""
    epoch_ends_s: tuple[float, ...] = ()
    """End of each epoch, workers shut down, where whole epochs were read one after the
    other, on the clock of the arrivals; empty: it is one pass over a list that may be
    part of an epoch, or repeat it."""
    own_cpu: float = 0.0
    """CPU seconds a second that trial and workers took."""
    throttled_cpu: float = 0.0
    """CPU seconds a second for which a CPU quota held them back."""
    storage_bytes: int | None = None
    """Bytes that trial and workers had from storage, not from the page cache; None
    where the system does not tell."""
    read_bytes: int | None = None
    """Bytes that read calls returned to trial and workers, pipes between them among
    them; None where the system does not tell."""
    cache: Literal["warm", "cold"] = "warm"
    """State of the page cache that it began with."""
    replaced_because: Literal["too_short", "spoiled"] | None = None
    """Why another reading was taken at once that stands for this one; None: it counts.
    `too_short`: its window was shorter than what can be timed; `spoiled`: others took
    the machine meanwhile."""
    others: "tuple[Reading, ...]" = ()
    """The same pass as ranks 1, 2, ... read it; all other fields are those of rank 0.
    Empty: there is one training process."""
    begun_s: float | None = None
    """Seconds that the study had taken when the pass began, the start of its processes
    included; None: an older record, or nobody kept the time."""
    begun_at: str | None = None
    """The same as a time of day, by ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading(Stored):
    """One untimed pass: memory of all processes together, at named moments.

    Each value is the proportional set size of host, trial and workers, mapped files
    left out, less what only the host has, plus shared memory by its files, each once.
    """

    full_queue_bytes: int
    """With the queue filled and nothing consumed."""
    epoch_end_bytes: tuple[int, ...]
    """At the end of each epoch read to its end; empty in the search's short pass."""
    queued_bytes: int
    """Part of the full queue's shared memory that is in no process's set."""
    queue_was_full: bool
    """Whether the queue was seen full; else the value is a lower bound."""
    resident_bytes: int | None = None
    """Sum of resident sets with the queue filled, shared pages counted once for each
    process: what other tools show; None where it was not read."""
    pinned_bytes: int | None = None
    """Most page-locked memory of the trial; None where nothing was pinned."""
    accelerator_bytes: int | None = None
    """Most memory on the accelerator that PyTorch held; None where there is none."""
    others: "tuple[MemoryReading, ...]" = ()
    """What ranks 1, 2, ... took; all other fields are those of rank 0. Empty: there is
    one training process."""

    @property
    def peak_bytes(self) -> int:
        """Largest value seen, of all ranks together."""
        own = max(self.full_queue_bytes, *self.epoch_end_bytes, 0)
        return own + sum(item.peak_bytes for item in self.others)

    def of_all(self, name: str) -> int | None:
        """Return a field summed over all ranks; None where one of them lacks it."""
        found = [getattr(item, name) for item in (self, *self.others)]
        return None if None in found else sum(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Stored):
    """Everything known of one trial."""

    number: int
    """Place in the study, from 0."""
    config: LoaderConfig
    """What was tried."""
    status: Status
    """Fate; only `measured` has readings."""
    source: str
    """Who proposed it: `yours`, `pytorch_default`, `effective_cpus`, `model`, ..."""
    isolation: str
    """`fork` or `fresh`: how the trial's processes were made."""
    seconds: float
    """Wall time of the whole trial."""
    start_method: str | None = None
    """How its workers were started: fork, forkserver, spawn; None: it had none."""
    verdict: Verdict | None = None
    """What the gate said; None where it did not come to an end."""
    readings: tuple[Reading, ...] = ()
    """Timed passes."""
    memory: MemoryReading | None = None
    """Memory pass; None where none was made."""
    ceiling: CeilingReading | None = None
    """Pass over examples that were free; None where none was made."""
    loops: tuple[StepReading, ...] = ()
    """Passes with the training step."""
    failure: Failure | None = None
    """Why it ended early; None where it did not."""
    begun_s: float | None = None
    """Seconds that the study had taken when the trial began; None: an older record, or
    nobody kept the time."""
    begun_at: str | None = None
    """The same as a time of day, by ISO 8601 in UTC."""

    def __post_init__(self) -> None:
        """Check that nothing wrong can ever have a speed."""
        if (self.readings or self.loops) and (
            self.verdict is None or not self.verdict.passed
        ):
            msg = "a reading needs a passed verdict"
            raise ValueError(msg)
        if (self.status is Status.MEASURED) != bool(self.readings):
            msg = f"a measured trial has readings, and no other: status {self.status}"
            raise ValueError(msg)

    @property
    def counted(self) -> tuple[Reading, ...]:
        """The readings that rates are worked out of: all but the replaced ones."""
        return tuple(item for item in self.readings if item.replaced_because is None)

    @property
    def raced(self) -> tuple[Reading, ...]:
        """The readings of the race; where there are none, all that count."""
        found = tuple(item for item in self.counted if item.purpose == "race")
        return found or self.counted

    def with_reading(self, reading: Reading) -> Self:
        """Return the outcome with one more reading of the same config."""
        return replace(self, readings=(*self.readings, reading))
