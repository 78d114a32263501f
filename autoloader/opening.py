"""The opening of a tune: an earlier study, the reference, what all its runs share.

Decides what a study goes on with: readings of another dataset are never mixed in, nor
what was refused under another budget of memory. Prints nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoloader.accelerating import Accelerating
from autoloader.errors import UsageError
from autoloader.search.budget import REFERENCE_SHARE, Budget
from autoloader.search.differences import what_differs
from autoloader.search.folder import StudyFolder, StudyState
from autoloader.search.space import Space
from autoloader.trial.aftercare import remove_folder
from autoloader.trial.rank_references import read_reference
from autoloader.units import format_bytes
from autoloader.values.job import Reference, ReferenceOrder, scope_of_one
from autoloader.values.passwords import LEFT_OUT, with_passwords

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from autoloader.search.record import Record
    from autoloader.search.watcher import Watcher
    from autoloader.tune_values import TuneRequest
    from autoloader.values.machine import Machine

NOTABLE_SHARE = 0.1
"""Change of the memory that is left, from one run of a study to the next, from which on
it is told. It is never quite the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a study begins with, or goes on with."""

    reference: Reference
    """What is right, read anew in each run."""
    state: StudyState
    """Scope, facts, space and memory, which all runs of the study share."""
    budget: Budget
    """The time of this run, less what earlier ones took."""


@dataclass(slots=True, kw_only=True)
class Opening:
    """The first chapters of a tune; the methods are these."""

    request: TuneRequest
    machine: Machine
    watcher: Watcher
    folder: StudyFolder
    record: Record
    tmp: Path
    """Becomes the TMPDIR of the process that reads the reference."""
    budget: Budget
    stack: ExitStack
    """Unwound at the end of the tune, however it ends."""

    def run(self) -> Opened:
        """Return what the study begins with.

        Raises:
            UsageError: something asked for cannot be done.
            StepError: the training step fits the accelerator with no allowed batch.
            DatasetError: the dataset fails by itself.
        """
        self._caution_of_passwords()
        earlier = self._earlier()
        reference = self._read_reference(earlier)
        earlier = self._same_or_anew(earlier, reference)
        if earlier is not None:
            space, pinning = earlier.space, earlier.pinning
        else:
            space, pinning = self._accelerating(reference).run(self._space(reference))
        state = StudyState(
            finished=False,
            spent_s=self.budget.spent_before_s,
            scope=reference.scope,
            facts=reference.facts,
            space=space,
            memory_bytes=self._memory_bytes(earlier),
            pinning=pinning,
        )
        return Opened(reference=reference, state=state, budget=self.budget)

    def _caution_of_passwords(self) -> None:
        """Say which arguments are not kept as they were given."""
        for name in with_passwords(self.request.source):
            self.watcher.on_caution(
                f"--arg {name} holds a password: files and reports have {LEFT_OUT} in "
                "its place, and others may see it in the list of processes",
                "let the function read it from an environment variable: os.environ",
            )

    def _earlier(self) -> StudyState | None:
        """Return the interrupted study to go on with; put a finished one aside."""
        for message, hint in self.folder.cautions():
            self.watcher.on_caution(message, hint)
        earlier = self.folder.read()
        if earlier is not None and not earlier.finished and not self.request.is_fresh:
            self.budget = replace(self.budget, spent_before_s=earlier.spent_s)
            return earlier
        self.record.begin_anew()
        return None

    def _read_reference(self, earlier: StudyState | None) -> Reference:
        self.watcher.on_phase("reference", self.request.source.spec, self.budget)
        scope = replace(
            self.request.scope, time_limit_s=self.budget.total_s * REFERENCE_SHARE
        )
        if earlier is not None:
            scope = replace(scope, examples=earlier.scope.examples)
        sizes = self.request.space.batch_size
        self.stack.callback(self._forget_if_empty)
        return read_reference(
            ReferenceOrder(
                source=self.request.source,
                request=scope,
                folder=str(self.folder.reference()),
                largest_batch=max(sizes) if sizes else None,
                profiled=True,
                step=self.request.step,
                ranks=self.request.ranks,
            ),
            logs=self.folder.reference(),
            tmp=self.tmp,
            hang_after_s=self.request.policy.hang_after_s,
            on_tick=lambda stage, done: self.watcher.on_tick(stage.words, done),
        )

    def _forget_if_empty(self) -> None:
        """Remove the folder of a study that never began: the SPEC was mistyped, say."""
        kind = sys.exc_info()[0]
        if self.folder.is_empty and kind is not None and issubclass(kind, UsageError):
            remove_folder(self.folder.path)

    def _same_or_anew(
        self, earlier: StudyState | None, reference: Reference
    ) -> StudyState | None:
        """Go on only with a study of this very dataset."""
        if earlier is None:
            return None
        differs = what_differs(earlier.facts, reference.facts)
        if differs is None:
            count = len(self.record.outcomes)
            self.watcher.on_caution(
                f"going on with the study: {count} trials are done", None
            )
            for outcome in self.record.outcomes:
                self.watcher.on_outcome(outcome)
            return earlier
        self.watcher.on_caution(f"{differs}: the study begins anew", None)
        self.record.begin_anew()
        self.budget = replace(self.budget, spent_before_s=0.0)
        return None

    def _space(self, reference: Reference) -> Space:
        request = self.request
        if reference.facts.baseline is None and not request.space.batch_size:
            self.watcher.on_caution(
                "no --batch-size is named: 32, 64 and 128 are tried",
                "another batch size trains differently; --batch-size 64 fixes it",
            )
        return Space.of(
            request.space,
            facts=reference.facts,
            scope=scope_of_one(reference),
            machine=self.machine,
            ranks=request.ranks,
        )

    def _accelerating(self, reference: Reference) -> Accelerating:
        """Return what an accelerator decides; nothing where there is none."""
        return Accelerating(
            request=self.request,
            reference=reference,
            machine=self.machine,
            watcher=self.watcher,
            record=self.record,
            budget=self.budget,
            folder=self.folder.path,
            tmp=self.tmp,
        )

    def _memory_bytes(self, earlier: StudyState | None) -> int | None:
        """Return what processes may take: what was asked for, else the least so far.

        What the machine has left changes. Under more than an earlier run had, what it
        refused would be taken for too large; under less, all that it refused is.
        """
        now = self.request.target.memory_bytes
        if earlier is None or self.request.is_memory_asked:
            return now
        return least_memory(earlier.memory_bytes, now, self.watcher)


def least_memory(before: int | None, now: int | None, watcher: Watcher) -> int | None:
    """Return the lesser budget of memory, and tell where they differ notably.

    Args:
        before: the least that an earlier run of the study had; None: no limit.
        now: what the machine leaves now; None: no limit.
        watcher: told of it.
    """
    if before is None or now is None:
        return now if before is None else before
    if now > before * (1 + NOTABLE_SHARE):
        watcher.on_caution(
            f"the study goes on with {format_bytes(before)} of memory, as an earlier "
            f"run had; {format_bytes(now)} are left for it now",
            "--memory names it, and begins another study",
        )
    elif now < before * (1 - NOTABLE_SHARE):
        watcher.on_caution(
            f"{format_bytes(now)} of memory are left for the study, "
            f"{format_bytes(before)} were in an earlier run of it",
            None,
        )
    return min(before, now)
