"""Open a workload as `tune` does: reference, host, passes of trials."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoloader.errors import DataError
from autoloader.trial.aftercare import make_tmp, remove_folder
from autoloader.trial.reference import read_reference
from autoloader.trial.runner import ProcessRunner
from autoloader.values.job import ReferenceOrder
from autoloader.values.outcome import Failure
from autoloader.values.scope import ScopeRequest, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassPlan, Reference
    from autoloader.values.outcome import Reading, Verdict

WORKLOADS = Path(__file__).with_name("workloads.py")
GATED = 64
"""Examples that a config is gated on: what the gate costs is no part of this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A workload that is ready to be timed."""

    reference: Reference
    runner: ProcessRunner

    def gate(self, config: LoaderConfig) -> Verdict:
        """Return the verdict of a config, which must be right.

        Raises:
            DataError: it is not, or the pass failed.
        """
        found = self.runner.gate(config, examples=GATED)
        if isinstance(found, Failure):
            raise DataError(found.message)
        if not found.passed:
            raise DataError(found.findings[0].sentence)
        return found

    def time(self, config: LoaderConfig, verdict: Verdict, plan: PassPlan) -> Reading:
        """Return one reading.

        Raises:
            DataError: the pass failed.
        """
        found = self.runner.time(config, verdict=verdict, purpose="known", plan=plan)
        if isinstance(found, Failure):
            raise DataError(found.message)
        return found


@contextmanager
def opened(
    attribute: str,
    *,
    file: Path = WORKLOADS,
    examples: int | None = None,
    **arguments: object,
) -> Iterator[Opened]:
    """Read the reference of a workload and hold a host over it.

    Args:
        attribute: what `file` has that gives the dataset.
        file: where it stands.
        examples: of the scope; None: as many as a reference of five seconds reads.
        arguments: of the attribute.
    """
    source = SourceSpec(spec=f"{file}:{attribute}", arguments=tuple(arguments.items()))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tmp = make_tmp()
        stack.callback(remove_folder, tmp)
        at = folder / "reference"
        at.mkdir()
        reference = read_reference(
            ReferenceOrder(
                source=source,
                request=ScopeRequest(examples=examples, time_limit_s=5.0),
                folder=str(at),
            ),
            logs=at,
            tmp=tmp,
        )
        runner = ProcessRunner(source, reference, folder=folder / "trials", tmp=tmp)
        stack.enter_context(runner)
        yield Opened(reference=reference, runner=runner)
