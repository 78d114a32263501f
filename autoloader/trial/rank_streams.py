"""The gate's verdict on a stream that several ranks share.

Which examples a rank reads may depend on how many workers it has, and is the stream's
own affair: what all ranks delivered together is held against what one process reads.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.ledger import ArrivalLedger
from autoloader.audit.rank_ledgers import joined, worker_of
from autoloader.audit.ranks import lost_in_batches, with_rank_hints
from autoloader.audit.reference_files import read_references
from autoloader.trial.judging import judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoloader.trial.judging import Gated, Shares
    from autoloader.values.job import Reference
    from autoloader.values.outcome import Verdict


def verdict_on_ranks(found: Sequence[Gated], reference: Reference) -> Verdict:
    """Return the verdict on what all ranks delivered of a stream.

    Args:
        found: what each rank's pass brought.
        reference: the whole stream, and what each rank reads of it alone.
    """
    config = found[0].order.config
    workers = max(1, config.num_workers)
    as_one = replace(
        found[0].order,
        config=replace(
            config,
            num_workers=workers * len(found),
            prefetch_factor=config.prefetch_factor or 1,
        ),
        examples=sum(item.order.examples for item in found),
    )
    ledgers = [ArrivalLedger.read(item.logs) for item in found]
    verdict = judged(
        reference,
        as_one,
        joined(ledgers, num_workers=workers),
        _answer(found),
        _shares(found, reference, config.num_workers),
    )
    verdict = with_rank_hints(verdict)
    lost = lost_in_batches(verdict, reference.scope, len(found))
    if lost is None:
        return verdict
    return replace(verdict, cautions=(lost, *verdict.cautions))


def _answer(found: Sequence[Gated]) -> dict[str, Any]:
    """Return what the passes told, as one that had all their workers."""
    answers = [item.answer for item in found]
    first = answers[0]
    paths = [item["count_path"] for item in answers]
    return {
        **first,
        "count_path": paths[0] if all(path == paths[0] for path in paths) else None,
        "batch_bytes": max(item["batch_bytes"] for item in answers),
        "was_cut": any(item["was_cut"] for item in answers),
        "in_order": False,  # which rank's batch comes next is nobody's order
        "moved_offsets": sorted(
            {name for item in answers for name in item["moved_offsets"]}
        ),
        "padding_broken": [
            broken for item in answers for broken in item["padding_broken"]
        ],
    }


def _shares(
    found: Sequence[Gated], reference: Reference, num_workers: int
) -> list[Shares] | None:
    """Return what each worker of each rank begins with, for each epoch.

    None where that is not known, or not needed.
    """
    if not num_workers:
        read = [
            read_references(Path(own.folder), epochs_differ=own.scope.epochs_differ)
            for own in reference.of_ranks
        ]
        if len({len(epochs) for epochs in read}) > 1:
            return None
        return [dict(enumerate(epoch)) for epoch in zip(*read, strict=True)]
    known = [item.shares for item in found if item.shares is not None]
    if len(known) < len(found):
        return None
    return [
        {
            worker_of(rank, worker, num_workers): share
            for rank, shares in enumerate(epoch)
            for worker, share in shares.items()
        }
        for epoch in zip(*known, strict=True)
    ]
