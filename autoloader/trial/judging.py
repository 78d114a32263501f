"""From the ledgers of a gate pass to its verdict, for lists and for streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.ledger import ArrivalLedger, ReferenceLedger, ScopeList
from autoloader.audit.randomness import judge_randomness
from autoloader.audit.streams import StreamExpectation, judge_stream
from autoloader.audit.verdict import Expectation, judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder, Reference
    from autoloader.values.outcome import Finding, Verdict
    from autoloader.values.scope import Scope, StreamFacts


def needs_shares(scope: Scope, config: LoaderConfig, answer: Mapping[str, Any]) -> bool:
    """Whether workers' shares of a stream must be known to judge a pass.

    They are where the stream was cut: what lies before the cut is then told by them.

    Args:
        scope: of the study.
        config: of the pass.
        answer: what the pass told.
    """
    stream = scope.stream
    if stream is None or not config.num_workers:
        return False
    return stream.keeps_order and (answer["was_cut"] or not stream.is_complete)


def verdict_of(
    reference: Reference,
    order: PassOrder,
    logs: Path,
    answer: Mapping[str, Any],
    shares: Mapping[int, ReferenceLedger] | None,
) -> Verdict:
    """Return the verdict on a gate pass.

    Args:
        reference: what is right.
        order: what was asked for.
        logs: folder with the pass's ledger.
        answer: what the pass told.
        shares: beginning of each worker's share of a cut stream.
    """
    folder, scope = Path(reference.folder), reference.scope
    right, arrived = ReferenceLedger.read(folder), ArrivalLedger.read(logs)
    listed = ScopeList.read(folder)
    if scope.stream is None:
        verdict = judge(
            right,
            arrived,
            _of_list(listed, scope, order, answer),
            count_path=answer["count_path"],
            batch_bytes=answer["batch_bytes"],
        )
    else:
        verdict = judge_stream(
            right,
            arrived,
            _of_stream(listed, scope, scope.stream, order, answer, shares),
            count_path=answer["count_path"],
            batch_bytes=answer["batch_bytes"],
        )
    cautions = _of_randomness(answer["randomness"])
    return replace(verdict, cautions=(*verdict.cautions, *cautions))


def _of_randomness(told: Mapping[str, Any]) -> list[Finding]:
    by_worker = {int(worker): digests for worker, digests in told["by_worker"]}
    return judge_randomness(by_worker, told["epochs"])


def _of_list(
    listed: ScopeList, scope: Scope, order: PassOrder, answer: Mapping[str, Any]
) -> Expectation:
    size = order.config.batch_size or 1
    cuts: tuple[int, ...] | None = None
    if listed.cuts is None:
        entries = scope.gate_positions(size, order.examples)
    else:
        batches = listed.batches(order.examples)
        entries = [entry for batch in batches for entry in batch]
        cuts = tuple(len(batch) for batch in batches)
    return Expectation(
        ids=listed.ids,
        cuts=cuts,
        places=[listed.places[entry] for entry in entries],
        epochs=order.epochs,
        batch_size=size,
        drop_last=scope.drop_last,
        of=len(listed.places) if scope.of is None else scope.of,
        num_workers=order.config.num_workers,
        moved_offsets=tuple(answer["moved_offsets"]),
        collated_otherwise=tuple(answer["collated_otherwise"]),
    )


def _of_stream(
    listed: ScopeList,
    scope: Scope,
    stream: StreamFacts,
    order: PassOrder,
    answer: Mapping[str, Any],
    shares: Mapping[int, ReferenceLedger] | None,
) -> StreamExpectation:
    return StreamExpectation(
        ids=listed.ids,
        is_complete=stream.is_complete,
        keeps_order=stream.keeps_order,
        epochs=order.epochs,
        batch_size=order.config.batch_size,
        drop_last=scope.drop_last,
        num_workers=order.config.num_workers,
        in_order=answer["in_order"],
        was_cut=answer["was_cut"],
        declared=stream.declared,
        shares=shares,
        moved_offsets=tuple(answer["moved_offsets"]),
    )
