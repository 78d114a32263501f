"""What came of a trial: verdict, readings, memory, or the failure by name.

Raw readings only; rates are worked out of them in `measure.throughput`.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from autoloader.values.config import LoaderConfig
from autoloader.values.decode import Stored

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
    count_path: str | None = None
    """Field of a batch whose first size is the number of examples; None: not found."""
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
    """`crashed`, `hung`, `out_of_memory`, `worker_exception`, `start_failed`, ..."""
    phase: str
    """Pass that it ended: `gate`, `timed`, `memory`, `prediction`, `reference`."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading(Stored):
    """One untimed pass: memory of all processes together, at named moments.

    Each value is the proportional set size of host, trial and workers, less what only
    the host has, plus shared memory that no process has mapped.
    """

    full_queue_bytes: int
    """With the queue filled and nothing consumed."""
    epoch_end_bytes: tuple[int, ...]
    """At the end of each epoch read to its end; empty in the search's short pass."""
    queued_bytes: int
    """Part of the full queue that no process has mapped."""
    queue_was_full: bool
    """Whether the queue was seen full; else the value is a lower bound."""

    @property
    def peak_bytes(self) -> int:
        """Largest value seen."""
        return max(self.full_queue_bytes, *self.epoch_end_bytes, 0)


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
    failure: Failure | None = None
    """Why it ended early; None where it did not."""

    def __post_init__(self) -> None:
        """Check that nothing wrong can ever have a speed."""
        if self.readings and (self.verdict is None or not self.verdict.passed):
            msg = "a reading needs a passed verdict"
            raise ValueError(msg)
        if (self.status is Status.MEASURED) != bool(self.readings):
            msg = f"a measured trial has readings, and no other: status {self.status}"
            raise ValueError(msg)

    def with_reading(self, reading: Reading) -> Self:
        """Return the outcome with one more reading of the same config."""
        return replace(self, readings=(*self.readings, reading))
