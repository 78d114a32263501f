"""What the parent asks of a child, and the seam through which trials are run.

Orders travel as JSON lines (`child.wire`); nothing here starts a process.
"""

from dataclasses import dataclass
from typing import Protocol

from autoloader.values.ceiling import CeilingReading
from autoloader.values.config import LoaderConfig
from autoloader.values.contract import Contract
from autoloader.values.decode import Stored
from autoloader.values.outcome import (
    Failure,
    Finding,
    MemoryReading,
    Reading,
    Verdict,
)
from autoloader.values.scope import DatasetFacts, Scope, ScopeRequest, SourceSpec

CHILD_VARIABLE = "AUTOLOADER_CHILD"
"""Is set in children and in all that comes from them: none of them asks for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceOrder(Stored):
    """Read the scope example by example and write the ledger into `folder`."""

    source: SourceSpec
    request: ScopeRequest
    folder: str
    """Where `scope.json` and the ledger go."""
    largest_batch: int | None = None
    """Largest batch size asked for, which an epoch must be able to fill; None: none."""
    profiled: bool = False
    """Whether functions that carry the reading are looked for, once all was read."""
    step: str | None = None
    """SPEC of the training step, which must be there; None: there is none."""
    ranks: int = 1
    """Training processes that share the scope; each one's list is written as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPlan(Stored):
    """How many batches a timed pass reads, and which of them the steady rate uses."""

    warm_batches: int
    """Leading batches: workers start and the queue fills."""
    steady_batches: int
    """Batches of the steady window: whole waves."""
    tail_batches: int
    """Batches after it: workers that get no new task would speed up the others."""
    epochs: int = 0
    """Whole epochs to read one after the other, however many batches they have; 0: the
    batches above, in one go."""

    @property
    def total(self) -> int:
        """Batches of the whole pass."""
        return self.warm_batches + self.steady_batches + self.tail_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOrder(Stored):
    """Run one pass of one trial in a process of its own."""

    kind: str
    """`gate`, `timed`, `memory`, `ceiling` (examples are free), `share` (what one
    worker's share begins with), `probe` (whether it comes to its end), `step` (with the
    training step), `consumer` (the step alone, on batches that are ready), or
    `transfer` (batches are moved to the accelerator)."""
    config: LoaderConfig
    """Settings of the loader."""
    logs: str
    """Folder for stdout, stderr and results."""
    tmp: str
    """Short path that becomes TMPDIR of trial and workers."""
    reference: str
    """Folder that the reference wrote."""
    examples: int
    """Entries of the scope's list that an epoch reads (gate, memory)."""
    epochs: int = 2
    """Epochs that gate and memory pass read to the end."""
    count_path: tuple[int | str, ...] | None = None
    """Where the timed pass reads the number of examples of a batch."""
    purpose: str = "search"
    """Kept with the reading."""
    plan: PassPlan | None = None
    """What a timed pass reads, or one of free examples."""
    share: int = 0
    """Worker whose share is read (share)."""
    share_epoch: int = 0
    """Epoch of which it is read (share)."""
    places: tuple[int, ...] | None = None
    """Places in the scope's list that are read (probe); None: all of them."""
    limit_s: float | None = None
    """Seconds that the step alone is run for at most (consumer); None: no limit."""
    in_process: bool = False
    """Whether the host runs the pass itself instead of forking for it."""
    meeting: str | None = None
    """Folder in which the ranks of this pass meet; None: there is one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a reference run established; the ledger lies in `folder`."""

    facts: DatasetFacts
    scope: Scope
    folder: str
    seconds: float
    """Wall time of the run, start of the process included."""
    contract: Contract | None = None
    """What all examples that were read keep; None: a replay, which read none."""
    cautions: tuple[Finding, ...] = ()
    """What is worth knowing of the dataset itself."""
    of_ranks: "tuple[Reference, ...]" = ()
    """What each of several training processes has to read of it; empty: there is one,
    which reads all."""


def scope_of_one(reference: Reference) -> Scope:
    """Return what one training process reads: a share where there are several."""
    ranks = reference.of_ranks
    return ranks[0].scope if ranks else reference.scope


class TrialRunner(Protocol):
    """Runs passes of trials: real processes, a table in tests, or a replay.

    Each method returns a failure as a value; it raises only for faults of our own.
    """

    @property
    def isolation(self) -> str:
        """How the last pass's process was made: `fork` or `fresh`."""
        ...

    @property
    def start_method(self) -> str:
        """How workers are started: fork, forkserver or spawn."""
        ...

    def gate(self, config: LoaderConfig, *, examples: int) -> Verdict | Failure:
        """Compare what `config` delivers over two epochs with the reference."""
        ...

    def time(
        self, config: LoaderConfig, *, verdict: Verdict, purpose: str, plan: PassPlan
    ) -> Reading | Failure:
        """Take one reading of a config whose data is right.

        Args:
            config: settings of the loader.
            verdict: what the gate said of it.
            purpose: kept with the reading.
            plan: what is read.
        """
        ...

    def weigh(self, config: LoaderConfig, *, examples: int) -> MemoryReading | Failure:
        """Measure memory; to the end of two epochs where `examples` is above 0."""
        ...

    def ceiling(
        self, config: LoaderConfig, *, plan: PassPlan
    ) -> CeilingReading | Failure:
        """Take a reading of the config's loader over examples that are free.

        Args:
            config: settings of the loader.
            plan: batches before its window.
        """
        ...
