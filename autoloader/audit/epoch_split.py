"""Judge the epochs of a pass one by one, and put their verdicts together.

Pure. For streams that differ from epoch to epoch: each is compared with its own
reference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autoloader.audit.batches import Batches
from autoloader.audit.ledger import ArrivalLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from autoloader.values.outcome import Finding, Verdict


def of_epoch(arrived: ArrivalLedger, epoch: int) -> ArrivalLedger:
    """Return what arrived in one epoch, as the only epoch there is."""
    batches = Batches.of(arrived.batches)
    here = batches.column("epoch") == epoch
    rows = np.repeat(here, batches.column("rows"))
    return ArrivalLedger(
        batches=Batches.of(
            replace(batch, epoch=0)
            for batch, is_here in zip(batches, here, strict=True)
            if is_here
        ),
        slot=arrived.slot[rows],
        fixed=arrived.fixed[rows],
        label=arrived.label[rows],
        signature=arrived.signature[rows],
        signatures=arrived.signatures,
        altered=arrived.altered[rows],
        id=None if arrived.id is None else arrived.id[rows],
    )


def by_worker(arrived: ArrivalLedger, epoch: int) -> dict[int, NDArray[np.uint64]]:
    """Return the digests that each worker delivered in an epoch, in its order."""
    batches = Batches.of(arrived.batches)
    epochs = np.repeat(batches.column("epoch"), batches.column("rows"))
    workers = np.repeat(batches.column("worker"), batches.column("rows"))
    return {
        worker: arrived.fixed[(epochs == epoch) & (workers == worker)]
        for worker in batches.workers()
    }


def are_replayed(arrived: ArrivalLedger) -> bool:
    """Whether every worker delivered in epoch 1 just what it had in epoch 0."""
    first, second = by_worker(arrived, 0), by_worker(arrived, 1)
    return bool(first) and all(
        np.array_equal(digests, second.get(worker, ()))
        for worker, digests in first.items()
    )


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict of those on each epoch, findings of one code as one."""
    findings = _joined([list(verdict.findings) for verdict in verdicts])
    refusing = {finding.code for finding in findings}
    cautions = [
        item
        for item in _joined([list(verdict.cautions) for verdict in verdicts])
        if item.code not in refusing
    ]
    compared = {verdict.compared for verdict in verdicts}
    first = verdicts[0]
    return replace(
        first,
        passed=not findings,
        examples=min(verdict.examples for verdict in verdicts),
        epochs=len(verdicts),
        compared="rows" if compared == {"rows"} else "examples",
        findings=tuple(findings),
        cautions=tuple(cautions),
    )


def _joined(found: Sequence[list[Finding]]) -> list[Finding]:
    """Return for each code the finding of the epoch that shows it most, and first."""
    by_code: dict[Any, Finding] = {}
    for epoch, findings in enumerate(found):
        for finding in findings:
            here = replace(finding, epoch=None if finding.epoch is None else epoch)
            known = by_code.get(finding.code)
            if known is None or known.count < here.count:
                by_code[finding.code] = here
    return list(by_code.values())
