"""Put together what several ranks delivered: one verdict, and whether it is all.

Pure. Each rank was held against its own share already (`audit.verdict`); here is what
only shows over all of them: what nobody was given, and what two were. Readings are put
together in `trial.merging`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autoloader.audit.scope_list import told_id
from autoloader.units import counted, in_number, in_short
from autoloader.values.outcome import MAX_IDS, Finding, Verdict
from autoloader.values.ranks import share_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from autoloader.values.gate import GatePolicy
    from autoloader.values.scope import Scope

PADDED = "ranks_padded"
LEFT_OUT = "ranks_left_out"

_LOST_HINT = "a sampler that deals out otherwise than DistributedSampler does"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """What an epoch of all ranks was to deliver, and what each was given of it."""

    ids: Sequence[Any]
    """Distinct ids of the scope."""
    wanted: Sequence[int]
    """Places in `ids` of all that an epoch has; of part of an epoch, still of all."""
    given: Sequence[Sequence[int]]
    """For each rank the places that it delivered in an epoch."""
    is_whole: bool
    """Whether the ranks were to read all of it; else parts of their shares."""
    batch_size: int = 1
    """Examples of a rank's batch, where it is cut to a size."""
    drops_rest: bool = False
    """Whether each rank leaves out an incomplete last batch."""
    cuts: Sequence[int] | None = None
    """Lengths of the batches that are dealt out whole; None: examples are."""
    drops: bool = False
    """Whether what does not go round is left out; else some are dealt out twice."""

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.given)

    @property
    def most_padding(self) -> int:
        """Entries that may be given out twice, so that all ranks have equally many."""
        if self.drops:
            return 0
        count = len(self.wanted) if self.cuts is None else len(self.cuts)
        more = share_of(count, self.ranks) * self.ranks - count
        return more if self.cuts is None else sum(self.cuts[:more])

    @property
    def most_left_out(self) -> int:
        """Entries that may be left out: what does not go round, and the last batches.

        At most a batch less one of each rank.
        """
        if self.cuts is not None:
            rest = len(self.cuts) % self.ranks if self.drops else 0
            return sum(sorted(self.cuts)[len(self.cuts) - rest :])
        rest = len(self.wanted) % self.ranks if self.drops else 0
        if not self.drops_rest:
            return rest
        dealt = len(self.wanted) - rest + self.most_padding
        return rest + dealt // self.ranks % self.batch_size * self.ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """What all ranks together delivered of the scope."""

    examples: int
    """Entries of the list that came, each once."""
    findings: tuple[Finding, ...] = ()
    cautions: tuple[Finding, ...] = ()
    """What came twice, or not at all, and is explained."""


def union_of(dealt: Dealt) -> Union:
    """Return what came of the list, and what is wrong with it.

    Padding and what `drop_last` leaves out are explained and counted, as far as they
    can explain it; all beyond is a finding.
    """
    size = len(dealt.ids)
    wanted = np.bincount(np.asarray(dealt.wanted, np.int64), minlength=size)
    given = np.zeros(size, np.int64)
    for places in dealt.given:
        given += np.bincount(np.asarray(places, np.int64), minlength=size)
    more = np.maximum(given - wanted, 0)
    lacking = np.maximum(wanted - given, 0) if dealt.is_whole else np.zeros_like(wanted)
    findings, cautions = [], []
    for differs, most, explain, wrong in (
        (more, dealt.most_padding, _padded, _twice),
        (lacking, dealt.most_left_out, _left_out, _lost),
    ):
        if not (count := int(differs.sum())):
            continue
        ids = [told_id(dealt.ids[at]) for at in np.flatnonzero(differs)[:MAX_IDS]]
        if count <= most:
            cautions.append(explain(dealt, count, ids))
        else:
            findings.append(wrong(dealt, count, ids))
    came = int(np.minimum(given, wanted).sum())
    return Union(examples=came, findings=tuple(findings), cautions=tuple(cautions))


def merged_verdict(
    verdicts: Sequence[Verdict],
    *,
    of: int | None,
    union: Union | None,
    policy: GatePolicy,
) -> Verdict:
    """Return the verdict on all ranks.

    Args:
        verdicts: of each rank, on its own share, by the user's policy.
        of: examples of a whole epoch of all ranks; None: it has no known end.
        union: what they delivered together; None: of a stream, whose shares were held
            against each other when the reference was read.
        policy: what of the union refuses. What is explained never does.
    """
    found = [] if union is None else list(union.findings)
    refusing = [item for item in found if item.code not in policy.allowed]
    noted = [item for item in found if item.code in policy.allowed]
    explained = () if union is None else union.cautions
    findings = (*by_rank([item.findings for item in verdicts]), *refusing)
    cautions = (
        *explained,
        *noted,
        *by_rank([item.cautions for item in verdicts]),
    )
    path = verdicts[0].count_path
    examples = sum(item.examples for item in verdicts)
    return Verdict(
        passed=not findings,
        examples=examples if union is None else union.examples,
        of=of,
        epochs=min(item.epochs for item in verdicts),
        compared="rows"
        if all(item.compared == "rows" for item in verdicts)
        else "examples",
        findings=findings,
        cautions=cautions,
        count_path=path if all(v.count_path == path for v in verdicts) else None,
        batch_bytes=max(item.batch_bytes for item in verdicts),
    )


def by_rank(found: Sequence[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Return each kind of finding once, with the ranks that show it.

    Args:
        found: findings of each rank.
    """
    shown: dict[str, list[tuple[int, Finding]]] = {}
    for rank, findings in enumerate(found):
        for item in findings:
            shown.setdefault(item.code, []).append((rank, item))
    return tuple(_together(items) for items in shown.values())


def judge_stream_shares(
    whole: NDArray[np.uint64], shares: Sequence[NDArray[np.uint64]], *, is_whole: bool
) -> Finding | None:
    """Return what is wrong with how a stream is shared among ranks; None: nothing.

    Args:
        whole: digests of what one process reads alone.
        shares: digests of what each rank reads alone.
        is_whole: whether all was read to its end; else only what is given out twice
            can be told.
    """
    ranks, wanted = len(shares), _counted(whole)
    if len(wanted) == 1:  # nothing tells its examples apart, only how many there are
        is_shared = not is_whole or sum(map(len, shares)) <= len(whole)
        return None if is_shared else _unshared(len(shares[0]), ranks)
    if all(_is_same(share, shares[0]) for share in shares):
        return _unshared(len(shares[0]), ranks)
    given = _counted(np.concatenate(shares))
    more = sum(
        max(0, count - max(wanted.get(digest, 0), 0 if is_whole else 1))
        for digest, count in given.items()
    )
    lacking = sum(
        max(0, count - given.get(digest, 0)) for digest, count in wanted.items()
    )
    if more:
        return Finding(
            code="repeated_ids",
            count=more,
            message=(
                f"{counted(more, 'example')} came to more than one of {ranks} ranks"
            ),
            hint=_SHARE_HINT,
        )
    if lacking and is_whole:
        return Finding(
            code="missing_ids",
            count=lacking,
            message=f"{counted(lacking, 'example')} came to none of {ranks} ranks",
            hint=_SHARE_HINT,
        )
    return None


def with_rank_hints(verdict: Verdict) -> Verdict:
    """Return a verdict on a stream with what to do where ranks read it alike."""
    return replace(
        verdict,
        findings=tuple(
            replace(item, hint=_SHARE_HINT) if item.code in _OF_SHARES else item
            for item in verdict.findings
        ),
    )


def lost_in_batches(verdict: Verdict, scope: Scope, ranks: int) -> Finding | None:
    """Return what is said of a stream's last batches, which each rank leaves out.

    None where all came, where something is wrong, or nobody knows how many there are.
    """
    lost = 0 if verdict.of is None else verdict.of - verdict.examples
    if not verdict.passed or not scope.drop_last or lost <= 0:
        return None
    return Finding(
        code=LEFT_OUT,
        count=lost,
        message=_left_out_words(lost, scope.examples, ranks),
        hint=_LEFT_OUT_HINT,
    )


_OF_SHARES = frozenset({"repeated_ids", "missing_ids"})

_SHARE_HINT = (
    "each rank has to read what no other one does: of all workers of all ranks, worker "
    "get_rank() x workers + get_worker_info().id (`autoloader help ranks`)"
)


def _unshared(count: int, ranks: int) -> Finding:
    return Finding(
        code="repeated_ids",
        count=count * (ranks - 1),
        message=(
            f"the stream is not shared among ranks: each of {ranks} reads the same "
            f"{count} examples"
        ),
        hint=_SHARE_HINT,
    )


def _is_same(share: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    """Whether two ranks read the same examples, in whatever order."""
    return np.array_equal(np.sort(share), np.sort(other))


def _counted(digests: NDArray[np.uint64]) -> dict[int, int]:
    values, counts = np.unique(digests, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _together(items: list[tuple[int, Finding]]) -> Finding:
    """Return one finding of those that several ranks have of a kind."""
    ranks = [rank for rank, _ in items]
    first = items[0][1]
    who = f"{in_number(len(ranks), 'rank')} {in_short(ranks, MAX_IDS)}"
    ids = dict.fromkeys(index for _, item in items for index in item.ids)
    message = f"{who}: {first.message}"
    if len(ranks) > 1:
        message += f" (rank {ranks[0]})"
    return replace(
        first,
        count=sum(item.count for _, item in items),
        ids=tuple(ids)[:MAX_IDS],
        message=message,
    )


def _padded(dealt: Dealt, count: int, ids: list[Any]) -> Finding:
    return Finding(
        code=PADDED,
        count=count,
        ids=tuple(ids),
        message=(
            f"DistributedSampler gives {counted(count, 'example')} to two ranks, so "
            f"that each of {dealt.ranks} has equally many: no fault"
        ),
        hint="DistributedSampler(drop_last=True) leaves out what does not go round",
    )


def _left_out(dealt: Dealt, count: int, ids: list[Any]) -> Finding:
    return Finding(
        code=LEFT_OUT,
        count=count,
        ids=tuple(ids),
        message=_left_out_words(count, len(dealt.wanted), dealt.ranks),
        hint=_LEFT_OUT_HINT,
    )


_LEFT_OUT_HINT = "without drop_last all are read"


def _left_out_words(count: int, of: int, ranks: int) -> str:
    return (
        f"in no batch: {count} of {of} examples, which do not fill one in each of "
        f"{ranks} ranks, so that drop_last leaves them out"
    )


def _twice(dealt: Dealt, count: int, ids: list[Any]) -> Finding:
    return Finding(
        code="repeated_ids",
        count=count,
        ids=tuple(ids),
        message=(
            f"{counted(count, 'example')} came to more than one of {dealt.ranks} "
            f"ranks, where padding explains {dealt.most_padding}: "
            f"{in_short(ids, MAX_IDS)}"
        ),
        hint=_LOST_HINT,
    )


def _lost(dealt: Dealt, count: int, ids: list[Any]) -> Finding:
    return Finding(
        code="missing_ids",
        count=count,
        ids=tuple(ids),
        message=(
            f"{counted(count, 'example')} came to none of {dealt.ranks} ranks: "
            f"{in_short(ids, MAX_IDS)}"
        ),
        hint=_LOST_HINT,
    )
