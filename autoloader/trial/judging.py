"""From the ledgers of a gate pass to its verdict, for lists and for streams."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoloader.audit.epoch_order import by_entry, orders_of_pass
from autoloader.audit.epoch_split import are_replayed, merged, of_epoch
from autoloader.audit.findings import (
    STALE,
    padding_finding,
    replayed_caution,
)
from autoloader.audit.growth import judge_growth
from autoloader.audit.ledger import ArrivalLedger, ReferenceLedger, ScopeList
from autoloader.audit.pinning import judge_pinning
from autoloader.audit.randomness import judge_randomness
from autoloader.audit.reference_files import later_folder, read_references
from autoloader.audit.streams import StreamExpectation, judge_stream
from autoloader.audit.verdict import Expectation, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autoloader.values.config import LoaderConfig
    from autoloader.values.job import PassOrder, Reference
    from autoloader.values.outcome import Finding, Verdict
    from autoloader.values.scope import Scope, StreamFacts

Shares = dict[int, ReferenceLedger]
"""For each worker what its share of a stream begins with."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What a gate pass brought, before anything is judged."""

    order: PassOrder
    """What was asked for."""
    logs: Path
    """Folder with the pass's ledger."""
    answer: Mapping[str, Any]
    """What the pass told."""
    shares: Sequence[Shares] | None
    """Beginning of each worker's share of a cut stream, for each epoch that has a
    reference of its own; None: not read."""

    def verdict(self, reference: Reference) -> Verdict:
        """Return the verdict on the pass, held against what is right."""
        arrived = ArrivalLedger.read(self.logs)
        return judged(reference, self.order, arrived, self.answer, self.shares)


def judged(
    reference: Reference,
    order: PassOrder,
    arrived: ArrivalLedger,
    answer: Mapping[str, Any],
    shares: Sequence[Shares] | None,
) -> Verdict:
    """Return the verdict on what arrived.

    Args:
        reference: what is right.
        order: what was asked for.
        arrived: what reached the training process.
        answer: what the pass told.
        shares: as `Gated` has them.
    """
    if reference.scope.stream is None:
        verdict = _of_list(reference, order, arrived, answer)
    else:
        stream = reference.scope.stream
        verdict = _of_stream(reference, stream, order, arrived, answer, shares)
    broken = _padding_findings(reference, order, answer["padding_broken"])
    cautions = [
        *verdict.cautions,
        *_of_randomness(reference, order, answer["randomness"]),
        *judge_growth(**answer["growth"], limit=_most_descriptors()),
        *judge_pinning(answer["pinning"]),
        *reference.cautions,
    ]
    return replace(
        verdict,
        passed=verdict.passed and not broken,
        findings=(*verdict.findings, *broken),
        cautions=tuple(cautions),
    )


def _of_randomness(
    reference: Reference, order: PassOrder, told: Mapping[str, Any]
) -> list[Finding]:
    by_worker = {int(worker): digests for worker, digests in told["by_worker"]}
    epochs: Sequence[Mapping[Any, int]] = told["epochs"]
    if reference.scope.stream is None and len(epochs) > 1:
        expected = asked_list(reference, order)
        lengths = expected.lengths()
        epochs = [
            by_entry(kept, lengths, positions)
            for kept, positions in zip(epochs, expected.orders, strict=False)
        ]
    return judge_randomness(by_worker, epochs, reference.facts.random_share)


def _most_descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _of_list(
    reference: Reference,
    order: PassOrder,
    arrived: ArrivalLedger,
    answer: Mapping[str, Any],
) -> Verdict:
    folder, scope = Path(reference.folder), reference.scope
    right = read_references(folder, epochs_differ=scope.epochs_differ)
    expected = replace(
        asked_list(reference, order),
        moved_offsets=tuple(answer["moved_offsets"]),
        collated_otherwise=tuple(answer["collated_otherwise"]),
    )

    def held(references: Sequence[ReferenceLedger]) -> Verdict:
        return judge(
            references,
            arrived,
            expected,
            count_path=answer["count_path"],
            batch_bytes=answer["batch_bytes"],
        )

    verdict = held(right)
    if verdict.passed or len(right) == 1 or not held(right[:1]).passed:
        return verdict
    findings = [replace(finding, hint=STALE) for finding in verdict.findings]
    return replace(verdict, findings=tuple(findings))


def asked_list(reference: Reference, order: PassOrder) -> Expectation:
    """Return what a pass over a list was asked to deliver, whatever it told."""
    scope, listed = reference.scope, ScopeList.read(Path(reference.folder))
    size = order.config.batch_size or 1
    cuts: tuple[int, ...] | None = None
    if listed.cuts is None:
        entries = scope.gate_positions(size, order.examples)
    else:
        batches = listed.batches(order.examples)
        entries = [entry for batch in batches for entry in batch]
        cuts = tuple(len(batch) for batch in batches)
    expected = Expectation(
        ids=listed.ids,
        cuts=cuts,
        places=listed.places_at(entries),
        epochs=order.epochs,
        batch_size=size,
        drop_last=scope.drop_last,
        of=len(listed.places) if scope.of is None else scope.of,
        num_workers=order.config.num_workers,
        may_lack=frozenset(reference.facts.left_out),
    )
    orders = orders_of_pass(expected.lengths(), order, scope, reference.facts)
    return replace(expected, orders=orders)


def _of_stream(
    reference: Reference,
    stream: StreamFacts,
    order: PassOrder,
    arrived: ArrivalLedger,
    answer: Mapping[str, Any],
    shares: Sequence[Shares] | None,
) -> Verdict:
    folder, scope = Path(reference.folder), reference.scope
    right = read_references(folder, epochs_differ=scope.epochs_differ)

    def held(epoch: int, ledger: ArrivalLedger, epochs: int) -> Verdict:
        listed = ScopeList.read(later_folder(folder) if epoch else folder)
        expected = StreamExpectation(
            ids=listed.ids,
            is_complete=stream.is_complete,
            keeps_order=stream.keeps_order,
            epochs=epochs,
            batch_size=order.config.batch_size,
            drop_last=scope.drop_last,
            num_workers=order.config.num_workers,
            in_order=answer["in_order"],
            was_cut=answer["was_cut"],
            declared=stream.declared,
            ranks=max(1, len(reference.of_ranks)),
            shares=None if shares is None else shares[epoch],
            moved_offsets=tuple(answer["moved_offsets"]),
        )
        return judge_stream(
            right[epoch],
            ledger,
            expected,
            count_path=answer["count_path"],
            batch_bytes=answer["batch_bytes"],
        )

    if len(right) == 1:
        return held(0, arrived, order.epochs)
    verdict = merged(
        [
            held(epoch, of_epoch(arrived, epoch), epochs=1)
            for epoch in range(order.epochs)
        ]
    )
    if are_replayed(arrived):
        if verdict.passed:
            caution = replayed_caution(len(arrived.fixed))
            return replace(verdict, cautions=(*verdict.cautions, caution))
        stale = [replace(finding, hint=STALE) for finding in verdict.findings]
        return replace(verdict, findings=tuple(stale))
    return verdict


def _padding_findings(
    reference: Reference, order: PassOrder, broken: Sequence[Sequence[Any]]
) -> list[Finding]:
    """Return the finding of batches whose mask breaks the contract."""
    if not broken:
        return []
    ids: list[Any] = []
    if reference.scope.stream is None:
        expected = asked_list(reference, order)
        lists = [expected.lists(epoch) for epoch in range(expected.epochs)]
        ids = [
            expected.ids[place]
            for epoch, batch in dict.fromkeys((item[0], item[1]) for item in broken)
            for place in lists[epoch][batch]
        ]
    return [padding_finding(broken, ids)]
