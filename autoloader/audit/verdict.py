"""Compare what arrived with the reference, and say what differs by id.

Pure: ledgers in, a verdict out. Multisets of ids decide, never counts or order. How
rows are compared is in `audit.comparison`.
"""

from autoloader.audit.batches import Batches
from autoloader.audit.comparison import Comparison
from autoloader.audit.expectation import Expectation
from autoloader.audit.findings import (
    idle_caution,
    left_out_caution,
    nothing_whole_finding,
    offset_finding,
)
from autoloader.audit.identity import References
from autoloader.audit.ledger import ArrivalLedger
from autoloader.values.outcome import Finding, Verdict

__all__ = ["Expectation", "judge"]


def judge(
    reference: References,
    arrived: ArrivalLedger,
    expected: Expectation,
    *,
    count_path: tuple[int | str, ...] | None = None,
    batch_bytes: int = 0,
) -> Verdict:
    """Return the verdict on one gate pass.

    Args:
        reference: digests of every distinct id, by place; one ledger, or one an epoch
            where `set_epoch` changes what is read.
        arrived: what reached the training process.
        expected: what was asked for.
        count_path: kept in the verdict for the timed pass.
        batch_bytes: kept in the verdict for memory predictions.
    """
    batches = Batches.of(arrived.batches)
    lengths = expected.lengths()
    comparison = Comparison(reference, arrived, expected)
    findings = comparison.run().findings()
    cautions: list[Finding] = []
    if comparison.left_out:
        cautions.append(left_out_caution(list(comparison.left_out)))
    if not len(lengths):
        ids = [expected.ids[place] for place in expected.places]
        findings.append(nothing_whole_finding(ids, expected.batch_size))
    if expected.moved_offsets and expected.num_workers:
        offset = offset_finding(expected.moved_offsets)
        (findings if expected.num_workers > 1 else cautions).append(offset)
    working = {worker for worker in batches.workers() if worker >= 0}
    idle = expected.num_workers - len(working)
    if idle > 0 and len(lengths) >= expected.num_workers:
        cautions.append(idle_caution(idle, expected.num_workers))
    is_by_row = batches.conversions() <= {()}
    return Verdict(
        passed=not findings,
        examples=int(lengths.sum()),
        of=expected.of,
        epochs=expected.epochs,
        compared="rows" if is_by_row and not arrived.altered.any() else "examples",
        findings=tuple(findings),
        cautions=tuple(cautions),
        count_path=count_path,
        batch_bytes=batch_bytes,
    )
